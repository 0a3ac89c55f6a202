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
// Removing, or a wait for external dependencies. A node is a set of resources that are deployed
// or deleted as a unit.
type PlannedNode struct {
	// ID identifies the node in events, as in "shop:web".
	ID string
	// Chart is the path of the chart that the node belongs to. Layer is the layer whose
	// resources the node contains; empty for unlayered resources.
	Chart, Layer string
	// External contains the external dependencies for which the operation waits, as in
	// "Secret/registry". It is empty for a node with resources.
	External []string
	// After contains the IDs of the nodes of the same chart, and of the waits for external
	// dependencies, that must be ready before this node is deployed. AfterCharts contains the
	// paths of the charts of which all resources must be ready before this node is deployed.
	// Both are empty for a node that is deleted.
	After, AfterCharts []string
	// Resources is the number of resources in the node.
	Resources int
}

// PlannedNodes describes the nodes of the deployment plan p, in the order of the plan, and then
// its waits for external dependencies.
func PlannedNodes(p *sequencer.Plan) []PlannedNode {
	b := plannedNodes{charts: map[string]*sequencer.PlannedChart{}, layers: map[string][]string{}, waits: map[string][]string{}}
	for _, c := range p.Charts {
		b.charts[c.Path] = c
	}
	for _, n := range p.Nodes {
		if !n.Unsequenced {
			b.layers[n.Chart] = append(b.layers[n.Chart], n.ID())
		}
	}
	for _, s := range p.Steps {
		if len(s.External) > 0 {
			b.waits[ownerOf(s)] = append(b.waits[ownerOf(s)], s.ID())
		}
	}
	nodes := make([]PlannedNode, 0, len(p.Nodes))
	for _, n := range p.Nodes {
		planned := b.before(n)
		planned.ID, planned.Layer, planned.Resources = n.ID(), n.Layer, len(n.Resources)
		planned.After = append(planned.After, b.waits[n.ID()]...)
		nodes = append(nodes, planned)
	}
	for _, s := range p.Steps {
		if len(s.External) > 0 {
			nodes = append(nodes, b.wait(s))
		}
	}
	return nodes
}

// plannedNodes computes the nodes that PlannedNodes returns.
type plannedNodes struct {
	charts map[string]*sequencer.PlannedChart // by path
	layers map[string][]string                // the IDs of the nodes of a chart that are layers or single resources
	waits  map[string][]string                // the IDs of the waits of a node or of a whole chart, by ownerOf
}

// ownerOf returns the ID of the node that waits for the external dependencies of s, or a key of the chart.
func ownerOf(s *sequencer.Step) string {
	if s.Node != nil {
		return s.Node.ID()
	}
	return s.Chart + "/"
}

// before returns a PlannedNode with all for which node n waits, except its own external dependencies.
func (b *plannedNodes) before(n *sequencer.Node) PlannedNode {
	planned := PlannedNode{Chart: n.Chart, AfterCharts: chartsBefore(b.charts, n.Chart)}
	if n.Unsequenced {
		planned.After = slices.Clone(b.layers[n.Chart])
	}
	for _, layer := range n.DependsOn {
		planned.After = append(planned.After, n.Chart+":"+layer)
	}
	for path := n.Chart; path != ""; path = parent(path) {
		planned.After = append(planned.After, b.waits[path+"/"]...)
	}
	return planned
}

// wait describes a wait for external dependencies.
func (b *plannedNodes) wait(s *sequencer.Step) PlannedNode {
	var planned PlannedNode
	if s.Node != nil {
		planned = b.before(s.Node)
	} else {
		planned = PlannedNode{Chart: s.Chart}
		for path := s.Chart; path != ""; path = parent(path) {
			planned.AfterCharts = append(planned.AfterCharts, b.charts[path].After...)
			if path != s.Chart {
				planned.After = append(planned.After, b.waits[path+"/"]...)
			}
		}
		slices.Sort(planned.AfterCharts)
	}
	planned.ID = s.ID()
	for _, n := range s.Needs() {
		planned.External = append(planned.External, n.String())
	}
	return planned
}

func parent(path string) string { return path[:max(strings.LastIndexByte(path, '/'), 0)] }

// chartsBefore returns the paths of the charts whose resources must all be ready before a
// chart deploys its own resources, without those of its subcharts. These include the
// charts that its parent charts wait for. path is the path of the chart. charts contains
// all charts of the plan by path.
func chartsBefore(charts map[string]*sequencer.PlannedChart, path string) []string {
	before := slices.Clone(charts[path].OwnAfter)
	for path != "" {
		before = append(before, charts[path].After...)
		path = parent(path)
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
