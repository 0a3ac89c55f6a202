// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package graphview

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ordered-helm/helm/internal/hooktext"
	"github.com/ordered-helm/helm/internal/kind"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// picture contains what FormatDOT, FormatMermaid and FormatSVG draw: nested boxes, the nodes
// in them, and arrows. Both ends of an arrow are in the same box.
type picture struct {
	root   *item
	arrows []arrow
	hooks  []hooktext.Group
	title  string
	diff   planDiff
}

// item is a node of the deployment graph in a picture, or a box. A box contains other items,
// for example those of a chart.
type item struct {
	// id identifies the item in the output, for example "c0" for a chart or "n0" for a node.
	id string
	// box is true for a box, and inner contains the items in the box.
	box     bool
	inner   []*item
	title   string
	lines   []textLine // the lines below the title of a node
	tooltip string
	change  change
	kind    itemKind

	bounds           // set by picture.arrange
	routes []int     // for a box: the indexes of its arrows in all.routes
	all    *arranger // contains the routes
}

// itemKind says what an item shows. FormatSVG uses it as the CSS class. kindSingle is a node
// that consists of one resource, kindGroup a box that is not a chart, and kindBucket the
// hooks of one weight.
type itemKind string

const (
	kindChart     itemKind = "chart"
	kindGroup     itemKind = "group"
	kindLayer     itemKind = "layer"
	kindSingle    itemKind = "single"
	kindUnlayered itemKind = "unlayered"
	kindHooks     itemKind = "hooks"
	kindBucket    itemKind = "bucket"
	kindHook      itemKind = "hook"
	kindExternal  itemKind = "external"
	kindCaption   itemKind = "caption"
)

// textLine is a line of text in a node. change is that of the resource that the line names.
type textLine struct {
	text   string
	change change
}

// allLines returns the title and the lines of a node.
func (it *item) allLines() []string {
	lines := []string{it.title}
	for _, l := range it.lines {
		lines = append(lines, changeSign(l.change)+l.text)
	}
	return lines
}

// arrow points from the item that must be ready first to the item that waits for it.
type arrow struct {
	first, then *item
	reasons     []sequencer.Reason
	change      change
}

// maxLines is the maximum number of lines below the title of a node. maxTooltipLines is the
// maximum in a tooltip, not counting a last line such as "and 5 more".
const (
	maxLines        = 6
	maxTooltipLines = 40
)

// pictureBuilder builds the picture of a view.
type pictureBuilder struct {
	view   *View
	pic    *picture
	edges  []sequencer.Edge
	charts map[string]*item
	groups map[string]*item
	nodes  map[string]*item
	own    map[string][]*item // the nodes of each chart, without those of its subcharts
	// stepReasons contains the external dependency that an item shows.
	stepReasons map[*item]externalDependency
}

func (v *View) picture() *picture {
	edges := v.Plan.Edges()
	beforeAll, ofCharts, others := hooktext.Split(v.Hooks)
	p := &pictureBuilder{
		view: v, pic: &picture{title: v.Plan.Charts[0].Path, hooks: hooktext.Groups(slices.Concat(beforeAll, others)), diff: v.compare(edges)},
		charts: map[string]*item{}, groups: map[string]*item{}, nodes: map[string]*item{}, own: map[string][]*item{},
		stepReasons: map[*item]externalDependency{},
	}
	for _, e := range append(edges, p.pic.diff.removedEdges...) {
		if !e.Implied {
			p.edges = append(p.edges, e)
		}
	}
	p.makeBoxes()
	p.makeNodes()
	p.addExternalOfNodes(p.pic.diff.external)
	p.groupOwnResources()
	for _, e := range p.edges {
		first, then := p.itemAt(e.First), p.itemAt(e.Then)
		if first != nil && then != nil {
			p.pic.arrows = append(p.pic.arrows, arrow{first, then, e.Reasons, p.pic.diff.edges[edgeKey(e)]})
		}
	}
	p.addChartSteps(p.pic.diff.external, hooktext.Groups(ofCharts))
	p.removeEmptyBoxes()
	return p.pic
}

// makeBoxes creates a box for each chart, inside the box of its parent.
func (p *pictureBuilder) makeBoxes() {
	charts := p.view.Plan.Charts
	if p.view.CompareWith != nil {
		charts = append(charts[:len(charts):len(charts)], p.view.CompareWith.Plan.Charts...)
	}
	for i, c := range charts {
		if p.charts[c.Path] != nil {
			continue
		}
		name := c.Path[strings.LastIndexByte(c.Path, '/')+1:]
		box := &item{id: fmt.Sprintf("c%d", i), box: true, kind: kindChart, title: name, tooltip: "chart " + c.Path}
		if i >= len(p.view.Plan.Charts) {
			box.change = removed
		}
		p.charts[c.Path] = box
		switch outer := p.charts[parent(c.Path)]; {
		case outer != nil:
			outer.inner = append(outer.inner, box)
		case p.pic.root == nil:
			p.pic.root = box
		default: // View.CompareWith is the plan of another chart
			p.pic.root.inner = append(p.pic.root.inner, box)
		}
	}
}

