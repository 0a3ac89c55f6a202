// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package layout computes positions for a drawing of a directed acyclic graph, whose
// vertices are boxes. It puts the boxes into columns, so that each edge points to the right.
// Boxes do not overlap, and edges pass between them. Equal graphs have equal layouts. The
// time for a graph of size n is in O(n log n).
package layout

import (
	"math"
	"slices"
)

// Size is the width and height of a box or layout. All lengths have the same unit, pixels.
type Size struct{ W, H float64 }

// Point is a position in a layout. X grows to the right, and Y downwards.
type Point struct{ X, Y float64 }

// Edge is a directed edge from one box to another. From and To are indexes of boxes, as
// passed to Compute.
type Edge struct{ From, To int }

// Layout contains the computed positions, relative to the upper left corner of the drawing.
type Layout struct {
	// Size is the size of the whole layout.
	Size Size
	// Boxes contains the upper left corner of each box.
	Boxes []Point
	// Routes contains the points on the path of each edge, from the right side of box
	// Edge.From to the left side of box Edge.To. From point 2i to point 2i+1, an edge passes
	// through a column horizontally. From point 2i+1 to point 2i+2, it leads from one column
	// to the next.
	Routes [][]Point
}

const (
	gapX    = 56 // minimum space between columns
	gapY    = 14 // space between boxes in a column
	laneGap = 8  // space around an edge that passes through a column
	// maxLanes is the maximum number of lanes (see grid). When they are used up, further
	// edges are straight lines from box to box, behind the boxes between them.
	maxLanes = 20_000
)

// Compute returns the layout of a graph. The edges must not form a cycle, except that an edge
// from a box to itself is ignored and gets no route. Boxes without edges are placed below the
// others.
func Compute(boxes []Size, edges []Edge) *Layout {
	l := &Layout{Boxes: make([]Point, len(boxes)), Routes: make([][]Point, len(edges))}
	g := newGrid(boxes, edges)
	for range sweeps {
		g.reduceCrossings()
	}
	g.restoreBest()
	g.alignColumns()
	g.place(l)
	l.pack(boxes, g.isolated)
	return l
}

// grid assigns the boxes of a graph to columns. An edge that crosses a column without
// ending there gets a lane: a free position between the boxes of that column. The vertices
// of a grid are the boxes, followed by the lanes.
type grid struct {
	sizes    []Size
	column   []int     // the column of each vertex
	columns  [][]int   // the vertices of each column, from top to bottom
	left     [][]int   // the neighbors of each vertex in the previous column
	right    [][]int   // the neighbors of each vertex in the next column
	y        []float64 // the vertical center of each vertex
	edges    []Edge
	paths    [][]int // the vertices that each edge passes through, including its ends
	isolated []int   // the boxes without edges, which are not in columns
	boxes    int     // the number of boxes; vertices from this number on are lanes

	position  []int   // the index of each vertex in its column
	best      [][]int // the value of columns with the fewest crossings until now
	crossings int     // the number of crossings in best
}

func newGrid(boxes []Size, edges []Edge) *grid {
	g := &grid{sizes: slices.Clone(boxes), edges: edges, paths: make([][]int, len(edges)), boxes: len(boxes), crossings: math.MaxInt}
	g.assignColumns()
	lanes := map[[2]int]int{} // by Edge.To and column, so that edges to the same box share lanes
	known := map[Edge]bool{}
	link := func(a, b int) {
		if e := (Edge{a, b}); !known[e] {
			known[e] = true
			g.right[a], g.left[b] = append(g.right[a], b), append(g.left[b], a)
		}
	}
	g.left, g.right = make([][]int, len(boxes)), make([][]int, len(boxes))
	for i, e := range edges {
		if e.From == e.To {
			continue
		}
		at := e.From
		g.paths[i] = []int{at}
		for c := g.column[e.From] + 1; c < g.column[e.To]; c++ {
			lane, exists := lanes[[2]int{e.To, c}]
			if !exists {
				if len(lanes) >= maxLanes {
					break
				}
				lane = g.addLane(c)
				lanes[[2]int{e.To, c}] = lane
			}
			link(at, lane)
			g.paths[i] = append(g.paths[i], lane)
			at = lane
		}
		if g.column[at]+1 == g.column[e.To] {
			link(at, e.To)
		}
		g.paths[i] = append(g.paths[i], e.To)
	}
	g.setPositions()
	return g
}

