// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package layout

// alignments is the number of passes of alignColumns over all columns.
const alignments = 10

// alignColumns sets the vertical position of each vertex, so that it is near its neighbors.
// It does not change the order within a column.
func (g *grid) alignColumns() {
	g.y = make([]float64, len(g.sizes))
	for _, column := range g.columns {
		y := 0.0
		for i, v := range column {
			if i > 0 {
				y += g.distance(column[i-1], v)
			}
			g.y[v] = y
		}
	}
	for i := range alignments {
		if i%2 == 0 {
			for _, column := range g.columns {
				g.alignColumn(column, g.left)
			}
			continue
		}
		for c := len(g.columns) - 1; c >= 0; c-- {
			g.alignColumn(g.columns[c], g.right)
		}
	}
}

// distance returns the minimum distance between the centers of a and b, two vertices of a
// column with no vertex between them.
func (g *grid) distance(a, b int) float64 {
	gap := float64(gapY)
	if a >= g.boxes || b >= g.boxes {
		gap = laneGap
	}
	return (g.sizes[a].H+g.sizes[b].H)/2 + gap
}

// vertexGroup is a group of consecutive vertices of a column that have the minimum distance
// from each other, and so move together.
type vertexGroup struct {
	weight float64 // the sum of the weights of the vertices
	sum    float64 // the sum of weight times desired position of the vertices
	n      int     // the number of vertices
}

func (g vertexGroup) at() float64 { return g.sum / g.weight }

// alignColumn moves each vertex of a column toward the mean position of its neighbors, as far
// as the minimum distances allow. It minimizes the weighted sum of the squared distances from
// these means. neighbors contains the neighbors of each vertex in one adjacent column.
func (g *grid) alignColumn(column []int, neighbors [][]int) {
	offsets := make([]float64, len(column))
	var groups []vertexGroup
	for i, v := range column {
		if i > 0 {
			offsets[i] = offsets[i-1] + g.distance(column[i-1], v)
		}
		wish, weight := g.y[v], 0.1
		if near := neighbors[v]; len(near) > 0 {
			wish, weight = 0, 1
			for _, w := range near {
				wish += g.y[w] / float64(len(near))
			}
		}
		if v >= g.boxes {
			weight *= 4 // keeps long edges straight
		}
		group := vertexGroup{weight, weight * (wish - offsets[i]), 1}
		for len(groups) > 0 && groups[len(groups)-1].at() > group.at() {
			last := groups[len(groups)-1]
			group = vertexGroup{group.weight + last.weight, group.sum + last.sum, group.n + last.n}
			groups = groups[:len(groups)-1]
		}
		groups = append(groups, group)
	}
	i := 0
	for _, group := range groups {
		for range group.n {
			g.y[column[i]] = group.at() + offsets[i]
			i++
		}
	}
}
