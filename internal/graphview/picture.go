// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package graphview

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ordered-helm/helm/internal/sequencer"
)

// picture is the content of a drawing in FormatDOT, FormatMermaid or FormatSVG: nested
// boxes, the nodes in them, and arrows. Both ends of an arrow are in the same box.
type picture struct {
	root   *item
	arrows []arrow
	hooks  []hookGroup
	title  string
	diff   diff
}

// item is a node of a picture, or a box. A box contains other items, for example those of a
// chart.
type item struct {
	// id identifies the item in the output, as in "c0" for a chart or "n0" for a node.
	id string
	// box says whether the item is a box. inner contains the items in the box.
	box   bool
	inner []*item
	title string
	// lines contains the lines below the title of a node.
	lines []line
	// about is the tooltip.
	about  string
	change change

	// kind selects how the item is drawn.
	kind kind

	shape  // set by the layout
	routes []int
	all    *arranger // contains the routes
}

// kind says what an item stands for, and so selects how FormatSVG draws it. kindSingle is
// for a node with a single resource, kindGroup for a box without a chart, and kindBucket for
// the hooks of one weight.
type kind string

const (
	kindChart     kind = "chart"
	kindGroup     kind = "group"
	kindLayer     kind = "layer"
	kindSingle    kind = "single"
	kindUnlayered kind = "unlayered"
	kindHooks     kind = "hooks"
	kindBucket    kind = "bucket"
	kindHook      kind = "hook"
	kindCaption   kind = "caption"
)

// line is a line of text in a node, with the change of the resource that it names.
type line struct {
	text   string
	change change
}

// allLines returns the title and the lines of a node.
func (it *item) allLines() []string {
	lines := []string{it.title}
	for _, l := range it.lines {
		lines = append(lines, markOf(l.change)+l.text)
	}
	return lines
}

// arrow points from the item that must be ready first to the item that waits for it.
type arrow struct {
	first, then *item
	reasons     []sequencer.Reason
	change      change
}

// maxLines is the maximum number of resources that are named in a node, and maxAbout in its
// tooltip.
const (
	maxLines = 6
	maxAbout = 40
)

// painter builds the picture of a view.
type painter struct {
	view   *View
	pic    *picture
	edges  []sequencer.Edge
	charts map[string]*item
	groups map[string]*item
	nodes  map[string]*item
	own    map[string][]*item // the nodes of each chart
}

func (v *View) picture() *picture {
	edges := v.Plan.Edges()
	p := &painter{
		view: v, pic: &picture{title: v.Plan.Charts[0].Path, hooks: hookGroups(v.Hooks), diff: v.compare(edges)},
		charts: map[string]*item{}, groups: map[string]*item{}, nodes: map[string]*item{}, own: map[string][]*item{},
	}
	for _, e := range append(edges, p.pic.diff.goneEdges...) {
		if !e.Implied {
			p.edges = append(p.edges, e)
		}
	}
	p.makeBoxes()
	p.makeNodes()
	p.groupOwnResources()
	for _, e := range p.edges {
		first, then := p.itemAt(e.First), p.itemAt(e.Then)
		if first != nil && then != nil {
			p.pic.arrows = append(p.pic.arrows, arrow{first, then, e.Reasons, p.pic.diff.edges[edgeKey(e)]})
		}
	}
	p.prune()
	return p.pic
}

// makeBoxes creates a box for each chart, inside the box of its parent.
func (p *painter) makeBoxes() {
	charts := p.view.Plan.Charts
	if p.view.Before != nil {
		charts = append(charts[:len(charts):len(charts)], p.view.Before.Plan.Charts...)
	}
	for i, c := range charts {
		if p.charts[c.Path] != nil {
			continue
		}
		name := c.Path[strings.LastIndexByte(c.Path, '/')+1:]
		box := &item{id: fmt.Sprintf("c%d", i), box: true, kind: kindChart, title: name, about: "chart " + c.Path}
		if i >= len(p.view.Plan.Charts) {
			box.change = gone
		}
		p.charts[c.Path] = box
		switch outer := p.charts[parent(c.Path)]; {
		case outer != nil:
			outer.inner = append(outer.inner, box)
		case p.pic.root == nil:
			p.pic.root = box
		default: // the compared release is of another chart
			p.pic.root.inner = append(p.pic.root.inner, box)
		}
	}
}

