// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import (
	"cmp"
	"slices"

	"github.com/ordered-helm/helm/internal/dag"
)

// Edge is a declared dependency, for the commands that show a plan. It leads from a node or
// a whole chart to another, and has the declarations that are the reason for it.
type Edge struct {
	// First must be ready before deployment of Then starts.
	First, Then EdgeEnd
	// Reasons has at least one element. The order is deterministic.
	Reasons []Reason
	// Implied reports whether the order would be the same without this edge, because other
	// edges have the same effect.
	Implied bool
}

// EdgeEnd is one side of an Edge: a single node, or all nodes of a chart.
type EdgeEnd struct {
	// Node is nil if the end is a chart.
	Node *Node
	// Chart is the path of a chart. If Node is set, it is the chart of that node. Otherwise
	// the end is this chart, including its subcharts unless Own is set.
	Chart string
	// Own reports whether the end is a chart without its subcharts.
	Own bool
}

// ID identifies the end in its plan: the ID of a node, "all of chart" for a chart with
// its subcharts, or "own of chart" without them.
func (e EdgeEnd) ID() string {
	switch {
	case e.Node != nil:
		return e.Node.ID()
	case e.Own:
		return "own of " + e.Chart
	}
	return "all of " + e.Chart
}

// Reason says which declaration in the charts causes an edge.
type Reason struct {
	// File is the template or Chart.yaml with the declaration, as a path that begins with
	// the root chart.
	File string
	// Resource is the annotated resource, for example "Deployment/web". It is empty if the
	// file is a Chart.yaml.
	Resource string
	// Key is the annotation. If an entry under "dependencies" in Chart.yaml declares the
	// edge, it is "depends-on of dependency" and the name of that entry.
	Key string
	// Value is the layer or subchart that the declaration names.
	Value string
	// Implicit reports whether there is no declaration, because the edge follows from the
	// rule that the unlayered resources of a chart come after its layers. The other fields
	// are empty then.
	Implicit bool
}

// end is one side of a declaration. If node is nil, it is a whole chart, without its
// subcharts if own is set.
type end struct {
	chart *draftChart
	node  *draftNode
	own   bool
}

func nodeEnd(n *draftNode) end { return end{chart: n.chart, node: n} }

// declaration is a declared dependency with one reason, between ends of type end while the
// plan is built, and of type EdgeEnd in the plan. Plan.Edges combines declarations with
// equal ends into one Edge.
type declaration[End end | EdgeEnd] struct {
	first, then End
	reason      Reason
}

func (b *builder) declare(first, then end, reason Reason) {
	b.declarations = append(b.declarations, declaration[end]{first, then, reason})
}

func (e end) planned() EdgeEnd {
	if e.node != nil {
		return EdgeEnd{Chart: e.chart.path, Node: e.node.planned}
	}
	return EdgeEnd{Chart: e.chart.path, Own: e.own}
}

// Edges returns the declared dependencies of the plan, with their reasons. They connect
// nodes of one chart, or whole charts. An implicit edge is left out if other edges have the
// same effect. The edges are sorted by Then, then by First: charts before nodes, each in
// the order of the plan.
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
	slices.SortStableFunc(sorted, func(x, y declaration[EdgeEnd]) int {
		return cmp.Or(cmp.Compare(number(x.then), number(y.then)), cmp.Compare(number(x.first), number(y.first)), compareReasons(x.reason, y.reason))
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

func compareReasons(x, y Reason) int {
	return slices.Compare([]string{x.File, x.Resource, x.Key, x.Value}, []string{y.File, y.Resource, y.Key, y.Value})
}
