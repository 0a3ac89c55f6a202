// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package sequencer contains the types of a plan: the graph that says in which order the
// resources of a release are deployed. action.Plan and action.ReleasePlan embed such a plan.
// Build creates one from charts and rendered resources, without a cluster
// (docs/reference.md, "The graph").
package sequencer

import "github.com/ordered-helm/helm/internal/sequencer"

// The input of Build.
type (
	// Input holds everything that Build needs: the charts, the rendered resources, and the
	// namespace of the release.
	Input = sequencer.Input
	// Chart holds what one chart of a release declares about order and hooks, and its
	// subcharts.
	Chart = sequencer.Chart
	// Dependency is one entry under "dependencies" in a Chart.yaml.
	Dependency = sequencer.Dependency
	// Resource is one rendered document, with its chart and template.
	Resource = sequencer.Resource
)

// The graph.
type (
	// Plan is the graph in which a release is deployed: its nodes and the dependencies
	// between them. It must not be modified.
	Plan = sequencer.Plan
	// Node is a node of the graph: a set of resources that are deployed as a unit. It is a
	// layer, the unlayered resources of a chart, or a single resource that depends on
	// layers but is in none.
	Node = sequencer.Node
	// PlannedChart lists the charts that must be ready before a chart is deployed.
	PlannedChart = sequencer.PlannedChart
	// PlannedResource is a resource of a node, with its readiness expressions, its
	// readiness timeout and its resource policy.
	PlannedResource = sequencer.PlannedResource
	// ID identifies an object in a cluster by its group, kind, namespace and name.
	ID = sequencer.ID
	// Edge is a declared dependency: its end First must be ready before its end Then is
	// deployed. Its Reasons are the declarations that require this.
	Edge = sequencer.Edge
	// EdgeEnd is one end of an Edge: a single node, or all nodes of a chart.
	EdgeEnd = sequencer.EdgeEnd
	// Reason is the place in a chart that declares an Edge: the file, the key of an
	// annotation or field, and its value.
	Reason = sequencer.Reason
)

// The warnings and errors about an order.
type (
	// Warning is a probable mistake of the chart author that does not prevent a deployment.
	Warning = sequencer.Warning
	// WarningKind classifies a Warning.
	WarningKind = sequencer.WarningKind
	// UnmetNeed is a reference from one resource of the release to another, such as a
	// ConfigMap, that the order cannot satisfy: the order deploys the ConfigMap only when
	// the referring resource is ready, which it cannot become without the ConfigMap.
	UnmetNeed = sequencer.UnmetNeed
	// UnmetNeedsError lists references that the order cannot satisfy. Operations return it
	// only for objects that do not exist in the cluster either.
	UnmetNeedsError = sequencer.UnmetNeedsError
	// CycleError is the error for charts or layers that depend on each other in a cycle.
	CycleError = sequencer.CycleError
	// CycleEdge is one dependency in the cycle of a CycleError, and where it is declared.
	CycleEdge = sequencer.CycleEdge
	// DuplicateError is the error for two documents that define the same object.
	DuplicateError = sequencer.DuplicateError
	// UnknownSubchartError is the error for a Chart.yaml that refers to a subchart that
	// does not exist.
	UnknownSubchartError = sequencer.UnknownSubchartError
	// DependenciesError is the error for a release that declares more than MaxDependencies
	// dependencies.
	DependenciesError = sequencer.DependenciesError
	// ResourceError is the error for a single invalid resource, for example because of one
	// of its annotations.
	ResourceError = sequencer.ResourceError
)

// The kinds of warnings. WarningUnknownLayer: a resource depends on a layer that does not
// exist in its chart. WarningExpressionPath: the path of a readiness expression is probably
// wrong. WarningNotSequenced: the order that a chart declares is ignored, because the chart
// does not opt in to it. WarningLateBinding: a role binding is deployed only after the
// workload that needs it is ready. WarningUnknownKey: a key or field has no effect, but
// resembles one that declares an order, or is one of these in the wrong place.
const (
	WarningUnknownLayer   = sequencer.WarningUnknownLayer
	WarningExpressionPath = sequencer.WarningExpressionPath
	WarningNotSequenced   = sequencer.WarningNotSequenced
	WarningLateBinding    = sequencer.WarningLateBinding
	WarningUnknownKey     = sequencer.WarningUnknownKey
)

// MaxDependencies is the maximum number of dependencies between layers and between
// subcharts that a release can declare.
const MaxDependencies = sequencer.MaxDependencies

// Build computes the plan of a release. If declarations are invalid, it returns one error
// for all of them, with the file, resource, key and value of each. An UnmetNeed is not an
// error but part of the plan, because the object may already exist in the cluster.
func Build(in Input) (*Plan, error) { return sequencer.Build(in) }
