// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package history

import "helm.sh/helm/v3/pkg/release"

// Copy copies what an operation changes of a release: the storage in memory hands out,
// and keeps, the very object that others read.
func Copy(rel *release.Release) *release.Release {
	own := *rel
	if rel.Info != nil {
		info := *rel.Info
		own.Info = &info
	}
	own.Hooks = CopyHooks(rel.Hooks)
	return &own
}

// CopyHooks copies hooks, so that when they ran is recorded in one revision only.
func CopyHooks(hooks []*release.Hook) []*release.Hook {
	if hooks == nil {
		return nil
	}
	own := make([]*release.Hook, len(hooks))
	for i, h := range hooks {
		hook := *h
		own[i] = &hook
	}
	return own
}

// withHookResults copies a release, with the results of hooks that have run.
func withHookResults(rel *release.Release, hooks []*release.Hook) *release.Release {
	own := Copy(rel)
	for i, h := range own.Hooks {
		if i < len(hooks) && hooks[i].Name == h.Name && hooks[i].Kind == h.Kind {
			h.LastRun, h.DeletePolicies = hooks[i].LastRun, hooks[i].DeletePolicies
		}
	}
	return own
}

// ChartName is the name of the chart of a release; that of the release if it was stored
// without a chart.
func ChartName(rel *release.Release) string {
	if rel.Chart == nil || rel.Chart.Metadata == nil {
		return rel.Name
	}
	return rel.Chart.Name()
}
