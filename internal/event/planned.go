// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package event

import (
	"slices"
	"strings"

	"github.com/ordered-helm/helm/internal/sequencer"
)

// PlannedNode describes a node, a set of resources that are deployed or deleted together,
// in an event of type Planned or Removing.
type PlannedNode struct {
	// ID is the name of the node in events.
	ID string
	// Chart is the path of the chart that declares the node. Layer is the layer of the
	// node; empty for unlayered resources.
	Chart, Layer string
	// After has the IDs of the nodes of its chart that must be ready before it. AfterCharts
	// has the paths of the charts whose resources must all be ready before it. Both are
	// empty for a node that is deleted.
	After, AfterCharts []string
	// Resources is the number of resources of the node.
	Resources int
}

// PlannedNodes describes the nodes of a plan, in its order.
func PlannedNodes(p *sequencer.Plan) []PlannedNode {
	charts, layers := map[string]*sequencer.PlannedChart{}, map[string][]string{}
	for _, c := range p.Charts {
		charts[c.Path] = c
	}
	for _, n := range p.Nodes {
		if !n.Unsequenced {
			layers[n.Chart] = append(layers[n.Chart], n.ID())
		}
	}
	nodes := make([]PlannedNode, len(p.Nodes))
	for i, n := range p.Nodes {
		nodes[i] = PlannedNode{ID: n.ID(), Chart: n.Chart, Layer: n.Layer, Resources: len(n.Resources), AfterCharts: chartsBefore(charts, n.Chart)}
		if n.Unsequenced {
			nodes[i].After = layers[n.Chart]
			continue
		}
		for _, layer := range n.DependsOn {
			nodes[i].After = append(nodes[i].After, n.Chart+":"+layer)
		}
	}
	return nodes
}

// chartsBefore returns the charts whose resources must all be ready before the own
// resources of the chart with the given path. They include the charts that its parent
// charts wait for.
func chartsBefore(charts map[string]*sequencer.PlannedChart, path string) []string {
	before := slices.Clone(charts[path].OwnAfter)
	for path != "" {
		before = append(before, charts[path].After...)
		path = path[:max(strings.LastIndexByte(path, '/'), 0)]
	}
	slices.Sort(before)
	return slices.Compact(before)
}

// RemovedNodes describes the nodes of r, in the order of their deletion. It lists a node
// that is deleted in several steps only once.
func RemovedNodes(r *sequencer.Removal) []PlannedNode {
	var nodes []PlannedNode
	at := map[string]int{}
	for _, g := range r.Groups {
		id := g.Node.ID()
		if i, known := at[id]; known {
			nodes[i].Resources += len(g.Resources)
			continue
		}
		at[id] = len(nodes)
		nodes = append(nodes, PlannedNode{ID: id, Chart: g.Node.Chart, Layer: g.Node.Layer, Resources: len(g.Resources)})
	}
	return nodes
}
