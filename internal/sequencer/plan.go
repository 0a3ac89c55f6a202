// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import (
	"slices"
	"time"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/dag"
)

// Plan is the graph in which a release is deployed. It must not be changed.
type Plan struct {
	// Nodes are the nodes, sorted by level, chart path and layer name.
	Nodes []*Node
	// Charts are the charts, each before its subcharts, sorted by name.
	Charts []*PlannedChart
	// Warnings are warnings for the author of the charts, in a deterministic order.
	Warnings []Warning
	// Unmet are the needs that the order makes impossible to meet, in a deterministic
	// order.
	Unmet []UnmetNeed

	// graph has a vertex for each node, with its index in Nodes. Further vertices are
	// gates: points in time at which charts begin or end.
	graph *dag.Graph
	// declarations are the declarations that the edges of the graph come from.
	declarations []declaration
}

// Node is a set of resources that are applied together.
type Node struct {
	// Chart is the path of the chart, as in Resource.Chart.
	Chart string
	// Layer is the name of the layer. It is empty if the node is not a layer.
	Layer string
	// Unsequenced is whether the node consists of the unlayered resources of the chart. A
	// node that is neither this nor a layer is a single resource that depends on layers.
	Unsequenced bool
	// Level is the number of nodes on the longest path to the node.
	Level int
	// Awaited is whether another node depends on it.
	Awaited bool
	// DependsOn are the layers of the same chart that it depends on, sorted.
	DependsOn []string
	// Resources are sorted by Helm's install order of kinds, then by name.
	Resources []*PlannedResource

	// suffix makes the ID unique if another node would have the same.
	suffix string
}

// ID identifies the node in its plan: "chart:layer", "chart:(Kind/name)", or the path of
// the chart for its unlayered resources.
func (n *Node) ID() string {
	switch {
	case n.Unsequenced:
		return n.Chart
	case n.Layer != "":
		return n.Chart + ":" + n.Layer
	}
	return n.Chart + ":(" + n.Resources[0].ID.String() + ")" + n.suffix
}

// Title describes the node for users, as in `layer "database" of chart shop`.
func (n *Node) Title() string {
	switch {
	case n.Unsequenced:
		return "unlayered resources of chart " + n.Chart
	case n.Layer != "":
		return `layer "` + n.Layer + `" of chart ` + n.Chart
	}
	return n.Resources[0].ID.String() + " of chart " + n.Chart
}

// PlannedResource is a resource with its annotations.
type PlannedResource struct {
	ID   ID
	File string
	// APIVersion is the resource's apiVersion.
	APIVersion string
	// Success and Failure are its readiness expressions.
	Success, Failure []annotation.Expression
	// Timeout is its readiness timeout, or 0.
	Timeout time.Duration
	// Policy is its resource policy, or that of the list that contains it.
	Policy string
	// SelfDefined is whether the release defines its kind, so that the cluster may not
	// know it yet.
	SelfDefined bool
	// Source is the index in Input.Resources of the document that it comes from.
	Source int

	object map[string]any
}

// IsCustom reports whether its kind is not built into Kubernetes.
func (r *PlannedResource) IsCustom() bool { return !isBuiltIn(r.ID.Group) }

// IsJob reports whether it is a Job of the group batch.
func (r *PlannedResource) IsJob() bool { return r.ID.Group == "batch" && r.ID.Kind == "Job" }

// Object returns the rendered object. It must not be changed.
func (r *PlannedResource) Object() map[string]any { return r.object }

// PlannedChart is a chart with the order that applies to it.
type PlannedChart struct {
	// Path is the path of the chart, as in Resource.Chart.
	Path string
	// After are the paths of the siblings that must be ready, with their subcharts,
	// before this chart and its subcharts, sorted.
	After []string
	// OwnAfter are the paths of the subcharts that must be ready, with their subcharts,
	// before the chart's own resources, sorted.
	OwnAfter []string
}

// UnmetNeed is a reference to an object of the same release that is deployed only after the
// referring resource is ready. The resource therefore never becomes ready. A reference to a
// definition or a namespace is also unmet if the order does not put that object first.
type UnmetNeed struct {
	// From refers to To. FromNode and ToNode are their nodes.
	From, To         *PlannedResource
	FromNode, ToNode *Node

	// unordered is whether neither node comes before the other.
	unordered bool
	// layer is a layer in which To would be in time for all layers of its chart that need
	// it too early. It is empty if there is no such layer.
	layer string
}

// Levels groups the nodes by level, for printing. Execute does not wait for a level to
// end.
func (p *Plan) Levels() [][]*Node {
	var levels [][]*Node
	for _, n := range p.Nodes {
		if n.Level == len(levels) {
			levels = append(levels, nil)
		}
		levels[n.Level] = append(levels[n.Level], n)
	}
	return levels
}

// Dependencies returns the nodes that must be ready before node i starts, by their index in
// Nodes, sorted. It includes nodes that are connected through gates.
func (p *Plan) Dependencies(i int) []int {
	var deps []int
	seen := make(map[int]bool)
	stack := append([]int{}, p.graph.Dependencies(i)...)
	for len(stack) > 0 {
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[v] {
			continue
		}
		seen[v] = true
		if v < len(p.Nodes) {
			deps = append(deps, v)
			continue
		}
		stack = append(stack, p.graph.Dependencies(v)...)
	}
	slices.Sort(deps)
	return deps
}
