// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package graphview

import (
	"fmt"

	"github.com/ordered-helm/helm/internal/graphview/layout"
	"github.com/ordered-helm/helm/internal/hooktext"
)

// compose lays out a whole drawing: the root chart in the middle, the hooks that run before
// its nodes on the left, the other hooks on the right, and space for the given number of
// heading lines above. It returns the boxes and arrows to draw, and the size of the drawing.
func (p *picture) compose(headings int) ([]*item, []arrowRoute, layout.Size) {
	routes := p.arrange()
	x, top := boxPadding, 2*boxPadding+lineHeight*float64(headings)
	var before, after []*item
	boxes := make([]*item, len(p.hooks))
	for i, g := range p.hooks {
		boxes[i] = hookItem(g, fmt.Sprintf("h%d", i))
		if g.Before {
			before = append(before, boxes[i])
		} else {
			after = append(after, boxes[i])
		}
	}
	height := p.root.h
	column := func(boxes []*item) {
		y, width := top, 0.0
		for _, b := range boxes {
			b.move(x, y)
			y += b.h + 2*boxPadding
			width = max(width, b.w)
			height = max(height, y-top-2*boxPadding)
		}
		if len(boxes) > 0 {
			x += width + 3*boxPadding
		}
	}
	column(before)
	column([]*item{p.root})
	column(after)
	for i, g := range p.hooks {
		if g.Deploying {
			routes = append(routes, p.sideRoute(boxes[i], g.Before))
		}
	}
	items := append(append(before, p.root), after...)
	return items, routes, layout.Size{W: x - 2*boxPadding, H: top + height + boxPadding}
}

// sideRoute returns the arrow between the root chart and a box of hooks: from the hooks to
// the chart if before is true, otherwise from the chart to the hooks.
func (p *picture) sideRoute(hooks *item, before bool) arrowRoute {
	first, then := p.root, hooks
	if before {
		first, then = hooks, p.root
	}
	middle := func(it *item) float64 {
		return min(hooks.y+hooks.h/2, it.y+it.h-boxPadding)
	}
	return arrowRoute{arrow: &arrow{first: first, then: then}, side: true, points: []layout.Point{
		{X: first.x + first.w, Y: middle(first)}, {X: first.x + first.w, Y: middle(first)}, {X: then.x, Y: middle(then)},
	}}
}

// hookItem returns the box that shows the hooks of g, with an inner box for each weight.
func hookItem(g hooktext.Group, id string) *item {
	box := &item{id: id, box: true, kind: kindHooks, title: g.Title(), tooltip: g.Title()}
	for _, b := range g.Buckets {
		bucket := &item{box: true, kind: kindBucket, title: b.Title, tooltip: g.Title() + ", " + b.Title}
		for _, s := range b.Stages {
			if s.Title != "" {
				bucket.inner = append(bucket.inner, &item{kind: kindCaption, lines: []textLine{{text: s.Title}}})
			}
			for _, c := range s.Chains {
				bucket.inner = append(bucket.inner, chainItem(c))
			}
		}
		box.inner = append(box.inner, bucket)
	}
	box.stack()
	return box
}

func chainItem(chain []string) *item {
	it := &item{kind: kindHook}
	for i, name := range chain {
		if i > 0 {
			it.tooltip += ", then "
			name = "then " + name
		}
		it.tooltip += chain[i]
		it.lines = append(it.lines, textLine{text: name})
	}
	return it
}

// stack arranges the items of a box in one column, all with the width of the widest.
func (it *item) stack() {
	const gap = padding / 2
	y, width := titleHeight+boxPadding, textWidth(it.title)
	for _, in := range it.inner {
		if in.box {
			in.stack()
		} else {
			in.measure()
		}
		if in.kind == kindCaption {
			in.h -= padding
		}
		in.move(boxPadding, y)
		y += in.h + gap
		width = max(width, in.w)
	}
	for _, in := range it.inner {
		in.w = width
	}
	it.w, it.h = width+2*boxPadding, y+boxPadding-gap
}
