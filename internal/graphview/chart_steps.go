// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package graphview

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ordered-helm/helm/internal/hooktext"
)

// addChartSteps draws, in the box of each chart, what happens before and after its resources: the wait for the external
// dependencies of the chart, and the hooks whose scope it is. The resources get a box of their own, so that one
// arrow can point to or from all of them. It must be called last, because it moves the items of a chart.
func (p *pictureBuilder) addChartSteps(external []externalDependency, hooks []hooktext.Group) {
	before, after, others := map[string][]*item{}, map[string][]*item{}, map[string][]*item{}
	waits := map[string][]*item{}
	for i, e := range external {
		if e.node != nil {
			continue
		}
		it := externalItem(e, i)
		waits[e.chart] = append(waits[e.chart], it)
		p.stepReasons[it] = e
	}
	for i, g := range hooks {
		it := chartHookItem(g, i)
		switch {
		case !g.Deploying:
			others[g.Scope] = append(others[g.Scope], it)
		case g.Before:
			before[g.Scope] = append(before[g.Scope], it)
		default:
			after[g.Scope] = append(after[g.Scope], it)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(p.charts)) {
		chart := p.charts[path]
		stages := [][]*item{waits[path], before[path], nil, after[path]}
		if len(waits[path])+len(before[path])+len(after[path])+len(others[path]) == 0 {
			continue
		}
		resources := &item{id: "r" + chart.id[1:], box: true, kind: kindGroup, title: "resources", tooltip: "resources of chart " + path + " and its subcharts", inner: chart.inner}
		stages[2] = []*item{resources}
		chart.inner = nil
		for _, s := range stages {
			chart.inner = append(chart.inner, s...)
		}
		chart.inner = append(chart.inner, others[path]...)
		p.connect(stages)
	}
}

// addExternalOfNodes draws each external dependency of a node beside the node.
func (p *pictureBuilder) addExternalOfNodes(external []externalDependency) {
	for i, e := range external {
		if e.node == nil || p.nodes[e.node.ID()] == nil {
			continue
		}
		it := externalItem(e, i)
		p.own[e.node.Chart] = append(p.own[e.node.Chart], it)
		p.pic.arrows = append(p.pic.arrows, arrow{it, p.nodes[e.node.ID()], e.Reasons, e.change})
	}
}

// connect draws arrows from each item of a stage to each of the next stage that has items.
func (p *pictureBuilder) connect(stages [][]*item) {
	var last []*item
	for _, stage := range stages {
		for _, first := range last {
			for _, then := range stage {
				e := p.stepReasons[first]
				p.pic.arrows = append(p.pic.arrows, arrow{first: first, then: then, reasons: e.Reasons, change: e.change})
			}
		}
		if len(stage) > 0 {
			last = stage
		}
	}
}

// externalItem returns the item that shows an external dependency.
func externalItem(e externalDependency, number int) *item {
	tooltip := "external dependency " + e.Need.String()
	if e.timeout > 0 {
		tooltip += fmt.Sprintf(", at most %s", e.timeout)
	}
	return &item{id: fmt.Sprintf("e%d", number), kind: kindExternal, title: e.title(), tooltip: tooltip, change: e.change}
}

// chartHookItem returns the item that shows hooks with the scope of a chart.
func chartHookItem(g hooktext.Group, number int) *item {
	it := &item{id: fmt.Sprintf("s%d", number), kind: kindHook, title: g.ShortTitle(), tooltip: g.Title()}
	var lines []string
	for _, b := range g.Buckets {
		lines = append(lines, b.Lines()...)
	}
	it.tooltip += "\n" + strings.Join(lines[:min(len(lines), maxTooltipLines)], "\n")
	if len(lines) > maxLines {
		lines = append(lines[:maxLines-1], fmt.Sprintf("and %d more", len(lines)-maxLines+1))
	}
	for _, l := range lines {
		it.lines = append(it.lines, textLine{text: l})
	}
	return it
}
