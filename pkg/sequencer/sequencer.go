// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package sequencer is the graph by which a release deploys: what action.Plan and
// action.ReleasePlan return, and Build, which makes a graph of charts and rendered
// resources without a cluster (docs/reference.md, "The graph").
package sequencer

import "github.com/ordered-helm/helm/internal/sequencer"

// The input of Build.
type (
	// Input is all that a plan depends on: the charts, the rendered resources, and
	// the namespace of the release.
	Input = sequencer.Input
	// Chart is one chart that takes part in a release, with what it declares.
	Chart = sequencer.Chart
	// Dependency is one entry of the dependencies of a chart.
	Dependency = sequencer.Dependency
	// Resource is one rendered document.
	Resource = sequencer.Resource
)

// The graph.
type (
	// Plan is the graph by which a release deploys. It must not be changed.
	Plan = sequencer.Plan
	// Node is a set of resources that are applied together: a layer, the unlayered
	// resources of a chart, or a single resource that depends on layers.
	Node = sequencer.Node
	// PlannedChart is a chart with the order that applies to it.
	PlannedChart = sequencer.PlannedChart
	// PlannedResource is a resource with what its annotations say.
	PlannedResource = sequencer.PlannedResource
	// ID identifies a resource: its group, kind, namespace and name.
	ID = sequencer.ID
	// Edge says that one end of it comes before the other, and what declares that.
	Edge = sequencer.Edge
	// EdgeEnd is a node, or all nodes of a chart.
	EdgeEnd = sequencer.EdgeEnd
	// Reason says where an edge is declared.
	Reason = sequencer.Reason
)

// What may be wrong with an order.
type (
	// Warning is something that the author of a chart should know about.
	Warning = sequencer.Warning
	// WarningKind is the kind of a warning.
	WarningKind = sequencer.WarningKind
	// UnmetNeed is a reference to an object of the same release that is deployed only
	// after the resource that needs it is ready.
	UnmetNeed = sequencer.UnmetNeed
	// UnmetNeedsError says that the order makes it impossible to meet some needs.
	UnmetNeedsError = sequencer.UnmetNeedsError
	// CycleError says that charts or layers depend on each other.
	CycleError = sequencer.CycleError
	// CycleEdge is one edge of a cycle, and where it is declared.
	CycleEdge = sequencer.CycleEdge
	// DuplicateError says that two documents define the same object.
	DuplicateError = sequencer.DuplicateError
	// UnknownSubchartError says that a chart names a subchart that it does not have.
	UnknownSubchartError = sequencer.UnknownSubchartError
	// DependenciesError says that a release declares more dependencies than
	// MaxDependencies.
	DependenciesError = sequencer.DependenciesError
	// ResourceError says what is wrong with one resource.
	ResourceError = sequencer.ResourceError
)

// The kinds of warnings.
const (
	WarningUnknownLayer   = sequencer.WarningUnknownLayer
	WarningExpressionPath = sequencer.WarningExpressionPath
	WarningNotSequenced   = sequencer.WarningNotSequenced
	WarningLateBinding    = sequencer.WarningLateBinding
)

// MaxDependencies is how many dependencies a release may declare.
const MaxDependencies = sequencer.MaxDependencies

// Build makes the plan of a release. Everything that is wrong with the declarations is
// returned together, as errors that name the file, the resource, the key and the value.
// Needs that the order makes impossible to meet are part of the plan, because only a
// cluster can tell whether they are met already.
func Build(in Input) (*Plan, error) { return sequencer.Build(in) }
