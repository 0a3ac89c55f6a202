// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package dag

// Cycle returns the vertices of one cycle, or nil if the graph is acyclic. Each vertex
// depends on the next, and the last on the first. The lowest vertex comes first. Equal
// graphs give the same cycle.
func (g *Graph) Cycle() []int {
	const (
		unseen = iota
		open
		done
	)
	state := make([]byte, g.Len())
	next := make([]int, g.Len()) // per vertex, the index of the edge to follow next
	var path []int
	for root := range g.deps {
		if state[root] != unseen {
			continue
		}
		path = append(path[:0], root)
		state[root] = open
		for len(path) > 0 {
			v := path[len(path)-1]
			if next[v] == len(g.deps[v]) {
				state[v] = done
				path = path[:len(path)-1]
				continue
			}
			w := g.deps[v][next[v]]
			next[v]++
			switch state[w] {
			case open:
				return extractCycle(path, w)
			case unseen:
				state[w] = open
				path = append(path, w)
			}
		}
	}
	return nil
}

// extractCycle returns the vertices of path from start to the end, which form a cycle,
// rotated so that the lowest vertex comes first.
func extractCycle(path []int, start int) []int {
	at := len(path) - 1
	for path[at] != start {
		at--
	}
	cycle := path[at:]
	lowest := 0
	for i, v := range cycle {
		if v < cycle[lowest] {
			lowest = i
		}
	}
	return append(append([]int{}, cycle[lowest:]...), cycle[:lowest]...)
}
