// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import (
	"errors"
	"slices"

	"github.com/ordered-helm/helm/internal/joinederror"
)

// Inspection holds the result of Inspect.
type Inspection struct {
	// Errors lists all errors individually. Build joins them.
	Errors []error
	// Warnings are those of Plan or, if there is a cycle, those that can be found without
	// a plan.
	Warnings []Warning
	// Plan is built from the valid declarations. It is nil if they contain a cycle.
	Plan *Plan
}

// maxCycles limits how many cycles Inspect reports.
const maxCycles = 20

// Inspect checks the order that the charts of a release declare, for helm lint. Unlike
// Build, it continues after errors: it ignores invalid declarations and checks the others.
func Inspect(in Input) *Inspection {
	b := newBuilder(in)
	i := &Inspection{Errors: joinederror.Split(errors.Join(b.readResources(in), b.tree.Resolve(&b.dependencies), b.readExternal()))}
	b.makeNodes()
	b.makeSteps()
	b.connect()
	cycle := b.graph.Cycle()
	if cycle == nil {
		i.Plan = b.buildPlan()
		i.Warnings = i.Plan.Warnings
		return i
	}
	declared := b.declaredEdges()
	for n := 0; cycle != nil && n < maxCycles; n++ {
		edges := cycleEdges(cycle, declared)
		i.Errors = append(i.Errors, cycleError(edges, declared))
		b.graph = b.graph.Without(func(v, w int) bool { return slices.Contains(edges, [2]int{v, w}) }) // break this cycle, to find others
		cycle = b.graph.Cycle()
	}
	b.warnUnmatchedRules()
	b.warnExpressions()
	b.warnIgnoredDeclarations()
	i.Warnings = b.warnings
	return i
}
