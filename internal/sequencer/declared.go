// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import (
	"cmp"
	"slices"

	"github.com/ordered-helm/helm/internal/dag"
)

// Edge says that one end of it comes before the other, with what declares it.
type Edge struct {
	// First must be ready before Then may start.
	First, Then EdgeEnd
	// Reasons are what declares the edge, in a fixed order; at least one.
	Reasons []Reason
	// Implied is whether other edges say the same together.
	Implied bool
}

// EdgeEnd is a node, or all nodes of a chart.
type EdgeEnd struct {
	// Node is nil where the end is a chart.
	Node *Node
	// Chart is the path of the node's chart, or of the chart that is meant: with
	// all charts in it, unless Own.
	Chart string
	// Own is whether only the chart's own nodes are meant.
	Own bool
}

// ID names the end within its plan: a node by its ID, the whole of a chart as
// "all of chart", and its own nodes as "own of chart".
func (e EdgeEnd) ID() string {
	switch {
	case e.Node != nil:
		return e.Node.ID()
	case e.Own:
		return "own of " + e.Chart
	}
	return "all of " + e.Chart
}

// Reason says where an edge is declared.
type Reason struct {
	// File is the template or the Chart.yaml, as its path in the root chart.
	File string
	// Resource is the resource with the annotation, as in "Deployment/web"; empty
	// where the file is a Chart.yaml.
	Resource string
	// Key is the annotation, or says which entry of dependencies it is.
	Key string
	// Value is the name that stands there.
	Value string
	// Implicit is whether nothing declares the edge: what is in no layer comes
	// after the layers of its chart. All else is empty then.
	Implicit bool
}

// vertex is an end of an edge by its index: a node where it is above 0, as 1 more
// than its index, and otherwise a chart.
type vertex struct {
	node, chart int
	own         bool
}

// declaration is one reason of one edge.
type declaration struct {
	first, then vertex
	reason      Reason
}

func (d *declaration) renumber(nodes []int) {
	for _, v := range []*vertex{&d.first, &d.then} {
		if v.node > 0 {
			v.node = nodes[v.node-1] + 1
		}
	}
}

func (b *builder) declare(d declaration) { b.declarations = append(b.declarations, d) }

func (b *builder) ofNode(v int) vertex { return vertex{node: v + 1, chart: b.nodes[v].chart} }

// Edges lists the edges of the plan as they are declared, with their reasons:
// between layers of one chart, and between charts as wholes, so that there are
// not more of them than declarations. What is implicit is only listed where
// nothing else implies it. The order is that of Then, then of First: charts
// before nodes, both as in the plan.
func (p *Plan) Edges() []Edge {
	type key struct{ then, first int }
	number := func(v vertex) int {
		switch {
		case v.node > 0:
			return 2*len(p.Charts) + v.node - 1
		case v.own:
			return 2*v.chart + 1
		}
		return 2 * v.chart
	}
	sorted := slices.Clone(p.declarations)
	slices.SortStableFunc(sorted, func(x, y declaration) int {
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
		edges = append(edges, Edge{First: p.end(d.first), Then: p.end(d.then), Reasons: []Reason{d.reason}, Implied: !direct})
	}
	return edges
}

func (p *Plan) end(v vertex) EdgeEnd {
	end := EdgeEnd{Chart: p.Charts[v.chart].Path, Own: v.own}
	if v.node > 0 {
		end.Node = p.Nodes[v.node-1]
	}
	return end
}

func compareReasons(x, y Reason) int {
	return cmp.Or(cmp.Compare(x.File, y.File), cmp.Compare(x.Resource, y.Resource), cmp.Compare(x.Key, y.Key), cmp.Compare(x.Value, y.Value))
}
