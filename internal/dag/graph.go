// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package dag is a library for directed acyclic graphs: it finds cycles, computes depths,
// and visits each vertex after its dependencies. It knows nothing of charts; package
// sequencer builds its plans on it. Vertices are numbered from 0.
package dag

import "slices"

// Graph is a directed graph. An edge from v to w means that v depends on w. The zero value
// has no vertices. A Graph is not safe for concurrent changes.
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

// AddEdge makes v depend on w. An edge may be added twice; Normalize removes duplicates.
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

// Renumbered returns the graph with other numbers of the vertices: the new number of vertex
// v is numbers[v]. The result is normalized.
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

// DependenciesAmong returns those of the first n vertices that v depends on directly, or
// only through vertices from n on. They are sorted.
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

// Descendants reports, for each vertex, whether it can be reached from v by following
// dependencies. The entry of v itself is true only if v is in a cycle.
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

// Depths returns the depth of each vertex: the largest number of vertices on a path of
// dependencies that starts at the vertex, without the vertex itself. Only the first n
// vertices of the graph count. The others only connect these. Depths panics if there is a
// cycle.
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
