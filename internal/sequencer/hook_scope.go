// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import (
	"errors"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/ordererror"
)

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

// scopeDeclaration is a declaration of the hook scope of a chart.
type scopeDeclaration struct{ value, file, key string }

// resolveHookScopes determines the hook scope of each chart. All declarations for a chart must agree.
func (b *builder) resolveHookScopes() error {
	var problems []error
	for _, c := range b.charts {
		declared := b.scopeDeclarations(c)
		if len(declared) == 0 {
			if c.parent != nil {
				c.hookScope = c.parent.hookScope
			}
			continue
		}
		first := declared[0]
		for _, other := range declared[1:] {
			if other.value != first.value {
				problems = append(problems, &ordererror.ConflictError{
					Subject: "chart " + c.path,
					First:   ordererror.Declaration{File: first.file, Key: first.key, Value: first.value},
					Second:  ordererror.Declaration{File: other.file, Key: other.key, Value: other.value},
				})
			}
		}
		if first.value == annotation.HookScopeChart {
			c.hookScope = c
		}
	}
	return errors.Join(problems...)
}

// scopeDeclarations returns the declarations of the hook scope of c that count: that of order files, its own, and
// that in the Chart.yaml of its parent.
func (b *builder) scopeDeclarations(c *draftChart) []scopeDeclaration {
	var declared []scopeDeclaration
	if s := c.order.HookScope; s != nil {
		declared = append(declared, scopeDeclaration{s.Value, s.Rule.File, s.Rule.Path + "." + s.Key})
	}
	if c.Sequenced && c.HookScope != "" {
		declared = append(declared, scopeDeclaration{c.HookScope, c.file + "/Chart.yaml", annotation.HookScopeField})
	}
	if c.parent == nil || !c.parent.Sequenced {
		return declared
	}
	for _, d := range c.parent.Dependencies {
		if d.HookScope != "" && !d.Disabled && d.nameInTree() == c.Name {
			declared = append(declared, scopeDeclaration{d.HookScope, c.parent.file + "/Chart.yaml", annotation.HookScopeField + " of dependency " + d.nameInTree()})
		}
	}
	return declared
}

// makeHookSteps creates a step for each chart and event of the operation that has hooks with the scope of
// the chart.
func (b *builder) makeHookSteps() {
	before, after := b.input.Operation.hookEvents()
	for _, h := range b.input.Hooks {
		c := b.byPath[h.Chart]
		if c == nil || c.hookScope == nil {
			continue
		}
		scope := c.hookScope
		for _, event := range h.Events {
			switch {
			case event == before && scope.preHooks == nil:
				scope.preHooks = b.addStep(&Step{Chart: scope.path, HookEvent: event})
			case event == after && scope.postHooks == nil:
				scope.postHooks = b.addStep(&Step{Chart: scope.path, HookEvent: event})
			}
		}
	}
}

func (b *builder) addStep(s *Step) *Step {
	b.steps = append(b.steps, s)
	return s
}

// start returns the vertex after which the nodes and subcharts of c start, and end the one before which all of
// them must be ready. Without hooks of c, these are its gates.
func (c *draftChart) start() int {
	if c.preHooks != nil {
		return c.preHooks.vertex
	}
	return c.beforeAll
}

func (c *draftChart) end() int {
	if c.postHooks != nil {
		return c.postHooks.vertex
	}
	return c.afterAll
}

// hookScopePath returns the value of PlannedChart.HookScope.
func (c *draftChart) hookScopePath() string {
	if c.hookScope == nil {
		return ""
	}
	return c.hookScope.path
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
