// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hookrunner

import "helm.sh/helm/v3/pkg/release"

// Plan is how the hooks of one event run.
type Plan struct {
	Event   release.HookEvent
	Buckets []Bucket

	modes Modes
}

// Plans gives the plans of all events that hooks are for, in the order in which
// the events may come.
func Plans(hooks []*release.Hook, modes Modes) []Plan {
	var plans []Plan
	for _, event := range []release.HookEvent{
		EventCRDInstall,
		release.HookPreInstall, release.HookPostInstall, release.HookPreUpgrade, release.HookPostUpgrade,
		release.HookPreRollback, release.HookPostRollback, release.HookPreDelete, release.HookPostDelete,
		release.HookTest,
	} {
		if buckets := Buckets(ForEvent(hooks, event), modes); len(buckets) > 0 {
			plans = append(plans, Plan{Event: event, Buckets: buckets, modes: modes})
		}
	}
	return plans
}

// Chart is the path of the chart that a hook comes from; empty if that is not
// known.
func (p Plan) Chart(h *release.Hook) string {
	if p.modes.ChartOf == nil {
		return ""
	}
	return p.modes.ChartOf(h)
}
