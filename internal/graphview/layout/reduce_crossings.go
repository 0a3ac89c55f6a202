// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"cmp"
	"slices"
)

// sweeps is the number of calls of reduceCrossings. The result with the fewest crossings is
// used.
const sweeps = 6

// setPositions sets g.position for all vertices, and keeps the initial order as the best
// until now.
func (g *grid) setPositions() {
	g.position = make([]int, len(g.sizes))
	for _, column := range g.columns {
		for i, v := range column {
			g.position[v] = i
		}
	}
	g.keepBest()
}

// reduceCrossings reorders the vertices within the columns, so that fewer edges cross. It
// passes over the columns from left to right, and then from right to left. It keeps the result
// if it is the best until now.
func (g *grid) reduceCrossings() {
	for c := 1; c < len(g.columns); c++ {
		g.sortColumn(c, g.left)
	}
	for c := len(g.columns) - 2; c >= 0; c-- {
		g.sortColumn(c, g.right)
	}
	g.keepBest()
}

// sortColumn sorts the vertices of column c by the mean position of their neighbors. A vertex
// without neighbors is sorted by its own position. neighbors contains the neighbors of each
// vertex in one adjacent column.
func (g *grid) sortColumn(c int, neighbors [][]int) {
	column := g.columns[c]
	mean := make(map[int]float64, len(column))
	for i, v := range column {
		mean[v] = float64(i)
		if near := neighbors[v]; len(near) > 0 {
			sum := 0
			for _, w := range near {
				sum += g.position[w]
			}
			mean[v] = float64(sum) / float64(len(near))
		}
	}
	slices.SortStableFunc(column, func(a, b int) int { return cmp.Compare(mean[a], mean[b]) })
	for i, v := range column {
		g.position[v] = i
	}
}

func (g *grid) keepBest() {
	if n := g.countCrossings(); n < g.crossings {
		g.crossings = n
		g.best = make([][]int, len(g.columns))
		for i, column := range g.columns {
			g.best[i] = slices.Clone(column)
		}
	}
}

func (g *grid) restoreBest() {
	for c, column := range g.best {
		g.columns[c] = column
		for i, v := range column {
			g.position[v] = i
		}
	}
}

// countCrossings returns the number of pairs of edges that cross between columns.
func (g *grid) countCrossings() int {
	total := 0
	for c := 1; c < len(g.columns); c++ {
		// ends is a binary indexed tree (Fenwick tree) of the processed edges, by the
		// position at which they end in column c.
		ends := make([]int, len(g.columns[c])+1)
		seen := 0
		for _, v := range g.columns[c-1] {
			for _, w := range g.right[v] {
				notBelow := 0
				for i := g.position[w] + 1; i > 0; i -= i & -i {
					notBelow += ends[i]
				}
				total += seen - notBelow
			}
			for _, w := range g.right[v] {
				seen++
				for i := g.position[w] + 1; i < len(ends); i += i & -i {
					ends[i]++
				}
			}
		}
	}
	return total
}
