// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package graphview

import (
	"bufio"
	"fmt"
	"slices"
	"strings"

	"github.com/ordered-helm/helm/internal/hooktext"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/text"
)

// textWriter writes a view in FormatText.
type textWriter struct {
	*View
	planDiff
	out *bufio.Writer
	// after contains the edges of View.Plan and the removed ones, by the ID of Edge.Then.
	after map[string][]sequencer.Edge
	// layered contains the paths of the charts that have layers.
	layered map[string]bool
	// waits contains the external dependencies of each node and chart, by their first key.
	waits map[string][]externalDependency
	// hooksBefore contains the title of the hooks that run before the resources of a chart, by its path.
	hooksBefore map[string]string
}

// text writes the nodes in batches, between the hooks that run before and after them. A batch contains the nodes with the same Node.Level.
// Batches do not affect the order: deployment of a node starts as soon as the predecessors
// that are listed for it are ready.
func (v *View) text(out *bufio.Writer) error {
	edges := v.Plan.Edges()
	l := textWriter{View: v, planDiff: v.compare(edges), out: out, after: map[string][]sequencer.Edge{}, layered: chartsWithLayers(v.Plan)}
	for _, e := range append(edges, l.removedEdges...) {
		l.after[e.Then.ID()] = append(l.after[e.Then.ID()], e)
	}
	l.collectChartSteps()
	for _, line := range v.headings(l.planDiff) {
		fmt.Fprintln(out, line)
	}
	before, ofCharts, others := hooktext.Split(v.Hooks)
	if err := hooktext.Write(out, before); err != nil {
		return err
	}
	for i, level := range v.levels() {
		fmt.Fprintf(out, "\nbatch %d\n", i+1)
		for _, n := range level {
			l.writeNode(n)
		}
	}
	if len(l.removedNodes) > 0 {
		fmt.Fprintln(out, "\nremoved")
	}
	for _, n := range l.removedNodes {
		l.writeNode(n)
	}
	return hooktext.Write(out, slices.Concat(ofCharts, others))
}

// chartsWithLayers returns the paths of the charts that have layers.
func chartsWithLayers(p *sequencer.Plan) map[string]bool {
	charts := map[string]bool{}
	for _, n := range p.Nodes {
		charts[n.Chart] = charts[n.Chart] || !n.Unsequenced
	}
	return charts
}

// headings returns the first lines of a text or drawing: the numbers of resources, nodes and
// batches and, if View.CompareWith is set, the numbers of differences.
func (v *View) headings(d planDiff) []string {
	lines := []string{v.heading()}
	if v.CompareWith != nil {
		lines = append(lines, fmt.Sprintf("compared with %s: %s", v.CompareWith, d.counts(v.Plan)))
	}
	return lines
}

// heading returns a line with the numbers of resources, nodes and batches.
func (v *View) heading() string {
	resources := 0
	for _, n := range v.Plan.Nodes {
		resources += len(n.Resources)
	}
	name := v.Plan.Charts[0].Path
	if resources == 0 {
		return name + ": no resources"
	}
	return fmt.Sprintf("%s: %s in %s, %s", name,
		text.Count(resources, "resource"), text.Count(len(v.Plan.Nodes), "node"), text.Count(len(v.Plan.Levels()), "batch"))
}

// levels returns the nodes of each batch, or nil if the plan has no resources.
func (v *View) levels() [][]*sequencer.Node {
	if len(v.Plan.Nodes) == 1 && len(v.Plan.Nodes[0].Resources) == 0 {
		return nil // a chart that has only hooks
	}
	return v.Plan.Levels()
}

// writeNode writes a node with its resources, and those that were removed from it.
func (l *textWriter) writeNode(n *sequencer.Node) {
	c := l.nodes[n.ID()]
	fmt.Fprintf(l.out, "%s%s\n", changePrefix(c), n.ID())
	if c != removed {
		l.writeAfter(n)
		for _, r := range n.Resources {
			switch c, was := l.ofResource(n, r); c {
			case moved:
				fmt.Fprintf(l.out, "%s  - %s (was in %s)\n", changePrefix(c), r.ID, was)
			default:
				fmt.Fprintf(l.out, "%s  - %s\n", changePrefix(c), r.ID)
			}
		}
	}
	for _, r := range l.removedFrom[n.ID()] {
		fmt.Fprintf(l.out, "%s  - %s\n", changePrefix(removed), r.ID)
	}
}

