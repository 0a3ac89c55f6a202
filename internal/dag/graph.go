// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package dag is a library for directed acyclic graphs: it finds cycles, computes depths,
// and visits each vertex after its dependencies. Vertices are numbered from 0. Package
// sequencer uses it for the order of deployments.
package dag

import "slices"

// Graph is a directed graph. An edge from v to w means that v depends on w. The zero value
// has no vertices. A Graph must not be modified concurrently.
type Graph struct {
	deps [][]int
}

// New returns a graph with n vertices and no edges.
func New(n int) *Graph { return &Graph{deps: make([][]int, n)} }

// AddVertex adds a vertex and returns its number.
func (g *Graph) AddVertex() int {
	g.deps = append(g.deps, nil)
	return len(g.deps) - 1
}

// AddEdge adds an edge from v to w: v depends on w. An edge can be added twice; Normalize
// removes duplicates.
func (g *Graph) AddEdge(v, w int) { g.deps[v] = append(g.deps[v], w) }

// Len returns the number of vertices.
func (g *Graph) Len() int { return len(g.deps) }

// Dependencies returns the direct dependencies of v. The caller must not change them.
func (g *Graph) Dependencies(v int) []int { return g.deps[v] }

// Normalize sorts the dependencies of each vertex and removes duplicates.
func (g *Graph) Normalize() {
	for v, deps := range g.deps {
		slices.Sort(deps)
		g.deps[v] = slices.Compact(deps)
	}
}

// Reverse returns the graph with all edges reversed.
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

// Renumbered returns the graph with new numbers of the vertices: vertex v becomes vertex
// numbers[v]. The result is normalized.
func (g *Graph) Renumbered(numbers []int) *Graph {
	r := New(g.Len())
	for v, deps := range g.deps {
		for _, w := range deps {
			r.AddEdge(numbers[v], numbers[w])
		}
	}
	r.Normalize()
	return r
}

// Without returns the graph without the edges for which remove returns true.
func (g *Graph) Without(remove func(v, w int) bool) *Graph {
	r := New(g.Len())
	for v, deps := range g.deps {
		r.deps[v] = slices.DeleteFunc(slices.Clone(deps), func(w int) bool { return remove(v, w) })
	}
	return r
}

// DependenciesAmong returns those of the first n vertices that v depends on, either
// directly or only through vertices from n on. The result is sorted.
func (g *Graph) DependenciesAmong(n, v int) []int {
	var deps []int
	seen := map[int]bool{}
	for stack := slices.Clone(g.deps[v]); len(stack) > 0; {
		w := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[w] {
			continue
		}
		seen[w] = true
		if w < n {
			deps = append(deps, w)
		} else {
			stack = append(stack, g.deps[w]...)
		}
	}
	slices.Sort(deps)
	return deps
}

// Reachable reports, for each vertex, whether v depends on it, directly or indirectly. The
// entry of v itself is true only if v is in a cycle.
func (g *Graph) Reachable(v int) []bool {
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

// Depths returns the depth of each vertex: the largest number of vertices on a path of
// dependencies that starts at the vertex. The vertex itself does not count, and neither do
// the vertices from n on, which only connect others. Depths panics if there is a cycle.
func (g *Graph) Depths(n int) []int {
	depths := make([]int, g.Len())
	for _, v := range g.topologicalOrder() {
		for _, w := range g.deps[v] {
			depth := depths[w]
			if w < n {
				depth++
			}
			depths[v] = max(depths[v], depth)
		}
	}
	return depths
}

// topologicalOrder returns all vertices, each after its dependencies. It panics if there is
// a cycle.
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
