// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package layered

// alignments is how many times alignColumns moves the boxes of each column.
const alignments = 10

// alignColumns sets the vertical position of each box, so that it is near the boxes that it
// is connected to. It does not change the order within a column.
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
				g.draw(column, g.left)
			}
			continue
		}
		for c := len(g.columns) - 1; c >= 0; c-- {
			g.draw(g.columns[c], g.right)
		}
	}
}

// distance returns the minimum distance between the centers of a and b, if b is directly
// below a.
func (g *grid) distance(a, b int) float64 {
	gap := float64(gapY)
	if a >= g.boxes || b >= g.boxes {
		gap = laneGap
	}
	return (g.sizes[a].H+g.sizes[b].H)/2 + gap
}

// block is a group of vertices of a column that have the minimum distance to each other,
// and so move together.
type block struct {
	weight, sum float64 // sum is the sum of weight times desired position
	n           int
}

func (b block) at() float64 { return b.sum / b.weight }

// draw moves each vertex of a column toward the mean position of its neighbours in the next
// column, as far as the minimum distances allow. It minimizes the sum of the squared
// distances from these means.
func (g *grid) draw(column []int, neighbours [][]int) {
	offsets := make([]float64, len(column))
	var blocks []block
	for i, v := range column {
		if i > 0 {
			offsets[i] = offsets[i-1] + g.distance(column[i-1], v)
		}
		wish, weight := g.y[v], 0.1
		if near := neighbours[v]; len(near) > 0 {
			wish, weight = 0, 1
			for _, w := range near {
				wish += g.y[w] / float64(len(near))
			}
		}
		if v >= g.boxes {
			weight *= 4 // keeps long edges straight
		}
		b := block{weight, weight * (wish - offsets[i]), 1}
		for len(blocks) > 0 && blocks[len(blocks)-1].at() > b.at() {
			last := blocks[len(blocks)-1]
			b = block{b.weight + last.weight, b.sum + last.sum, b.n + last.n}
			blocks = blocks[:len(blocks)-1]
		}
		blocks = append(blocks, b)
	}
	i := 0
	for _, b := range blocks {
		for range b.n {
			g.y[column[i]] = b.at() + offsets[i]
			i++
		}
	}
}