// changePrefix returns the two characters that begin a line about something with change c.
func changePrefix(c change) string {
	switch c {
	case added:
		return "+ "
	case removed:
		return "- "
	case moved:
		return "> "
	}
	return "  "
}

// predecessor is a node or chart that must be ready before deployment of a node starts.
type predecessor struct {
	title   string
	change  change
	reasons []sequencer.Reason
}

// writeAfter writes the predecessors of a node in one line or, if it must also show reasons or
// changes, in one line each.
func (l *textWriter) writeAfter(n *sequencer.Node) {
	all := l.predecessors(n)
	titles := make([]string, len(all))
	changed := false
	for i, p := range all {
		titles[i] = p.title
		changed = changed || p.change != unchanged
	}
	if !l.Reasons && !changed {
		if len(all) > 0 {
			fmt.Fprintf(l.out, "    after: %s\n", strings.Join(titles, ", "))
		}
		return
	}
	for _, p := range all {
		fmt.Fprintf(l.out, "%s  after: %s\n", changePrefix(p.change), p.title)
		if !l.Reasons {
			continue
		}
		for _, r := range p.reasons {
			fmt.Fprintf(l.out, "      %s\n", reasonText(r))
		}
	}
}

// predecessors returns the nodes and charts that must be ready before node n: first those that
// the node declares, then those of its chart and of the charts that contain it. Predecessors
// that others imply are omitted, unless reasons are shown or they are new or removed.
func (l *textWriter) predecessors(n *sequencer.Node) []predecessor {
	var all []predecessor
	implicit := []sequencer.Reason{{Implicit: true}}
	if n.Unsequenced && l.layered[n.Chart] {
		all = append(all, predecessor{title: "the layers of " + n.Chart, change: l.nodes[n.ID()], reasons: implicit})
	}
	seen := map[string]int{}
	add := func(id string) {
		for _, e := range l.after[id] {
			c := l.edges[edgeKey(e)]
			if e.Reasons[0].Implicit || e.Implied && !l.Reasons && c == unchanged {
				continue
			}
			title := e.First.ID()
			if at, known := seen[title]; known {
				all[at].reasons = append(all[at].reasons, e.Reasons...)
				continue
			}
			seen[title] = len(all)
			all = append(all, predecessor{title: title, change: c, reasons: e.Reasons})
		}
	}
	addSteps := func(id, chart string) {
		if title := l.hooksBefore[chart]; title != "" {
			all = append(all, predecessor{title: title})
		}
		for _, e := range l.waits[id] {
			all = append(all, predecessor{title: e.title(), change: e.change, reasons: e.Reasons})
		}
	}
	add(n.ID())
	others := len(all)
	addSteps(n.ID(), "")
	if !l.Reasons && slices.ContainsFunc(all[:others], func(p predecessor) bool { return p.change != removed }) {
		return all // they imply the predecessors of the chart
	}
	add(sequencer.EdgeEnd{Chart: n.Chart, Own: true}.ID())
	implied := false // whether a sibling that must be ready first implies the steps of the charts that contain both
	for path := n.Chart; path != ""; path = parent(path) {
		id := sequencer.EdgeEnd{Chart: path}.ID()
		others := len(all)
		add(id)
		siblings := len(all) > others
		if !implied {
			addSteps(id, path)
		}
		implied = implied || siblings && !l.Reasons
	}
	return all
}

// collectChartSteps sets waits and hooksBefore.
func (l *textWriter) collectChartSteps() {
	l.waits, l.hooksBefore = map[string][]externalDependency{}, map[string]string{}
	for _, e := range l.external {
		l.waits[e.key()[0]] = append(l.waits[e.key()[0]], e)
	}
	_, ofCharts, _ := hooktext.Split(l.Hooks)
	for _, g := range hooktext.Groups(ofCharts) {
		if g.Before && g.Deploying {
			l.hooksBefore[g.Scope] = "the hooks of " + g.Scope + " that run before its resources"
		}
	}
}

// reasonText returns a line that names the declaration that causes an edge.
func reasonText(r sequencer.Reason) string {
	switch {
	case r.Implicit:
		return "the unlayered resources of a chart come after its layers"
	case r.Resource == "":
		return fmt.Sprintf("%s: %s: %s", r.File, r.Key, r.Value)
	}
	return fmt.Sprintf("%s: %s: %s: %s", r.File, r.Resource, r.Key, r.Value)
}

func parent(path string) string {
	i := strings.LastIndexByte(path, '/')
	return path[:max(i, 0)]
}
