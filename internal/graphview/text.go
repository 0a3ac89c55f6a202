// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package graphview shows a plan to people.
package graphview

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ordered-helm/helm/pkg/sequencer"
)

// Text writes the plan as batches of nodes: what is in one batch may deploy at
// the same time, each node as soon as what it is said to come after is ready.
func Text(w io.Writer, p *sequencer.Plan) error {
	out := bufio.NewWriter(w)
	v := view{charts: map[string]*sequencer.PlannedChart{}, layered: map[string]bool{}}
	for _, c := range p.Charts {
		v.charts[c.Path] = c
	}
	for _, n := range p.Nodes {
		v.layered[n.Chart] = v.layered[n.Chart] || !n.Unsequenced
	}
	levels := p.Levels()
	resources := 0
	for _, n := range p.Nodes {
		resources += len(n.Resources)
	}
	fmt.Fprintf(out, "%s: %s in %s, %s\n", p.Charts[0].Path,
		count(resources, "resource"), count(len(p.Nodes), "node"), count(len(levels), "batch"))
	for i, level := range levels {
		fmt.Fprintf(out, "\nbatch %d\n", i+1)
		for _, n := range level {
			v.writeNode(out, n)
		}
	}
	return out.Flush()
}

// view knows what is asked of a plan more than once.
type view struct {
	charts map[string]*sequencer.PlannedChart
	// layered are the charts that have nodes besides the unsequenced one.
	layered map[string]bool
}

func (v view) writeNode(out io.Writer, n *sequencer.Node) {
	fmt.Fprintf(out, "  %s\n", n.ID())
	if after := v.predecessors(n); len(after) > 0 {
		fmt.Fprintf(out, "    after: %s\n", strings.Join(after, ", "))
	}
	for _, r := range n.Resources {
		fmt.Fprintf(out, "    - %s\n", r.ID)
	}
}

// predecessors says what a node comes after, as it was declared.
func (v view) predecessors(n *sequencer.Node) []string {
	var after []string
	if n.Unsequenced && v.layered[n.Chart] {
		after = append(after, "the layers of "+n.Chart)
	}
	for _, layer := range n.DependsOn {
		after = append(after, n.Chart+":"+layer)
	}
	subtrees := slices.Clone(v.charts[n.Chart].OwnAfter)
	for path := n.Chart; path != ""; path = parent(path) {
		subtrees = append(subtrees, v.charts[path].After...)
	}
	slices.Sort(subtrees)
	for _, path := range slices.Compact(subtrees) {
		after = append(after, "all of "+path)
	}
	return after
}

func parent(path string) string {
	i := strings.LastIndexByte(path, '/')
	return path[:max(i, 0)]
}

func count(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case strings.HasSuffix(what, "ch"):
		return fmt.Sprintf("%d %ses", n, what)
	}
	return fmt.Sprintf("%d %ss", n, what)
}
