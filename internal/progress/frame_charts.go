// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ordered-helm/helm/internal/timeline"
)

// charts returns the lines for the nodes of an operation, grouped by chart. The charts are in
// the order in which the first node of each is deployed or deleted. A chart in which all nodes
// are finished has only one line. further is the number of lines that were not created.
func (s frameRenderer) charts(o *timeline.Operation) (lines []line, further int) {
	nodes := map[string][]*timeline.Span{}
	var paths []string
	isRemoving := removes(o)
	for _, n := range o.Spans {
		switch {
		case n.Kind != timeline.Deploy && n.Kind != timeline.External && n.Kind != timeline.Remove:
			continue
		case n.Kind != timeline.Remove && n.State == timeline.Done && isRemoving:
			continue
		}
		if nodes[n.Chart] == nil {
			paths = append(paths, n.Chart)
		}
		nodes[n.Chart] = append(nodes[n.Chart], n)
	}
	finished := newFinishedDependencies(o)
	shown := 0
	for i, path := range paths {
		if shown > s.height { // there is no space for more, and there can be thousands of nodes
			return lines, further + len(paths) - i
		}
		chart, more := s.chart(path, nodes[path], finished)
		further += more
		for _, l := range chart {
			if lines = append(lines, l); l.rank <= rankRunning {
				shown++
			}
		}
	}
	return lines, further
}

// finishedDependencies says which dependencies of waiting nodes are finished, because the
// view shows only the others. A dependency is a node or a whole chart.
type finishedDependencies struct {
	// nodes contains the IDs of finished nodes.
	nodes map[string]bool
	// unfinishedCharts contains the paths of charts that have unfinished nodes, including
	// those of their subcharts.
	unfinishedCharts map[string]bool
}

func newFinishedDependencies(o *timeline.Operation) finishedDependencies {
	m := finishedDependencies{nodes: map[string]bool{}, unfinishedCharts: map[string]bool{}}
	for _, n := range o.Spans {
		switch {
		case n.Kind != timeline.Deploy && n.Kind != timeline.External:
		case n.State == timeline.Done:
			m.nodes[n.ID] = true
		default:
			for path := n.Chart; path != "" && !m.unfinishedCharts[path]; path = path[:max(strings.LastIndexByte(path, '/'), 0)] {
				m.unfinishedCharts[path] = true
			}
		}
	}
	return m
}

// removes reports whether the operation has nodes to delete: as an uninstall does, or because
// resources are no longer in the chart.
func removes(o *timeline.Operation) bool {
	return slices.ContainsFunc(o.Spans, func(n *timeline.Span) bool { return n.Kind == timeline.Remove })
}

// chart returns the lines for the nodes of one chart. path is its path in the tree of
// charts, as in "shop/queue". further is the number of waiting nodes that have no line.
func (s frameRenderer) chart(path string, nodes []*timeline.Span, m finishedDependencies) (lines []line, further int) {
	const indent = "  "
	name := oneLine(path)
	c := newCounts(nodes)
	states := map[timeline.SpanState]int{}
	for _, n := range nodes {
		states[n.State]++
	}
	if states[timeline.Done] == len(nodes) {
		left := func() string { return fmt.Sprintf("%s%s %s %s", indent, s.good(s.done), name, s.faint(c.text())) }
		return []line{{rank: rankFinished, left: left, right: func() string { return s.faint(formatDuration(c.ended.Sub(c.began))) }}}, 0
	}
	if states[timeline.Waiting] == len(nodes) {
		return []line{{rank: rankWaiting, left: func() string {
			return fmt.Sprintf("%s%s %s%s", indent, s.faint(s.waiting), name, s.faint(s.after(nodes[0], m)))
		}}}, 0
	}
	r := rankRunning
	if states[timeline.Waiting]+states[timeline.Done] == len(nodes) {
		r = rankWaiting
	}
	lines = []line{{rank: r, left: func() string {
		return indent + s.busy(s.open) + " " + s.bold(name) + " " + s.faint(c.text())
	}}}
	waiting := 0
	for _, n := range nodes {
		switch n.State {
		case timeline.Done:
		case timeline.Waiting:
			if waiting++; waiting <= s.height {
				lines = append(lines, line{rank: rankWaiting, left: func() string {
					return fmt.Sprintf("%s  %s %s%s", indent, s.faint(s.waiting), s.faint(label(n)), s.faint(s.after(n, m)))
				}})
			}
		default:
			lines = append(lines, s.node(n, indent+"  ")...)
		}
	}
	return lines, max(waiting-s.height, 0)
}

const (
	// maxReasons is the maximum number of unready resources, or of unfinished dependencies,
	// that are shown for a node.
	maxReasons = 5
	// maxCauses is the maximum number of causes that are shown for a resource.
	maxCauses = 3
	// maxRows is the maximum number of rows of a terminal that a reason or an error takes.
	maxRows = 3
)

// label returns the text that names a node, or a wait for external dependencies, below its
// chart.
func label(n *timeline.Span) string {
	text := n.Label()
	if n.Kind == timeline.External {
		node, _, _ := strings.Cut(text, "(external dependencies)")
		if text = "external dependencies"; node != "" {
			text += " of " + strings.TrimSuffix(node, ":")
		}
	}
	if text != "" {
		return oneLine(text)
	}
	return "unlayered resources"
}

// after returns the text that lists the unfinished dependencies of the waiting node n, as in
// " after database, all of queue". It is empty if there are none.
func (s frameRenderer) after(n *timeline.Span, m finishedDependencies) string {
	var names []string
	for _, id := range n.Needs {
		if !m.nodes[id] && len(names) <= maxReasons {
			names = append(names, oneLine(strings.TrimPrefix(strings.TrimPrefix(id, n.Chart), ":")))
		}
	}
	for _, path := range n.NeedsCharts {
		if m.unfinishedCharts[path] && len(names) <= maxReasons {
			names = append(names, "all of "+oneLine(path))
		}
	}
	switch {
	case len(names) == 0:
		return ""
	case len(names) > maxReasons:
		names[maxReasons] = s.ellipsis
	}
	return " after " + strings.Join(names, ", ")
}
