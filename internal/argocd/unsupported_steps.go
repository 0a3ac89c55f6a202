// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"fmt"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/hookorder"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/text"
)

// WarnUnsupportedSteps calls warn with a message about each part of an order, other than nodes, for which Argo CD has
// nothing: hooks that run in the place of their chart, external dependencies, and resources that take part
// only in some operations. chartOf returns the path of the chart of a hook.
func WarnUnsupportedSteps(plan *sequencer.Plan, hooks []*release.Hook, chartOf func(*release.Hook) string, warn func(string)) {
	for _, h := range hooks {
		if scope := plan.HookScope(chartOf(h)); scope != "" {
			warn(fmt.Sprintf("%s: %s: Argo CD runs it before or after everything, and not in the place of chart %s", h.Path, hookorder.Title(h), scope))
		}
	}
	external, limited := 0, 0
	for _, s := range plan.Steps {
		external += len(s.External)
	}
	if external > 0 {
		warn("Argo CD does not wait for " + text.Count(external, "external dependency"))
	}
	for _, n := range plan.Nodes {
		for _, r := range n.Resources {
			if len(r.DeployOn) > 0 {
				limited++
			}
		}
	}
	if limited > 0 {
		warn("Argo CD applies all resources at each sync, also the " + text.Count(limited, "resource") + " with helm.sh/deploy-on")
	}
}
