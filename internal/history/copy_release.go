// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package history

import "helm.sh/helm/v3/pkg/release"

// Copy returns a copy of a release for an operation that changes it. It copies only the
// parts that operations change. The copy is necessary because Helm's in-memory storage
// driver returns the objects that it stores.
func Copy(rel *release.Release) *release.Release {
	c := *rel
	if rel.Info != nil {
		info := *rel.Info
		c.Info = &info
	}
	c.Hooks = CopyHooks(rel.Hooks)
	return &c
}

// CopyHooks returns copies of hooks, so that their results are recorded in only one of the
// revisions that have these hooks.
func CopyHooks(hooks []*release.Hook) []*release.Hook {
	if hooks == nil {
		return nil
	}
	copies := make([]*release.Hook, len(hooks))
	for i, h := range hooks {
		hook := *h
		copies[i] = &hook
	}
	return copies
}

// withHookResults returns a copy of rel whose hooks have the results of the given hooks.
// It matches hooks by index, name and kind.
func withHookResults(rel *release.Release, hooks []*release.Hook) *release.Release {
	c := Copy(rel)
	for i, h := range c.Hooks {
		if i < len(hooks) && hooks[i].Name == h.Name && hooks[i].Kind == h.Kind {
			h.LastRun, h.DeletePolicies = hooks[i].LastRun, hooks[i].DeletePolicies
		}
	}
	return c
}

// ChartName returns the name of the chart of a release, or the name of the release if it has
// no chart.
func ChartName(rel *release.Release) string {
	if rel.Chart == nil || rel.Chart.Metadata == nil {
		return rel.Name
	}
	return rel.Chart.Name()
}
