// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import (
	"fmt"

	"github.com/ordered-helm/helm/internal/dag"
)

// connect builds the graph. A dependency between whole charts is one edge between gates
// (see chartEntry), instead of an edge for each pair of nodes, so that the number of edges
// stays proportional to the number of declarations.
func (b *builder) connect() {
	b.graph = dag.New(len(b.nodes))
	b.reasons = map[[2]int]reason{}
	for _, c := range b.charts {
		c.beforeAll, c.beforeOwn, c.afterAll = b.graph.AddVertex(), b.graph.AddVertex(), b.graph.AddVertex()
	}
	for _, c := range b.charts {
		b.connectGates(c)
		b.connectLayers(c)
	}
	b.graph.Normalize()
}

// connectGates connects the gates of the chart c to its nodes, to its parent, and to the
// charts that it depends on.
func (b *builder) connectGates(c *chartEntry) {
	b.graph.AddEdge(c.beforeOwn, c.beforeAll)
	if len(c.nodes) == 0 && len(c.subcharts) == 0 {
		b.graph.AddEdge(c.afterAll, c.beforeOwn) // an empty chart still has the effect of its dependencies
	}
	for _, v := range c.nodes {
		b.graph.AddEdge(v, c.beforeOwn)
		b.graph.AddEdge(c.afterAll, v)
	}
	if c.parent >= 0 {
		parent := b.charts[c.parent]
		b.graph.AddEdge(c.beforeAll, parent.beforeAll)
		b.graph.AddEdge(parent.afterAll, c.afterAll)
	}
	for _, sibling := range c.after {
		s := b.charts[sibling]
		b.graph.AddEdge(c.beforeAll, s.afterAll)
		b.reasons[[2]int{c.beforeAll, s.afterAll}] = reason{
			from: "subchart " + c.Name, to: "subchart " + s.Name,
			file: b.charts[c.parent].file + "/Chart.yaml", key: dependencyKey + c.Name,
		}
	}
	for _, sub := range c.ownAfter {
		b.graph.AddEdge(c.beforeOwn, b.charts[sub].afterAll)
	}
}

// connectLayers adds the edges within the chart c: the declared edges between its layers,
// and edges from its unlayered resources to all its layers.
func (b *builder) connectLayers(c *chartEntry) {
	missing := map[string]bool{}
	for _, v := range c.nodes {
		n := b.nodes[v]
		if n.unsequenced {
			for _, w := range c.nodes {
				if w != v {
					b.graph.AddEdge(v, w)
					b.declare(declaration{first: b.nodeVertex(w), then: b.nodeVertex(v), reason: Reason{Implicit: true}})
				}
			}
			continue
		}
		for _, i := range n.resources {
			b.connectResource(c, v, &b.resources[i], missing)
		}
	}
}

// connectResource adds an edge from node v, which contains r, to each layer that r depends
// on. It warns about layers that do not exist, once for each name. missing has the names it
// has already warned about in this chart.
func (b *builder) connectResource(c *chartEntry, v int, r *resource, missing map[string]bool) {
	for _, layer := range r.order.DependsOn {
		w, exists := c.layers[layer]
		if !exists {
			if !missing[layer] {
				missing[layer] = true
				b.warnUnknownLayer(c, r, layer)
			}
			continue
		}
		b.declare(declaration{first: b.nodeVertex(w), then: b.nodeVertex(v), reason: Reason{
			File: r.File, Key: r.order.DependsOnKey, Value: layer, Resource: r.ID.String(),
		}})
		edge := [2]int{v, w}
		if _, known := b.reasons[edge]; known {
			continue
		}
		b.graph.AddEdge(v, w)
		b.reasons[edge] = reason{
			from: b.nodeTitle(v), to: b.nodeTitle(w), file: r.File, key: r.order.DependsOnKey,
		}
	}
}

func (b *builder) nodeTitle(v int) string {
	n := b.nodes[v]
	if n.layer != "" {
		return fmt.Sprintf("layer %q", n.layer)
	}
	return b.resources[n.resources[0]].ID.String()
}

// cycleError returns an error that lists the declared edges of a cycle. It leaves out edges
// that follow from the tree of charts, because a user cannot remove them.
func (b *builder) cycleError(cycle []int) error {
	e := &CycleError{}
	for i, v := range cycle {
		if r, declared := b.reasons[[2]int{v, cycle[(i+1)%len(cycle)]}]; declared {
			e.Edges = append(e.Edges, CycleEdge{From: r.from, To: r.to, File: r.file, Key: r.key})
		}
	}
	return e
}