func (g *grid) addLane(column int) int {
	lane := len(g.sizes)
	g.sizes = append(g.sizes, Size{})
	g.column = append(g.column, column)
	g.left, g.right = append(g.left, nil), append(g.right, nil)
	g.columns[column] = append(g.columns[column], lane)
	return lane
}

// assignColumns puts each box into the first column after those of all its predecessors.
func (g *grid) assignColumns() {
	n := g.boxes
	g.column = make([]int, n)
	waiting, touched, after := make([]int, n), make([]bool, n), make([][]int, n)
	for _, e := range g.edges {
		touched[e.From], touched[e.To] = true, true
		if e.From != e.To {
			waiting[e.To]++
			after[e.From] = append(after[e.From], e.To)
		}
	}
	var ready []int
	for v := range n {
		switch {
		case !touched[v]:
			g.isolated = append(g.isolated, v)
		case waiting[v] == 0:
			ready = append(ready, v)
		}
	}
	for i := 0; i < len(ready); i++ {
		for _, w := range after[ready[i]] {
			g.column[w] = max(g.column[w], g.column[ready[i]]+1)
			if waiting[w]--; waiting[w] == 0 {
				ready = append(ready, w)
			}
		}
	}
	slices.Sort(ready)
	for _, v := range ready {
		for g.column[v] >= len(g.columns) {
			g.columns = append(g.columns, nil)
		}
		g.columns[g.column[v]] = append(g.columns[g.column[v]], v)
	}
}

// place sets the size of l, and the positions of its boxes and routes.
func (g *grid) place(l *Layout) {
	top := math.Inf(1)
	bottom := 0.0
	for _, column := range g.columns {
		for _, v := range column {
			top = min(top, g.y[v]-g.sizes[v].H/2)
		}
	}
	starts, ends := make([]float64, len(g.columns)), make([]float64, len(g.columns))
	x := 0.0
	for c, column := range g.columns {
		if c > 0 {
			x += g.gapBefore(c)
		}
		starts[c], ends[c] = x, x
		for _, v := range column {
			g.y[v] -= top
			bottom = max(bottom, g.y[v]+g.sizes[v].H/2)
			ends[c] = max(ends[c], x+g.sizes[v].W)
			if v < g.boxes {
				l.Boxes[v] = Point{x, g.y[v] - g.sizes[v].H/2}
			}
		}
		x = ends[c]
	}
	l.Size = Size{x, bottom}
	for i, path := range g.paths {
		for j, v := range path {
			c := g.column[v]
			from, to := starts[c], ends[c]
			if j == 0 {
				from += g.sizes[v].W
			}
			if j == len(path)-1 {
				to = from
			}
			l.Routes[i] = append(l.Routes[i], Point{from, g.y[v]}, Point{to, g.y[v]})
		}
		if n := len(l.Routes[i]); n > 0 {
			l.Routes[i] = l.Routes[i][:n-1]
		}
	}
}

// gapBefore returns the width of the space on the left of a column. The steeper the edges in
// this space, the wider it is.
func (g *grid) gapBefore(column int) float64 {
	climb := 0.0
	for _, v := range g.columns[column] {
		for _, w := range g.left[v] {
			climb = max(climb, math.Abs(g.y[v]-g.y[w]))
		}
	}
	return min(gapX+climb/12, 4*gapX)
}

// pack places the boxes without edges in rows below all others.
func (l *Layout) pack(boxes []Size, isolated []int) {
	if len(isolated) == 0 {
		return
	}
	area, widest := 0.0, l.Size.W
	for _, v := range isolated {
		area += (boxes[v].W + gapY) * (boxes[v].H + gapY)
		widest = max(widest, boxes[v].W)
	}
	width := max(widest, math.Sqrt(1.6*area))
	x, y, row := 0.0, l.Size.H, 0.0
	if y > 0 {
		y += 2 * gapY
	}
	for _, v := range isolated {
		if x > 0 && x+boxes[v].W > width {
			x, y, row = 0, y+row+gapY, 0
		}
		l.Boxes[v] = Point{x, y}
		row = max(row, boxes[v].H)
		l.Size.W = max(l.Size.W, x+boxes[v].W)
		x += boxes[v].W + gapY
	}
	l.Size.H = y + row
}
