// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hookorder

import "helm.sh/helm/v3/pkg/release"

// Plan is the order in which the hooks of one event run, for the commands dag and plan.
type Plan struct {
	Event   release.HookEvent
	Buckets []Bucket

	modes ChartModes
}

// Plans returns a plan for each event that has hooks, in the order in which the events can
// occur.
func Plans(hooks []*release.Hook, modes ChartModes) []Plan {
	var plans []Plan
	for _, event := range append([]release.HookEvent{EventCRDInstall}, HelmEvents()...) {
		if buckets := Buckets(ForEvent(hooks, event), modes); len(buckets) > 0 {
			plans = append(plans, Plan{Event: event, Buckets: buckets, modes: modes})
		}
	}
	return plans
}

// Chart returns the path of the chart that contains a hook, or "" if it is unknown.
func (p Plan) Chart(h *release.Hook) string {
	if p.modes.ChartOf == nil {
		return ""
	}
	return p.modes.ChartOf(h)
}
