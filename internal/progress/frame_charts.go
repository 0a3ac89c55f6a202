// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ordered-helm/helm/internal/timeline"
)

// charts returns the lines for the nodes of an operation, grouped by chart. A chart whose
// nodes are all finished has only one line.
func (s frameRenderer) charts(o *timeline.Operation) []line {
	var lines []line
	nodes := map[string][]*timeline.Span{}
	var paths []string
	isRemoving := removes(o)
	for _, n := range o.Spans {
		switch {
		case n.Kind != timeline.Deploy && n.Kind != timeline.Remove:
			continue
		case n.Kind == timeline.Deploy && n.State == timeline.Done && isRemoving:
			continue
		}
		if nodes[n.Chart] == nil {
			paths = append(paths, n.Chart)
		}
		nodes[n.Chart] = append(nodes[n.Chart], n)
	}
	slices.Sort(paths)
	met := newFinishedDependencies(o)
	shown := 0
	for i, path := range paths {
		if shown > s.height { // there is no space for more, and there could be thousands
			return append(lines, line{rank: over, left: fixedText(""), more: len(paths) - i - 1})
		}
		for _, l := range s.chart(path, nodes[path], met) {
			if lines = append(lines, l); l.rank <= running {
				shown++
			}
		}
	}
	return lines
}

// finishedDependencies says which dependencies of waiting nodes are finished, so that the
// view shows only the others. A dependency is a node or a whole chart.
type finishedDependencies struct {
	// nodes contains the IDs of finished nodes.
	nodes map[string]bool
	// open contains the paths of charts with unfinished nodes, in the chart or its
	// subcharts.
	open map[string]bool
}

func newFinishedDependencies(o *timeline.Operation) finishedDependencies {
	m := finishedDependencies{nodes: map[string]bool{}, open: map[string]bool{}}
	for _, n := range o.Spans {
		switch {
		case n.Kind != timeline.Deploy:
		case n.State == timeline.Done:
			m.nodes[n.ID] = true
		default:
			for path := n.Chart; path != "" && !m.open[path]; path = path[:max(strings.LastIndexByte(path, '/'), 0)] {
				m.open[path] = true
			}
		}
	}
	return m
}

// removes reports whether the operation deletes resources: as an uninstall, or because they
// are no longer in the chart.
func removes(o *timeline.Operation) bool {
	return slices.ContainsFunc(o.Spans, func(n *timeline.Span) bool { return n.Kind == timeline.Remove })
}

// chart returns the lines for the nodes of the chart at path. The chart is shown with the
// last part of its path, and is indented by its depth in the tree of charts.
func (s frameRenderer) chart(path string, nodes []*timeline.Span, m finishedDependencies) []line {
	depth := strings.Count(path, "/")
	indent := strings.Repeat("  ", 1+min(depth, s.width/16))
	name := path[strings.LastIndexByte(path, '/')+1:]
	c := newCounts(nodes)
	if c.done == len(nodes) {
		left := func() string { return fmt.Sprintf("%s%s %s %s", indent, s.good(s.done), name, s.faint(c.text())) }
		return []line{{rank: over, left: left, right: func() string { return s.faint(formatDuration(c.ended.Sub(c.began))) }}}
	}
	if c.waiting == len(nodes) {
		return []line{{rank: coming, left: func() string {
			return fmt.Sprintf("%s%s %s%s", indent, s.faint(s.waiting), name, s.faint(s.after(nodes[0], m)))
		}}}
	}
	r := running
	if c.waiting+c.done == len(nodes) {
		r = coming
	}
	lines := []line{{rank: r, left: func() string {
		return indent + s.busy(s.open) + " " + s.bold(name) + " " + s.faint(c.text())
	}}}
	waiting := 0
	for _, n := range nodes {
		switch n.State {
		case timeline.Done:
		case timeline.Waiting:
			if waiting++; waiting <= maxWaitingNodes {
				lines = append(lines, line{rank: coming, left: func() string {
					return fmt.Sprintf("%s  %s %s%s", indent, s.faint(s.waiting), s.faint(label(n)), s.faint(s.after(n, m)))
				}})
			}
		default:
			lines = append(lines, s.node(n, indent+"  ")...)
		}
	}
	if more := waiting - maxWaitingNodes; more > 0 {
		lines = append(lines, line{rank: coming, left: func() string {
			return fmt.Sprintf("%s  %s", indent, s.faint(fmt.Sprintf("%s %d more waiting", s.cut, more)))
		}})
	}
	return lines
}

// maxWaitingNodes is the maximum number of waiting nodes that are shown for a chart.
// maxReasons is the maximum number of resources or dependencies that are shown for a node.
const (
	maxWaitingNodes = 3
	maxReasons      = 5
)

// label returns the name of a node within its chart.
func label(n *timeline.Span) string {
	if text := n.Label(); text != "" {
		return oneLine(text)
	}
	return "unlayered resources"
}

// after returns the text " after ..." that lists the unfinished dependencies of the waiting
// node n.
func (s frameRenderer) after(n *timeline.Span, m finishedDependencies) string {
	var names []string
	for _, id := range n.Needs {
		if !m.nodes[id] && len(names) <= maxReasons {
			names = append(names, oneLine(strings.TrimPrefix(strings.TrimPrefix(id, n.Chart), ":")))
		}
	}
	for _, path := range n.NeedsAll {
		if m.open[path] && len(names) <= maxReasons {
			names = append(names, "all of "+path[strings.LastIndexByte(path, '/')+1:])
		}
	}
	switch {
	case len(names) == 0:
		return ""
	case len(names) > maxReasons:
		names[maxReasons] = s.cut
	}
	return " after " + strings.Join(names, ", ")
}
