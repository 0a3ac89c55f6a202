// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package layered

import (
	"cmp"
	"slices"
)

// sweeps is how many times the vertices of all columns are sorted. The result with the
// fewest crossings is used.
const sweeps = 6

// number sets the position of each vertex to its index in its column.
func (g *grid) number() {
	g.position = make([]int, len(g.sizes))
	for _, column := range g.columns {
		for i, v := range column {
			g.position[v] = i
		}
	}
	g.keepBest()
}

// reduceCrossings sorts the vertices of each column, so that fewer edges cross: first from
// left to right, then from right to left. It stores the result if it is the best one until
// now.
func (g *grid) reduceCrossings() {
	for c := 1; c < len(g.columns); c++ {
		g.sortColumn(c, g.left)
	}
	for c := len(g.columns) - 2; c >= 0; c-- {
		g.sortColumn(c, g.right)
	}
	g.keepBest()
}

// sortColumn sorts the vertices of column c by the mean position of their neighbours in the
// next column. A vertex without neighbours keeps its current position as the key.
func (g *grid) sortColumn(c int, neighbours [][]int) {
	column := g.columns[c]
	mean := make(map[int]float64, len(column))
	for i, v := range column {
		mean[v] = float64(i)
		if near := neighbours[v]; len(near) > 0 {
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
		// ends is a binary indexed tree. For each position, it counts the edges that were
		// already processed and that end above it.
		ends := make([]int, len(g.columns[c])+1)
		seen := 0
		for _, v := range g.columns[c-1] {
			for _, w := range g.right[v] {
				not := 0
				for i := g.position[w] + 1; i > 0; i -= i & -i {
					not += ends[i]
				}
				total += seen - not
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
