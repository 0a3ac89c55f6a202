// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package history

import "helm.sh/helm/v3/pkg/release"

// Copy copies the parts of a release that an operation changes. This is necessary because
// the in-memory storage driver shares its objects with all callers.
func Copy(rel *release.Release) *release.Release {
	own := *rel
	if rel.Info != nil {
		info := *rel.Info
		own.Info = &info
	}
	own.Hooks = CopyHooks(rel.Hooks)
	return &own
}

// CopyHooks copies hooks, so that the results of their runs are recorded in only one
// revision.
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

// withHookResults returns a copy of a release in which its hooks have the results of the
// given hooks.
func withHookResults(rel *release.Release, hooks []*release.Hook) *release.Release {
	own := Copy(rel)
	for i, h := range own.Hooks {
		if i < len(hooks) && hooks[i].Name == h.Name && hooks[i].Kind == h.Kind {
			h.LastRun, h.DeletePolicies = hooks[i].LastRun, hooks[i].DeletePolicies
		}
	}
	return own
}

// ChartName returns the name of the chart of a release. For a release without a chart it
// returns the name of the release.
func ChartName(rel *release.Release) string {
	if rel.Chart == nil || rel.Chart.Metadata == nil {
		return rel.Name
	}
	return rel.Chart.Name()
}