func (p *pictureBuilder) makeNodes() {
	layered := chartsWithLayers(p.view.Plan)
	for _, n := range append(p.view.Plan.Nodes[:len(p.view.Plan.Nodes):len(p.view.Plan.Nodes)], p.pic.diff.removedNodes...) {
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
func (p *pictureBuilder) addResourceNames(it *item, n *sequencer.Node) {
	d := &p.pic.diff
	tooltip := []string{fmt.Sprintf("%s, batch %d", n.ID(), n.Level+1)}
	if it.change == removed {
		tooltip = []string{n.ID() + ", removed"}
	}
	var lines []textLine
	if it.change != removed {
		for _, r := range n.Resources {
			c, was := d.ofResource(n, r)
			text := r.ID.String()
			if c == moved {
				tooltip = append(tooltip, fmt.Sprintf("%s, was in %s", text, was))
			} else {
				tooltip = append(tooltip, text)
			}
			lines = append(lines, textLine{text, c})
		}
	}
	for _, r := range d.removedFrom[n.ID()] {
		tooltip = append(tooltip, r.ID.String()+", removed")
		lines = append(lines, textLine{r.ID.String(), removed})
	}
	if len(tooltip) > maxTooltipLines {
		tooltip = append(tooltip[:maxTooltipLines], fmt.Sprintf("and %d more", len(tooltip)-maxTooltipLines))
	}
	if len(lines) > maxLines {
		// Changed resources come first, then workloads, so that they are not cut off.
		lines = kind.WorkloadsFirst(lines, func(l textLine) string {
			resourceKind, _, _ := strings.Cut(l.text, "/")
			return resourceKind
		})
		slices.SortStableFunc(lines, func(x, y textLine) int { return boolOrder(x.change == unchanged) - boolOrder(y.change == unchanged) })
		lines = append(lines[:maxLines-1], textLine{text: fmt.Sprintf("and %d more", len(lines)-maxLines+1)})
	}
	if n.Layer == "" && !n.Unsequenced && len(lines) == 1 && lines[0].change == unchanged {
		lines = nil // the title already names the resource
	}
	it.lines, it.tooltip = lines, strings.Join(tooltip, "\n")
}

// groupOwnResources adds the nodes of each chart to the box of the chart. If several nodes
// of a chart wait for a subchart, they get a box of their own inside the box of the chart,
// so that one arrow can point to all of them.
func (p *pictureBuilder) groupOwnResources() {
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
		group := &item{id: "o" + chart.id[1:], box: true, kind: kindGroup, title: "own resources", tooltip: "resources of chart " + path, inner: nodes}
		chart.inner = append([]*item{group}, chart.inner...)
		p.groups[path] = group
	}
}

// itemAt returns the item that shows one end of an edge. It returns nil if the end stands
// for the own resources of a chart (those not in subcharts) and there are none.
func (p *pictureBuilder) itemAt(e sequencer.EdgeEnd) *item {
	switch {
	case e.Node != nil:
		return p.nodes[e.Node.ID()]
	case e.Own:
		return p.groups[e.Chart]
	}
	return p.charts[e.Chart]
}

// removeEmptyBoxes removes boxes that contain no items and have no arrows.
func (p *pictureBuilder) removeEmptyBoxes() {
	hasArrows := map[*item]bool{}
	for _, a := range p.pic.arrows {
		hasArrows[a.first], hasArrows[a.then] = true, true
	}
	var isEmpty func(it *item) bool
	isEmpty = func(it *item) bool {
		it.inner = slices.DeleteFunc(it.inner, isEmpty)
		return it.box && len(it.inner) == 0 && !hasArrows[it]
	}
	isEmpty(p.pic.root)
}

// reasonsText returns the tooltip of an arrow: a line for each declaration that causes it.
func reasonsText(reasons []sequencer.Reason) string {
	lines := make([]string, 0, len(reasons))
	for i, r := range reasons {
		if i == maxTooltipLines {
			lines = append(lines, fmt.Sprintf("and %d more", len(reasons)-maxTooltipLines))
			break
		}
		lines = append(lines, reasonText(r))
	}
	return strings.Join(lines, "\n")
}
