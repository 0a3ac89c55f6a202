// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package dag holds directed acyclic graphs: finding a cycle, levels, and a
// walk that visits each vertex the moment all it depends on was visited. It
// knows nothing of what the vertices stand for: they are the numbers from 0.
package dag

import "slices"

// Graph is a directed graph. The edge from v to w says that v depends on w.
// The zero value has no vertices. It is not safe for concurrent change.
type Graph struct {
	deps [][]int
}

// New returns a graph of n vertices without edges.
func New(n int) *Graph { return &Graph{deps: make([][]int, n)} }

// AddVertex adds a vertex and returns its number.
func (g *Graph) AddVertex() int {
	g.deps = append(g.deps, nil)
	return len(g.deps) - 1
}

// AddEdge says that v depends on w. An edge may be added twice; it counts once
// after Normalize and does no harm before.
func (g *Graph) AddEdge(v, w int) { g.deps[v] = append(g.deps[v], w) }

// Len is the number of vertices.
func (g *Graph) Len() int { return len(g.deps) }

// Dependencies lists what v depends on directly. The caller must not change it.
func (g *Graph) Dependencies(v int) []int { return g.deps[v] }

// Normalize sorts the dependencies of each vertex and drops repeated ones.
func (g *Graph) Normalize() {
	for v, deps := range g.deps {
		slices.Sort(deps)
		g.deps[v] = slices.Compact(deps)
	}
}

// Reverse returns the graph with every edge turned round.
func (g *Graph) Reverse() *Graph {
	counts := make([]int, g.Len())
	for _, deps := range g.deps {
		for _, w := range deps {
			counts[w]++
		}
	}
	r := New(g.Len())
	for v, n := range counts {
		if n > 0 {
			r.deps[v] = make([]int, 0, n)
		}
	}
	for v, deps := range g.deps {
		for _, w := range deps {
			r.deps[w] = append(r.deps[w], v)
		}
	}
	return r
}

// Descendants marks every vertex that can be reached from v, v itself not
// unless it is in a cycle.
func (g *Graph) Descendants(v int) []bool {
	seen := make([]bool, g.Len())
	stack := slices.Clone(g.deps[v])
	for len(stack) > 0 {
		w := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[w] {
			continue
		}
		seen[w] = true
		stack = append(stack, g.deps[w]...)
	}
	return seen
}

// Depths gives each vertex the greatest sum of weights on a path of
// dependencies below it, its own weight left out. It panics on a cycle, which
// Cycle finds.
func (g *Graph) Depths(weight func(v int) int) []int {
	depths := make([]int, g.Len())
	for _, v := range g.topologicalOrder() {
		for _, w := range g.deps[v] {
			depths[v] = max(depths[v], depths[w]+weight(w))
		}
	}
	return depths
}

// topologicalOrder lists the vertices so that each comes after all it depends on.
func (g *Graph) topologicalOrder() []int {
	waiting := make([]int, g.Len())
	var order []int
	for v, deps := range g.deps {
		waiting[v] = len(deps)
		if len(deps) == 0 {
			order = append(order, v)
		}
	}
	dependents := g.Reverse()
	for i := 0; i < len(order); i++ {
		for _, v := range dependents.deps[order[i]] {
			if waiting[v]--; waiting[v] == 0 {
				order = append(order, v)
			}
		}
	}
	if len(order) != g.Len() {
		panic("dag: the graph has a cycle")
	}
	return order
}
