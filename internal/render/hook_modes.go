// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/hookorder"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// HookModes returns how the hooks of each chart of a release run: in parallel, or as in
// Helm. root is the tree of charts; if it is nil, all hooks run as in Helm. namespace is
// the namespace of the release.
func HookModes(root *sequencer.Chart, namespace string) hookorder.ChartModes {
	modes := hookorder.ChartModes{Namespace: namespace, ByChart: map[string]hookorder.Mode{}, Managed: map[string]bool{}}
	if root == nil {
		return modes
	}
	modes.ChartOf = func(h *release.Hook) string { return ChartOf(root, h.Path) }
	var walk func(c *sequencer.Chart, path string)
	walk = func(c *sequencer.Chart, path string) {
		if c.HookMode != "" {
			modes.ByChart[path] = hookorder.Mode(c.HookMode)
		}
		modes.Managed[path] = c.ManagesHooks
		for _, sub := range c.Subcharts {
			walk(sub, path+"/"+sub.Name)
		}
	}
	walk(root, root.Name)
	return modes
}

// PlannedHooks returns hooks of a release in the form that sequencer.Build needs. root is the tree of charts.
func PlannedHooks(root *sequencer.Chart, hooks []*release.Hook) []sequencer.Hook {
	planned := make([]sequencer.Hook, len(hooks))
	for i, h := range hooks {
		planned[i] = sequencer.Hook{Chart: ChartOf(root, h.Path), Events: h.Events}
	}
	return planned
}
