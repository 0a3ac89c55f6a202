// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import "github.com/ordered-helm/helm/internal/dag"

// Inspection is what Build would say, and what it would say once that is mended.
type Inspection struct {
	// Errors are all the errors, one by one.
	Errors []error
	// Warnings are as in a Plan.
	Warnings []Warning
	// Plan is made of what can be read; nil if there is a cycle.
	Plan *Plan
}

// maxCycles is how many cycles Inspect looks for.
const maxCycles = 20

// Inspect looks for everything that is wrong with the declarations: unlike Build
// it goes on after the first errors, with what can be read.
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

// removeDeclaredEdges takes the edges of a cycle that are declared out of the graph.
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
