// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import (
	"cmp"
	"slices"

	"github.com/ordered-helm/helm/internal/dag"
)

// Edge is a declared dependency between two nodes or two whole charts, for the commands
// that show a plan.
type Edge struct {
	// Then is deployed only when First is ready.
	First, Then EdgeEnd
	// Reasons lists the declarations of the edge, at least one, in a deterministic order.
	Reasons []Reason
	// Implied reports whether the order would be the same without this edge, because other
	// edges require it too.
	Implied bool
}

// EdgeEnd is one end of an Edge: a single node, or all nodes of a chart.
type EdgeEnd struct {
	// Node is the node, or nil if the end is a chart.
	Node *Node
	// Chart is the path of a chart. If Node is set, the node belongs to this chart. Otherwise,
	// the end consists of all nodes of the chart and, unless Own is set, of its subcharts.
	Chart string
	// Own reports whether the end is a chart without its subcharts.
	Own bool
}

// ID identifies the end in its plan: the ID of a node, "all of CHART" for a chart with its
// subcharts, or "own of CHART" for a chart without them.
func (e EdgeEnd) ID() string {
	switch {
	case e.Node != nil:
		return e.Node.ID()
	case e.Own:
		return "own of " + e.Chart
	}
	return "all of " + e.Chart
}

// draftEnd is an EdgeEnd while Build computes the plan. Its fields have the same meaning.
type draftEnd struct {
	chart *draftChart
	node  *draftNode
	own   bool
}

func nodeEnd(n *draftNode) draftEnd { return draftEnd{chart: n.chart, node: n} }

// edgeDeclaration is a single declaration of an Edge. The type of its ends is draftEnd while
// Build computes the plan, and EdgeEnd in the plan.
type edgeDeclaration[End draftEnd | EdgeEnd] struct {
	first, then End
	reason      Reason
}

func (b *builder) declare(first, then draftEnd, reason Reason) {
	b.declarations = append(b.declarations, edgeDeclaration[draftEnd]{first, then, reason})
}

func (e draftEnd) planned() EdgeEnd {
	if e.node != nil {
		return EdgeEnd{Chart: e.chart.Path, Node: e.node.planned}
	}
	return EdgeEnd{Chart: e.chart.Path, Own: e.own}
}

// Edges returns the declared dependencies of the plan, between nodes of one chart or
// between whole charts, each with all its declarations. An implicit edge is omitted if
// other edges require the same order. The edges are sorted by Then, and those with equal
// Then by First: charts before nodes, each in the order of the plan.
func (p *Plan) Edges() []Edge {
	type key struct{ then, first int }
	charts := map[string]int{}
	for i, c := range p.Charts {
		charts[c.Path] = 2 * i
	}
	number := func(e EdgeEnd) int {
		switch {
		case e.Node != nil:
			return 2*len(p.Charts) + e.Node.index
		case e.Own:
			return charts[e.Chart] + 1
		}
		return charts[e.Chart]
	}
	sorted := slices.Clone(p.declarations)
	slices.SortStableFunc(sorted, func(x, y edgeDeclaration[EdgeEnd]) int {
		return cmp.Or(cmp.Compare(number(x.then), number(y.then)), cmp.Compare(number(x.first), number(y.first)), x.reason.Compare(y.reason))
	})
	graph := dag.New(2*len(p.Charts) + len(p.Nodes))
	for _, d := range sorted {
		graph.AddEdge(number(d.then), number(d.first))
	}
	graph = graph.Reduced()
	var edges []Edge
	var last key
	for _, d := range sorted {
		k := key{number(d.then), number(d.first)}
		if n := len(edges); n > 0 && k == last {
			if e := &edges[n-1]; e.Reasons[len(e.Reasons)-1] != d.reason {
				e.Reasons = append(e.Reasons, d.reason)
			}
			continue
		}
		_, direct := slices.BinarySearch(graph.Dependencies(k.then), k.first)
		if !direct && d.reason.Implicit {
			continue
		}
		last = k
		edges = append(edges, Edge{First: d.first, Then: d.then, Reasons: []Reason{d.reason}, Implied: !direct})
	}
	return edges
}
