// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import (
	"slices"
	"time"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/dag"
	"github.com/ordered-helm/helm/internal/kind"
)

// Plan is the order in which the resources of a release are deployed: a graph of nodes, each
// of which is a set of resources that are deployed as a unit. A Plan must not be changed.
type Plan struct {
	// Nodes are sorted by level, chart path and layer name.
	Nodes []*Node
	// Operation is that of Input.
	Operation Operation
	// Skipped lists the resources that do not take part in the operation: they are in no node.
	Skipped []*PlannedResource
	// Steps contains what happens between the nodes, sorted by chart.
	Steps []*Step
	// Charts lists each chart before its subcharts, which are sorted by name.
	Charts []*PlannedChart
	// Warnings lists probable mistakes in the charts, in a deterministic order.
	Warnings []Warning
	// Unmet lists the references that the order cannot satisfy, in a deterministic order.
	Unmet []UnmetNeed

	// Notes says what authors of charts may want to change about the order, although it is as they have
	// declared it. The caller of Build sets it.
	Notes []string

	// graph has a vertex for each node: its number is the index of the node in Nodes. The
	// vertices of the steps follow. The other vertices are gates: they have no resources and
	// stand for the beginning or end of a chart.
	graph *dag.Graph
	// declarations lists the declared dependencies, from which Edges computes its result.
	declarations []edgeDeclaration[EdgeEnd]
}

// Node is a node of the deployment graph: a set of resources that are deployed as a unit.
// It is a layer, the unlayered resources of a chart, or a single resource that depends on
// layers but is in none.
type Node struct {
	// Chart is the path of the chart, as in Resource.Chart.
	Chart string
	// Layer is the name of the layer. It is empty if the node is not a layer.
	Layer string
	// Unsequenced reports whether the node consists of the unlayered resources of the chart.
	Unsequenced bool
	// Level is 0 for a node without dependencies. For other nodes it is one more than the
	// highest level of a node that they depend on.
	Level int
	// Awaited reports whether other nodes depend on this one, and start only when it is ready.
	Awaited bool
	// AwaitedByStep reports whether a step starts only when this node is ready, although no other
	// node depends on it. It is then waited for with the timeout of a node on which nothing depends.
	AwaitedByStep bool
	// DependsOn lists the layers of the same chart that the node depends on, sorted.
	DependsOn []string
	// Resources are sorted by Helm's install order of kinds, then by name.
	Resources []*PlannedResource

	// index is the position of the node in Plan.Nodes.
	index int
	// suffix is the end of the ID. It is empty unless another node would have the same ID.
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

// PlannedResource is a resource of a node, with what it declares about readiness and deletion.
type PlannedResource struct {
	ID   ID
	File string
	// APIVersion is the apiVersion of the resource.
	APIVersion string
	// Success and Failure are the readiness expressions of the resource.
	Success, Failure []annotation.ReadinessExpression
	// Timeout is the readiness timeout of the resource, or 0 if it declares none.
	Timeout time.Duration
	// DeployOn lists the operations in which the resource is created and changed; nil if these are all.
	DeployOn []string
	// Policy is the value of helm.sh/resource-policy on the resource, or else on the List
	// that contained it.
	Policy string
	// SelfDefined reports whether the kind is defined by a CustomResourceDefinition of the
	// same release. The cluster might not know the kind yet.
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
	// After lists the paths of the siblings that must be ready, including their subcharts,
	// before this chart and its subcharts. They are sorted.
	After []string
	// OwnAfter lists the paths of the subcharts that must be ready, including their own
	// subcharts, before this chart's own resources. They are sorted.
	OwnAfter []string
	// Sequenced reports whether the annotations of the chart's resources about order and
	// readiness apply.
	Sequenced bool
	// HookScope is the path of the chart before and after whose nodes the hooks of this chart run. It
	// is empty if they run before and after everything in the release. ReleaseScope reports whether a
	// declaration says so.
	HookScope    string
	ReleaseScope bool
}

// UnmetNeed is a reference from one resource of a release to another that the order cannot
// satisfy: To is deployed only after From is ready. Unless To already exists in the
// cluster, From never becomes ready. A reference to a CustomResourceDefinition or a
// Namespace is also an UnmetNeed if nothing orders it before From. So is a reference to an
// object that only a hook creates, after the resources are deployed.
type UnmetNeed struct {
	// From refers to To. FromNode and ToNode are the nodes that contain them. ToNode is nil if
	// a hook creates To.
	From, To         *PlannedResource
	FromNode, ToNode *Node
	// HookProblem, if a hook creates To, explains why it is too late, and what to change.
	HookProblem string

	// unordered reports whether neither node depends on the other.
	unordered bool
	// suggestedLayer is the layer that messages suggest for To: from there, it is deployed
	// early enough for all layers of its chart that refer to it. It is empty if there is no
	// such layer.
	suggestedLayer string
}

// Graph returns the graph of a plan. The vertex of a node is its index in Plan.Nodes. The vertices of
// Plan.Steps follow, and then others that only connect them. An edge leads from a vertex to one that must be ready before it.
func Graph(p *Plan) *dag.Graph { return p.graph }

// Levels groups the nodes by level, for printing. During deployment, no node waits for a
// whole level.
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

// IsSequenced reports whether the annotations of the resources of a chart about order and
// readiness apply. chart is the path of the chart.
func (p *Plan) IsSequenced(chart string) bool {
	return slices.ContainsFunc(p.Charts, func(c *PlannedChart) bool { return c.Path == chart && c.Sequenced })
}

// ComesAfter reports whether the node with index i in Nodes depends on the node with index
// j, directly or indirectly.
func (p *Plan) ComesAfter(i, j int) bool { return p.graph.Reachable(i)[j] }

// Dependencies returns the nodes on which node i depends directly, as sorted indexes in
// Nodes. It includes the nodes of charts on which the chart of node i depends.
func (p *Plan) Dependencies(i int) []int { return p.graph.DependenciesAmong(len(p.Nodes), i) }
