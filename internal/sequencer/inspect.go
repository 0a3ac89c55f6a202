// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import "github.com/ordered-helm/helm/internal/dag"

// Inspection is the result of Inspect.
type Inspection struct {
	// Errors are all errors, one by one.
	Errors []error
	// Warnings are as in Plan.
	Warnings []Warning
	// Plan is built from everything that is valid. It is nil if there is a cycle.
	Plan *Plan
}

// maxCycles limits the cycles that Inspect reports.
const maxCycles = 20

// Inspect finds all errors in the declarations. Unlike Build, it continues after errors,
// with everything that is valid.
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

// removeDeclaredEdges removes the declared edges of a cycle from the graph.
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