func (p *painter) makeNodes() {
	layered := chartsWithLayers(p.view.Plan)
	for _, n := range append(p.view.Plan.Nodes[:len(p.view.Plan.Nodes):len(p.view.Plan.Nodes)], p.pic.diff.goneNodes...) {
		it := &item{id: fmt.Sprintf("n%d", len(p.nodes)), kind: kindLayer, title: n.Layer, change: p.pic.diff.nodes[n.ID()]}
		switch {
		case n.Unsequenced && layered[n.Chart]:
			it.kind, it.title = kindUnlayered, "unlayered"
		case n.Unsequenced:
			it.kind, it.title = kindUnlayered, "resources"
		case n.Layer == "":
			it.kind, it.title = kindSingle, n.Resources[0].ID.String()
		}
		p.addResourceNames(it, n)
		p.nodes[n.ID()] = it
		p.own[n.Chart] = append(p.own[n.Chart], it)
	}
}

// addResourceNames adds the names of the resources of node n to the lines and the tooltip
// of its item.
func (p *painter) addResourceNames(it *item, n *sequencer.Node) {
	d := &p.pic.diff
	about := []string{fmt.Sprintf("%s, batch %d", n.ID(), n.Level+1)}
	if it.change == gone {
		about = []string{n.ID() + ", removed"}
	}
	var lines []line
	if it.change != gone {
		for _, r := range n.Resources {
			c, was := d.ofResource(n, r)
			text := r.ID.String()
			if c == moved {
				about = append(about, fmt.Sprintf("%s, was in %s", text, was))
			} else {
				about = append(about, text)
			}
			lines = append(lines, line{text, c})
		}
	}
	for _, r := range d.goneFrom[n.ID()] {
		about = append(about, r.ID.String()+", removed")
		lines = append(lines, line{r.ID.String(), gone})
	}
	if len(about) > maxAbout {
		about = append(about[:maxAbout], fmt.Sprintf("and %d more", len(about)-maxAbout))
	}
	if len(lines) > maxLines {
		// Changed resources come first, so that they are not cut off.
		slices.SortStableFunc(lines, func(x, y line) int { return boolOrder(x.change == unchanged) - boolOrder(y.change == unchanged) })
		lines = append(lines[:maxLines-1], line{text: fmt.Sprintf("and %d more", len(lines)-maxLines+1)})
	}
	if n.Layer == "" && !n.Unsequenced && len(lines) == 1 && lines[0].change == unchanged {
		lines = nil // the title already names the resource
	}
	it.lines, it.about = lines, strings.Join(about, "\n")
}

// groupOwnResources adds the nodes of each chart to the box of the chart. If they have to
// wait for subcharts and there are several, they are put into a box inside it, so that one
// arrow points to all of them.
func (p *painter) groupOwnResources() {
	gathered := map[string]bool{}
	for _, e := range p.edges {
		if e.Then.Own {
			gathered[e.Then.Chart] = true
		}
	}
	for path, nodes := range p.own {
		chart := p.charts[path]
		if !gathered[path] || len(nodes) < 2 {
			chart.inner = append(nodes, chart.inner...)
			if gathered[path] {
				p.groups[path] = nodes[0]
			}
			continue
		}
		group := &item{id: "o" + chart.id[1:], box: true, kind: kindGroup, title: "own resources", about: "resources of chart " + path, inner: nodes}
		chart.inner = append([]*item{group}, chart.inner...)
		p.groups[path] = group
	}
}

// itemAt returns the item at the end e of an edge. It returns nil if e stands for the
// resources of a chart itself, without its subcharts, and there are none.
func (p *painter) itemAt(e sequencer.EdgeEnd) *item {
	switch {
	case e.Node != nil:
		return p.nodes[e.Node.ID()]
	case e.Own:
		return p.groups[e.Chart]
	}
	return p.charts[e.Chart]
}

// prune removes empty boxes that no arrow begins or ends at.
func (p *painter) prune() {
	touched := map[*item]bool{}
	for _, a := range p.pic.arrows {
		touched[a.first], touched[a.then] = true, true
	}
	var isEmpty func(it *item) bool
	isEmpty = func(it *item) bool {
		it.inner = slices.DeleteFunc(it.inner, isEmpty)
		return it.box && len(it.inner) == 0 && !touched[it]
	}
	isEmpty(p.pic.root)
}

// reasonsText returns the tooltip of an arrow: a line for each place that declares it.
func reasonsText(reasons []sequencer.Reason) string {
	lines := make([]string, 0, len(reasons))
	for i, r := range reasons {
		if i == maxAbout {
			lines = append(lines, fmt.Sprintf("and %d more", len(reasons)-maxAbout))
			break
		}
		lines = append(lines, reasonText(r))
	}
	return strings.Join(lines, "\n")
}
