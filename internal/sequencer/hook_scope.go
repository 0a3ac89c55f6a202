// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import "helm.sh/helm/v3/pkg/release"

// hookEvents returns the events whose hooks run before and after the nodes of a chart.
func (o Operation) hookEvents() (before, after release.HookEvent) {
	switch o {
	case Install:
		return release.HookPreInstall, release.HookPostInstall
	case Upgrade:
		return release.HookPreUpgrade, release.HookPostUpgrade
	case Rollback:
		return release.HookPreRollback, release.HookPostRollback
	case Uninstall:
		return release.HookPostDelete, release.HookPreDelete
	}
	return "", ""
}

// makeHookSteps creates a step for each chart and event of the operation that has hooks with the scope of
// the chart.
func (b *builder) makeHookSteps() {
	before, after := b.input.Operation.hookEvents()
	for _, h := range b.input.Hooks {
		c := b.byPath[h.Chart]
		if c == nil || c.HookScope < 0 {
			continue
		}
		scope := b.charts[c.HookScope]
		for _, event := range h.Events {
			switch {
			case event == before && scope.preHooks == nil:
				scope.preHooks = b.addStep(&Step{Chart: scope.Path, HookEvent: event})
			case event == after && scope.postHooks == nil:
				scope.postHooks = b.addStep(&Step{Chart: scope.Path, HookEvent: event})
			}
		}
	}
}

func (b *builder) addStep(s *Step) *Step {
	b.steps = append(b.steps, s)
	return s
}

// startVertex returns the vertex after which the nodes and subcharts of c start, and endVertex the one before which all of
// them must be ready. Without hooks of c, these are its gates.
func (c *draftChart) startVertex() int {
	if c.preHooks != nil {
		return c.preHooks.vertex
	}
	return c.beforeAll
}

func (c *draftChart) endVertex() int {
	if c.postHooks != nil {
		return c.postHooks.vertex
	}
	return c.afterAll
}

// HookScope returns PlannedChart.HookScope of the chart with the given path; "" if there is no such chart.
func (p *Plan) HookScope(chart string) string {
	for _, c := range p.Charts {
		if c.Path == chart {
			return c.HookScope
		}
	}
	return ""
}
