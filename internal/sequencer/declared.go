// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import (
	"cmp"
	"slices"

	"github.com/ordered-helm/helm/internal/dag"
)

// Edge is a dependency between two ends, with its reasons.
type Edge struct {
	// First must be ready before Then starts.
	First, Then EdgeEnd
	// Reasons are the declarations of the edge, in a deterministic order. There is at
	// least one.
	Reasons []Reason
	// Implied is whether other edges together imply this one.
	Implied bool
}

// EdgeEnd is a node, or all nodes of a chart.
type EdgeEnd struct {
	// Node is nil if the end is a chart.
	Node *Node
	// Chart is the path of the chart of the node, or of the chart that is the end. That
	// includes its subcharts unless Own is set.
	Chart string
	// Own is whether the end excludes the subcharts.
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

// Reason is a declaration of an edge.
type Reason struct {
	// File is the template or Chart.yaml, as a path in the root chart.
	File string
	// Resource is the resource with the annotation, as in "Deployment/web". It is empty
	// if the file is a Chart.yaml.
	Resource string
	// Key is the annotation, or names the entry of the dependencies.
	Key string
	// Value is the name that is declared.
	Value string
	// Implicit is whether the edge is not declared: the unlayered resources of a chart
	// come after its layers. The other fields are empty then.
	Implicit bool
}

// vertex is an end of an edge, by index. If node is positive, the end is the node with
// index node-1, otherwise it is a chart.
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

func (b *builder) nodeVertex(v int) vertex { return vertex{node: v + 1, chart: b.nodes[v].chart} }

// Edges returns the declared edges of the plan, with their reasons: between layers of a
// chart, and between whole charts. Implicit edges are returned only if no other edges
// imply them. The edges are sorted by Then, then by First: charts before nodes, in the
// order of the plan.
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
