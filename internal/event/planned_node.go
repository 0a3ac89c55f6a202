// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package event

import (
	"slices"
	"strings"

	"github.com/ordered-helm/helm/internal/removal"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// PlannedNode describes a node of the deployment graph in an event of type Planned or
// Removing. A node is a set of resources that are deployed or deleted as a unit.
type PlannedNode struct {
	// ID identifies the node in events, as in "shop:web".
	ID string
	// Chart is the path of the chart that the node belongs to. Layer is the layer whose
	// resources the node contains; empty for unlayered resources.
	Chart, Layer string
	// After contains the IDs of the nodes of the same chart that must be ready before this
	// node is deployed. AfterCharts contains the paths of the charts of which all
	// resources must be ready before this node is deployed. Both are empty for a node that
	// is deleted.
	After, AfterCharts []string
	// Resources is the number of resources in the node.
	Resources int
}

// PlannedNodes describes the nodes of the deployment plan p, in the order of the plan.
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

// chartsBefore returns the paths of the charts whose resources must all be ready before a
// chart deploys its own resources, without those of its subcharts. These include the
// charts that its parent charts wait for. path is the path of the chart. charts contains
// all charts of the plan by path.
func chartsBefore(charts map[string]*sequencer.PlannedChart, path string) []string {
	before := slices.Clone(charts[path].OwnAfter)
	for path != "" {
		before = append(before, charts[path].After...)
		path = path[:max(strings.LastIndexByte(path, '/'), 0)]
	}
	slices.Sort(before)
	return slices.Compact(before)
}

// RemovedNodes describes the nodes whose objects r deletes, in the order of their deletion.
// A node that is deleted in several steps is described only once.
func RemovedNodes(r *removal.Order) []PlannedNode {
	var nodes []PlannedNode
	index := map[string]int{}
	for _, g := range r.Groups {
		if g.Step != nil {
			continue
		}
		id := g.Node.ID()
		if i, known := index[id]; known {
			nodes[i].Resources += len(g.Resources)
			continue
		}
		index[id] = len(nodes)
		nodes = append(nodes, PlannedNode{ID: id, Chart: g.Node.Chart, Layer: g.Node.Layer, Resources: len(g.Resources)})
	}
	return nodes
}
