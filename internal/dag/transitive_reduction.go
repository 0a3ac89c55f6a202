// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package dag

// Reduced returns a copy of an acyclic graph without redundant edges. An edge from v to w
// is redundant if v also depends on w through another vertex. The required memory is
// proportional to the size of the graph. The time is proportional to the size of the graph
// times the number of vertices, divided by 64. Reduced panics if there is a cycle.
func (g *Graph) Reduced() *Graph {
	const word = 64
	order := g.topologicalOrder()
	implied := make([][]bool, g.Len()) // per vertex and edge, whether the edge is redundant
	for v, deps := range g.deps {
		implied[v] = make([]bool, len(deps))
	}
	below := make([]uint64, g.Len()) // per vertex: which of the 64 vertices from first on it depends on, as bits
	for first := 0; first < g.Len(); first += word {
		bit := func(v int) uint64 {
			if v < first || v >= first+word {
				return 0
			}
			return 1 << (v - first)
		}
		for _, v := range order {
			var direct, further uint64
			for _, w := range g.deps[v] {
				direct |= bit(w)
				further |= below[w]
			}
			below[v] = direct | further
			for i, w := range g.deps[v] {
				implied[v][i] = implied[v][i] || further&bit(w) != 0
			}
		}
	}
	r := New(g.Len())
	for v, deps := range g.deps {
		for i, w := range deps {
			if !implied[v][i] {
				r.AddEdge(v, w)
			}
		}
	}
	r.Normalize()
	return r
}
