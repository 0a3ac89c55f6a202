// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package graphview

import (
	"slices"

	"github.com/ordered-helm/helm/internal/dag"
	"github.com/ordered-helm/helm/internal/graphview/layout"
	"github.com/ordered-helm/helm/internal/graphview/textwidth"
)

// Dimensions of a drawing, in pixels.
const (
	textSize    = 12.0
	columnWidth = 0.62 * textSize // of a letter in a monospaced font, rounded up
	lineHeight  = 16.0
	padding     = 10.0
	boxPadding  = 16.0
	titleHeight = 22.0
)

// bounds contains the position of the upper left corner of an item, and its size.
type bounds struct{ x, y, w, h float64 }

// arrowRoute describes the line of an arrow in a drawing. backwards is true for a removed
// arrow that contradicts the current order: its points lead from its end to its start. side is
// true for arrows from or to hooks.
type arrowRoute struct {
	*arrow
	points          []layout.Point
	backwards, side bool
}

// arranger computes the bounds of the items of a picture, and the routes of its arrows.
type arranger struct {
	boxOf  map[*item]*item    // the box that contains each item
	arrows map[*item][]*arrow // the arrows between the items of each box
	routes []arrowRoute
}

// arrange sets the bounds of all items, and returns the routes of the arrows. Both ends of an
// arrow are in the same box. Therefore each box is laid out as a separate graph, the
// innermost first.
func (p *picture) arrange() []arrowRoute {
	a := &arranger{boxOf: map[*item]*item{}, arrows: map[*item][]*arrow{}}
	a.enter(p.root)
	for i := range p.arrows {
		box := a.boxOf[p.arrows[i].first]
		a.arrows[box] = append(a.arrows[box], &p.arrows[i])
	}
	a.layOut(p.root)
	return a.routes
}

func (a *arranger) enter(box *item) {
	for _, in := range box.inner {
		a.boxOf[in] = box
		a.enter(in)
	}
}

// layOut sets the size of an item. For a box, it also sets the positions of the items in it,
// relative to the upper left corner of the box.
func (a *arranger) layOut(it *item) {
	if !it.box {
		it.measure()
		return
	}
	if len(it.inner) == 0 {
		it.lines = []textLine{{text: "no resources"}}
		it.measure()
		return
	}
	a.groupIdentical(it)
	sizes := make([]layout.Size, len(it.inner))
	index := make(map[*item]int, len(it.inner))
	for i, in := range it.inner {
		a.layOut(in)
		sizes[i], index[in] = layout.Size{W: in.w, H: in.h}, i
	}
	routes, edges := a.edgesIn(it, index)
	l := layout.Compute(sizes, edges)
	left, top := boxPadding, titleHeight+boxPadding
	for i, in := range it.inner {
		in.move(left+l.Boxes[i].X, top+l.Boxes[i].Y)
	}
	for i := range routes {
		for _, p := range l.Routes[i] {
			routes[i].points = append(routes[i].points, layout.Point{X: left + p.X, Y: top + p.Y})
		}
		it.routes = append(it.routes, len(a.routes)+i)
	}
	a.routes = append(a.routes, routes...)
	it.w = max(l.Size.W, textWidth(it.title)) + 2*boxPadding
	it.h = l.Size.H + titleHeight + 2*boxPadding
	it.all = a
}

// edgesIn returns the arrows between the items of a box, both as routes without points and as
// edges for package layout, in the same order. index contains the index of each item in the
// box. Removed arrows that contradict the current order are reversed, because package layout
// does not support cycles.
func (a *arranger) edgesIn(box *item, index map[*item]int) ([]arrowRoute, []layout.Edge) {
	routes, edges := make([]arrowRoute, 0, len(a.arrows[box])), make([]layout.Edge, 0, len(a.arrows[box]))
	graph := dag.New(len(box.inner))
	arrows := slices.Clone(a.arrows[box])
	slices.SortStableFunc(arrows, func(x, y *arrow) int { return boolOrder(x.change == removed) - boolOrder(y.change == removed) })
	for _, arrow := range arrows {
		from, to := index[arrow.first], index[arrow.then]
		backwards := arrow.change == removed && graph.Reachable(from)[to]
		if backwards {
			from, to = to, from
		}
		graph.AddEdge(to, from)
		routes = append(routes, arrowRoute{arrow: arrow, backwards: backwards})
		edges = append(edges, layout.Edge{From: from, To: to})
	}
	return routes, edges
}

func boolOrder(b bool) int {
	if b {
		return 1
	}
	return 0
}

// move moves an item, the items in it and their routes by x and y.
func (it *item) move(x, y float64) {
	it.x += x
	it.y += y
	for _, in := range it.inner {
		in.move(x, y)
	}
	for _, r := range it.routes {
		for i := range it.all.routes[r].points {
			it.all.routes[r].points[i].X += x
			it.all.routes[r].points[i].Y += y
		}
	}
}

// measure sets the size of a node to the space that its title and lines need.
func (it *item) measure() {
	w := textWidth(it.title)
	for _, l := range it.lines {
		w = max(w, textWidth(changeSign(l.change)+l.text))
	}
	it.w, it.h = w+2*padding, 2*padding+lineHeight*float64(len(it.lines))
	if it.title != "" {
		it.h += lineHeight
	}
}

func textWidth(text string) float64 {
	return columnWidth * float64(textwidth.Columns(textwidth.Shorten(text)))
}
