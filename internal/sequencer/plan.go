// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import (
	"time"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/dag"
	"github.com/ordered-helm/helm/internal/kind"
)

// Plan says in which order the resources of a release are deployed. Its graph connects
// nodes, the sets of resources that are applied together. A Plan must not be changed.
type Plan struct {
	// Nodes are sorted by level, chart path and layer name.
	Nodes []*Node
	// Charts has each chart before its subcharts, which are sorted by name.
	Charts []*PlannedChart
	// Warnings are for the author of the charts. The order is deterministic.
	Warnings []Warning
	// Unmet are the references that the order makes impossible to satisfy. The order is
	// deterministic.
	Unmet []UnmetNeed

	// graph has a vertex for each node, numbered as in Nodes. The vertices after these are
	// gates: they have no resources and stand for the beginning or end of a chart.
	graph *dag.Graph
	// declarations are the declared dependencies, from which Edges computes its result.
	declarations []declaration[EdgeEnd]
}

// Node is a set of resources that are applied together: a layer, the unlayered resources of
// a chart, or a single resource without a layer that depends on layers.
type Node struct {
	// Chart is the path of the chart, as in Resource.Chart.
	Chart string
	// Layer is the name of the layer. It is empty if the node is not a layer.
	Layer string
	// Unsequenced reports whether the node consists of the unlayered resources of the
	// chart.
	Unsequenced bool
	// Level is 0 for a node without dependencies. For other nodes it is one more than the
	// highest level of a dependency.
	Level int
	// Awaited reports whether the node has dependents, so that its readiness must be
	// awaited.
	Awaited bool
	// DependsOn are the layers of the same chart that the node depends on, sorted.
	DependsOn []string
	// Resources are sorted by Helm's install order of kinds, then by name.
	Resources []*PlannedResource

	// index is the position of the node in Plan.Nodes.
	index int
	// suffix makes the ID unique if another node would have the same ID.
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

// Title describes the node for users, for example `layer "database" of chart shop`.
func (n *Node) Title() string {
	switch {
	case n.Unsequenced:
		return "unlayered resources of chart " + n.Chart
	case n.Layer != "":
		return `layer "` + n.Layer + `" of chart ` + n.Chart
	}
	return n.Resources[0].ID.String() + " of chart " + n.Chart
}

// PlannedResource is a resource of a node, with the values of its annotations.
type PlannedResource struct {
	ID   ID
	File string
	// APIVersion is the apiVersion of the resource.
	APIVersion string
	// Success and Failure are the readiness expressions of the resource.
	Success, Failure []annotation.Expression
	// Timeout is the readiness timeout of the resource, or 0 if it declares none.
	Timeout time.Duration
	// Policy is the value of helm.sh/resource-policy on the resource, or else on the List
	// that contained it.
	Policy string
	// SelfDefined reports whether a CustomResourceDefinition of the release defines the
	// kind. The cluster might not know the kind yet.
	SelfDefined bool
	// Source is the index in Input.Resources of the document that contains the resource.
	Source int

	object map[string]any
}

// IsCustom reports whether the kind of the resource is not built into Kubernetes.
func (r *PlannedResource) IsCustom() bool { return !kind.IsBuiltIn(r.ID.Group) }

// IsJob reports whether the resource is a Job of the API group batch.
func (r *PlannedResource) IsJob() bool { return r.ID.Group == "batch" && r.ID.Kind == "Job" }

// Object returns the rendered object. It must not be changed.
func (r *PlannedResource) Object() map[string]any { return r.object }

// PlannedChart says which other charts must be ready before a chart is deployed.
type PlannedChart struct {
	// Path is the path of the chart, as in Resource.Chart.
	Path string
	// After are the paths of the siblings that must be ready, including their subcharts,
	// before this chart and its subcharts. They are sorted.
	After []string
	// OwnAfter are the paths of the subcharts that must be ready, including their own
	// subcharts, before this chart's own resources. They are sorted.
	OwnAfter []string
}

// UnmetNeed is a reference to an object of the same release that is deployed only after the
// referring resource is ready. If the object does not exist already, the resource therefore
// never becomes ready. A reference to a CustomResourceDefinition or a Namespace is also
// unmet if the order does not put that object first.
type UnmetNeed struct {
	// From refers to To. FromNode and ToNode are their nodes.
	From, To         *PlannedResource
	FromNode, ToNode *Node

	// unordered reports whether neither node comes before the other.
	unordered bool
	// layer is the layer to suggest for To. There, To would be in time for all layers of
	// its chart that now need it too early. It is empty if there is no such layer.
	layer string
}

// Levels groups the nodes by level, for printing. Deployment does not wait for a level to
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

// ComesAfter reports whether node i depends on node j, directly or indirectly. Both are
// indexes in Nodes.
func (p *Plan) ComesAfter(i, j int) bool { return p.graph.Descendants(i)[j] }

// Dependencies returns the nodes that must be ready before node i starts, as sorted indexes
// in Nodes. It includes nodes on which node i depends through other charts.
func (p *Plan) Dependencies(i int) []int { return p.graph.DependenciesAmong(len(p.Nodes), i) }
