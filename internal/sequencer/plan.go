// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import (
	"slices"
	"time"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/dag"
)

// Plan is the graph by which a release deploys. It must not be changed.
type Plan struct {
	// Nodes are the nodes by level, then chart path, then layer name.
	Nodes []*Node
	// Charts are the charts, a parent before its subcharts, by name.
	Charts []*PlannedChart
	// Warnings are what the author should know of, in a fixed order.
	Warnings []Warning
	// Unmet are the needs that the order makes unmeetable, in a fixed order.
	Unmet []UnmetNeed

	// graph has a vertex for each node, at its index in Nodes, and after
	// these the gates: vertices that stand for a point in time alone.
	graph *dag.Graph
	// declarations are what the graph was made of.
	declarations []declaration
}

// Node is what goes to the API server as one bundle.
type Node struct {
	// Chart is the path of the chart, as in Resource.Chart.
	Chart string
	// Layer is the layer's name; empty for a node that is none.
	Layer string
	// Unsequenced is whether it holds the chart's resources without any
	// sequencing annotation. A node that is neither that nor a layer is a
	// single resource that only depends on layers.
	Unsequenced bool
	// Level is the number of nodes on the longest path of nodes before it.
	Level int
	// Awaited is whether another node depends on it.
	Awaited bool
	// DependsOn are the layers of the same chart that it depends on, sorted.
	DependsOn []string
	// Resources are its resources in Helm's install order of kinds, then by
	// name.
	Resources []*PlannedResource

	// suffix tells it from a node before it that would have the same ID.
	suffix string
}

// ID names the node within its plan: "chart:layer", "chart:(Kind/name)", or
// the chart's path alone for what is unsequenced.
func (n *Node) ID() string {
	switch {
	case n.Unsequenced:
		return n.Chart
	case n.Layer != "":
		return n.Chart + ":" + n.Layer
	}
	return n.Chart + ":(" + n.Resources[0].ID.String() + ")" + n.suffix
}

// Title names the node for people, as in `layer "database" of chart shop`.
func (n *Node) Title() string {
	switch {
	case n.Unsequenced:
		return "the resources of chart " + n.Chart + " that are in no layer"
	case n.Layer != "":
		return `layer "` + n.Layer + `" of chart ` + n.Chart
	}
	return n.Resources[0].ID.String() + " of chart " + n.Chart
}

// PlannedResource is a resource with what its annotations say.
type PlannedResource struct {
	ID   ID
	File string
	// APIVersion is the resource's apiVersion.
	APIVersion string
	// Success and Failure are its readiness expressions.
	Success, Failure []annotation.Expression
	// Timeout is its readiness timeout; 0 when it has none.
	Timeout time.Duration
	// Policy is its resource policy, or that of the list it is an item of.
	Policy string
	// SelfDefined is whether the release itself defines its kind, so that the
	// cluster may not know it yet.
	SelfDefined bool
	// Source is the index in Input.Resources of what it comes from: itself, or the
	// list that it is an item of.
	Source int

	object map[string]any
}

// IsCustom reports whether its kind is none of Kubernetes' own.
func (r *PlannedResource) IsCustom() bool { return !isBuiltIn(r.ID.Group) }

// IsJob reports whether it is a Job of Kubernetes' own.
func (r *PlannedResource) IsJob() bool { return r.ID.Group == "batch" && r.ID.Kind == "Job" }

// Object is the resource as it was rendered. It must not be changed.
func (r *PlannedResource) Object() map[string]any { return r.object }

// PlannedChart is a chart with the order that counts for it.
type PlannedChart struct {
	// Path is the chart's path, as in Resource.Chart.
	Path string
	// After are the paths of the siblings whose whole subtree comes before its
	// whole subtree, sorted.
	After []string
	// OwnAfter are the paths of the subcharts whose whole subtree comes before
	// its own resources, sorted.
	OwnAfter []string
}

// UnmetNeed is a reference to an object of the same release that is only
// deployed after what needs it is ready, so that it never gets ready. What the
// API server itself must know first, a definition or a namespace, is also one
// when nothing puts it first.
type UnmetNeed struct {
	// From needs To; they are in FromNode and ToNode.
	From, To         *PlannedResource
	FromNode, ToNode *Node

	// unordered is whether neither node comes before the other.
	unordered bool
	// layer is one in which To would be in time for all of its chart's layers that
	// need it too early; empty if there is none.
	layer string
}

// Levels groups the nodes by level. It is for printing: execution does not
// wait for a level to end.
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

// Dependencies lists the nodes that must be ready right before node i may
// start, by index in Nodes: those it reaches over gates alone. The order is
// that of Nodes.
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
