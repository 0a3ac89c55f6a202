// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package graphview

import (
	"fmt"

	"github.com/ordered-helm/helm/internal/graphview/layered"
)

// compose places the root chart in the middle, the hooks that run before it on its left,
// and the other hooks on its right. Above them it leaves space for the given number of
// headings. It returns the boxes and arrows to draw, and the size of the drawing.
func (p *picture) compose(headings int) ([]*item, []route, layered.Size) {
	routes := p.arrange()
	x, top := boxPadding, 2*boxPadding+lineHeight*float64(headings)
	var before, after []*item
	boxes := make([]*item, len(p.hooks))
	for i, g := range p.hooks {
		boxes[i] = g.item(fmt.Sprintf("h%d", i))
		if g.before {
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
		if g.deploying {
			routes = append(routes, p.sideRoute(boxes[i], g.before))
		}
	}
	items := append(append(before, p.root), after...)
	return items, routes, layered.Size{W: x - 2*boxPadding, H: top + height + boxPadding}
}

// sideRoute returns the arrow between the root chart and a box of hooks. If before is true,
// it points from the hooks to the chart, otherwise from the chart to the hooks.
func (p *picture) sideRoute(hooks *item, before bool) route {
	first, then := p.root, hooks
	if before {
		first, then = hooks, p.root
	}
	middle := func(it *item) float64 {
		return min(hooks.y+hooks.h/2, it.y+it.h-boxPadding)
	}
	return route{arrow: &arrow{first: first, then: then}, side: true, points: []layered.Point{
		{X: first.x + first.w, Y: middle(first)}, {X: first.x + first.w, Y: middle(first)}, {X: then.x, Y: middle(then)},
	}}
}

// item returns a box with the hooks of the group, with an inner box for each weight.
func (g hookGroup) item(id string) *item {
	box := &item{id: id, box: true, kind: kindHooks, title: g.title(), about: g.title()}
	for _, b := range g.buckets {
		bucket := &item{box: true, kind: kindBucket, title: b.title, about: g.title() + ", " + b.title}
		for _, s := range b.stages {
			if s.title != "" {
				bucket.inner = append(bucket.inner, &item{kind: kindCaption, lines: []line{{text: s.title}}})
			}
			for _, c := range s.chains {
				bucket.inner = append(bucket.inner, s.chainItem(c))
			}
		}
		box.inner = append(box.inner, bucket)
	}
	box.stack()
	return box
}

func (s hookStage) chainItem(chain []string) *item {
	it := &item{kind: kindHook}
	for i, name := range chain {
		if i > 0 {
			it.about += ", then "
			name = "then " + name
		}
		it.about += chain[i]
		it.lines = append(it.lines, line{text: name})
	}
	return it
}

// stack places the items of a box below each other, and makes all of them as wide as the
// widest.
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
