// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hookorder

import (
	"maps"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/release"
)

// Plan is the order in which the hooks of one event run, for the commands dag and plan.
type Plan struct {
	Event release.HookEvent
	// Scope is the path of the chart before or after whose nodes the hooks run. It is empty for hooks that
	// run before or after everything in the release.
	Scope   string
	Buckets []Bucket

	modes ChartModes
}

// Plans returns the plans of the hooks: first those of hooks that run before or after everything in the release,
// one for each event, in the order in which the events can occur; then those of hooks with another scope,
// sorted by the scope. scopeOf returns the scope of the hooks of a chart, as in Plan.Scope. It can be nil, but
// if it is not, modes must have ChartOf.
func Plans(hooks []*release.Hook, modes ChartModes, scopeOf func(chart string) string) []Plan {
	var plans []Plan
	for _, event := range append([]release.HookEvent{EventCRDInstall}, HelmEvents()...) {
		byScope := map[string][]*release.Hook{}
		for _, h := range ForEvent(hooks, event) {
			scope := ""
			if scopeOf != nil && HasScope(event) {
				scope = scopeOf(modes.ChartOf(h))
			}
			byScope[scope] = append(byScope[scope], h)
		}
		for _, scope := range slices.Sorted(maps.Keys(byScope)) {
			plans = append(plans, Plan{Event: event, Scope: scope, Buckets: Buckets(byScope[scope], modes), modes: modes})
		}
	}
	slices.SortStableFunc(plans, func(x, y Plan) int { return strings.Compare(x.Scope, y.Scope) })
	return plans
}

// HasScope reports whether hooks can run in the place of their chart at an event. Tests, and hooks that install
// definitions, cannot.
func HasScope(event release.HookEvent) bool {
	return event != EventCRDInstall && event != release.HookTest
}

// Chart returns the path of the chart that contains a hook, or "" if it is unknown.
func (p Plan) Chart(h *release.Hook) string {
	if p.modes.ChartOf == nil {
		return ""
	}
	return p.modes.ChartOf(h)
}
