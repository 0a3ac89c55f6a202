// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import "github.com/ordered-helm/helm/internal/dag"

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
	i := &Inspection{}
	i.Errors = append(splitErrors(b.readResources(in)), splitErrors(b.resolveSubcharts())...)
	b.makeNodes()
	b.connect()
	cycle := b.graph.Cycle()
	if cycle == nil {
		i.Plan = b.buildPlan()
		i.Warnings = i.Plan.Warnings
		return i
	}
	for range maxCycles {
		if cycle == nil {
			break
		}
		i.Errors = append(i.Errors, b.cycleError(cycle))
		b.removeDeclaredEdges(cycle)
		cycle = b.graph.Cycle()
	}
	b.warnExpressions()
	b.warnNotSequenced()
	i.Warnings = b.warnings
	return i
}

// removeDeclaredEdges removes the declared edges of a cycle from the graph, so that Inspect
// can look for another cycle.
func (b *builder) removeDeclaredEdges(cycle []int) {
	gone := map[[2]int]bool{}
	for i, v := range cycle {
		edge := [2]int{v, cycle[(i+1)%len(cycle)]}
		if _, declared := b.reasons[edge]; declared {
			gone[edge] = true
		}
	}
	rest := dag.New(b.graph.Len())
	for v := range b.graph.Len() {
		for _, w := range b.graph.Dependencies(v) {
			if !gone[[2]int{v, w}] {
				rest.AddEdge(v, w)
			}
		}
	}
	rest.Normalize()
	b.graph = rest
}
