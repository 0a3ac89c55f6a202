// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import "errors"

// Inspection is what Inspect finds in the declarations of a release.
type Inspection struct {
	// Errors are all errors. Unlike those of Build, they are not joined.
	Errors []error
	// Warnings are those of Plan.Warnings. They are also set if there is a cycle.
	Warnings []Warning
	// Plan is built from the valid declarations. It is nil if there is a cycle.
	Plan *Plan
}

// maxCycles limits how many cycles Inspect reports.
const maxCycles = 20

// Inspect checks the declarations of a release, for helm lint. Build returns no plan if
// there is an error. Inspect ignores the invalid declarations and continues with the
// others.
func Inspect(in Input) *Inspection {
	b := newBuilder(in)
	i := &Inspection{Errors: splitErrors(errors.Join(b.readResources(in), b.resolveSubcharts()))}
	b.makeNodes()
	b.connect()
	cycle := b.graph.Cycle()
	if cycle == nil {
		i.Plan = b.buildPlan()
		i.Warnings = i.Plan.Warnings
		return i
	}
	declared := b.declaredEdges()
	for n := 0; cycle != nil && n < maxCycles; n++ {
		i.Errors = append(i.Errors, cycleError(cycle, declared))
		inCycle := map[[2]int]bool{}
		for at, v := range cycle {
			inCycle[[2]int{v, cycle[(at+1)%len(cycle)]}] = true
		}
		b.graph = b.graph.Without(func(v, w int) bool { // to find another cycle
			_, isDeclared := declared[[2]int{v, w}]
			return isDeclared && inCycle[[2]int{v, w}]
		})
		cycle = b.graph.Cycle()
	}
	b.warnExpressions()
	b.warnNotSequenced()
	i.Warnings = b.warnings
	return i
}
