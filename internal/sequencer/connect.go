// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ordered-helm/helm/internal/dag"
)

// connect builds the graph. For a dependency between two charts, it adds one edge between
// gates (see draftChart) instead of an edge for each pair of nodes, so that the number of
// edges stays proportional to the number of declarations. connectExternalSteps adds the waits for external dependencies
// when it is known that there is no cycle: an edge of a cycle is found only if no such wait stands between its ends.
func (b *builder) connect() {
	b.graph = dag.New(len(b.nodes) + len(b.steps))
	for _, c := range b.charts {
		c.beforeAll, c.beforeOwn, c.afterAll = b.graph.AddVertex(), b.graph.AddVertex(), b.graph.AddVertex()
	}
	for _, d := range b.tree.Declarations {
		b.declare(draftEnd{chart: b.charts[d.First]}, draftEnd{chart: b.charts[d.Then], own: d.Own}, d.Reason)
	}
	for _, c := range b.charts {
		b.connectGates(c)
		b.connectLayers(c)
	}
	b.graph.Normalize()
}

// connectGates connects the gates of the chart c to its nodes, to the gates of its parent,
// and to the gates of the charts that it depends on.
func (b *builder) connectGates(c *draftChart) {
	if c.preHooks != nil {
		b.graph.AddEdge(c.preHooks.vertex, c.beforeAll)
	}
	if c.postHooks != nil {
		b.graph.AddEdge(c.afterAll, c.postHooks.vertex)
	}
	b.graph.AddEdge(c.beforeOwn, c.startVertex())
	if len(c.nodes) == 0 && len(c.Subcharts) == 0 {
		b.graph.AddEdge(c.endVertex(), c.beforeOwn) // keeps the order transitive across a chart without nodes
	}
	for _, n := range c.nodes {
		b.graph.AddEdge(n.vertex, c.beforeOwn)
		b.graph.AddEdge(c.endVertex(), n.vertex)
	}
	if c.parent != nil {
		b.graph.AddEdge(c.beforeAll, c.parent.startVertex())
		b.graph.AddEdge(c.parent.endVertex(), c.afterAll)
	}
	for _, sibling := range c.After {
		b.graph.AddEdge(c.beforeAll, b.charts[sibling].afterAll)
	}
	for _, sub := range c.OwnAfter {
		b.graph.AddEdge(c.beforeOwn, b.charts[sub].afterAll)
	}
}

// connectLayers adds the edges between nodes of the chart c: those that resources declare,
// and those from the unlayered resources to all other nodes of the chart.
func (b *builder) connectLayers(c *draftChart) {
	missing := map[string]bool{}
	for _, n := range c.nodes {
		if n.unlayered {
			for _, first := range c.nodes {
				if first != n {
					b.graph.AddEdge(n.vertex, first.vertex)
					b.declare(nodeEnd(first), nodeEnd(n), Reason{Implicit: true})
				}
			}
			continue
		}
		for _, r := range n.resources {
			b.connectResource(r, missing)
		}
	}
}

// connectResource adds an edge from the node of r to each layer that r depends on. It warns
// about layers that do not exist, except those in missing, about which it has already warned.
func (b *builder) connectResource(r *draftResource, missing map[string]bool) {
	for _, layer := range r.order.DependsOn {
		first := r.chart.layers[layer]
		if first != nil {
			b.graph.AddEdge(r.node.vertex, first.vertex)
			b.declare(nodeEnd(first), nodeEnd(r.node), b.reader.Reason(r.declaring(), &r.order, layer))
		} else if !missing[layer] {
			missing[layer] = true
			b.warnUnknownLayer(r, layer)
		}
	}
}

// declaredEdges returns those edges that can be part of a cycle and that a chart declares,
// each as a vertex and its dependency, with its first declaration. Other edges of a cycle
// connect charts with their nodes and subcharts, and cannot be removed.
func (b *builder) declaredEdges() map[[2]int]edgeDeclaration[draftEnd] {
	edges := map[[2]int]edgeDeclaration[draftEnd]{}
	for _, d := range b.declarations {
		if d.reason.Implicit || d.then.own {
			continue
		}
		edge := [2]int{d.then.chart.beforeAll, d.first.chart.afterAll}
		if d.then.node != nil {
			edge = [2]int{d.then.node.vertex, d.first.node.vertex}
		}
		if _, known := edges[edge]; !known {
			edges[edge] = d
		}
	}
	return edges
}

// cycleEdges returns those edges of a cycle of vertices that are declared, in their order. If charts depend on each other,
// these are the edges between the outermost charts: those between layers and charts inside of them happen to be on the way
// from the end of such a chart to its beginning, but the cycle stays without them.
func cycleEdges(cycle []int, declared map[[2]int]edgeDeclaration[draftEnd]) [][2]int {
	depth := func(edge [2]int) int {
		if end := declared[edge].then; end.node == nil {
			return strings.Count(end.chart.Path, "/")
		}
		return math.MaxInt
	}
	var edges [][2]int
	outermost := math.MaxInt
	for i, v := range cycle {
		edge := [2]int{v, cycle[(i+1)%len(cycle)]}
		if _, is := declared[edge]; is {
			edges = append(edges, edge)
			outermost = min(outermost, depth(edge))
		}
	}
	return slices.DeleteFunc(edges, func(edge [2]int) bool { return depth(edge) > outermost })
}

// cycleError returns the error for edges that cycleEdges has returned.
func cycleError(edges [][2]int, declared map[[2]int]edgeDeclaration[draftEnd]) error {
	e := &CycleError{}
	for _, edge := range edges {
		d := declared[edge]
		e.Edges = append(e.Edges, CycleEdge{From: d.then.title(), To: d.first.title(), File: d.reason.File, Key: d.reason.Key, Chart: d.then.chart.Path})
	}
	return e
}

// title describes the end in the message of a CycleError.
func (e draftEnd) title() string {
	switch {
	case e.node == nil:
		return "subchart " + e.chart.Chart.Name
	case e.node.layer != "":
		return fmt.Sprintf("layer %q", e.node.layer)
	}
	return e.node.resources[0].ID.String()
}
