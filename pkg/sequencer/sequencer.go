// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package sequencer contains the types of the graph by which a release is deployed, as
// returned by action.Plan and action.ReleasePlan. Build creates such a graph from charts
// and rendered resources without a cluster (docs/reference.md, "The graph").
package sequencer

import "github.com/ordered-helm/helm/internal/sequencer"

// The input of Build.
type (
	// Input is everything that a plan depends on: the charts, the rendered resources, and
	// the namespace of the release.
	Input = sequencer.Input
	// Chart is one chart of a release with its declarations.
	Chart = sequencer.Chart
	// Dependency is one entry of the dependencies of a chart.
	Dependency = sequencer.Dependency
	// Resource is one rendered document.
	Resource = sequencer.Resource
)

// The graph.
type (
	// Plan is the graph by which a release is deployed. It must not be modified.
	Plan = sequencer.Plan
	// Node is a set of resources that are applied together: a layer, the unlayered
	// resources of a chart, or a single resource that depends on layers.
	Node = sequencer.Node
	// PlannedChart is a chart with the order that applies to it.
	PlannedChart = sequencer.PlannedChart
	// PlannedResource is a resource with the data from its annotations.
	PlannedResource = sequencer.PlannedResource
	// ID identifies a resource: its group, kind, namespace and name.
	ID = sequencer.ID
	// Edge says that one of its ends comes before the other, and which declaration says so.
	Edge = sequencer.Edge
	// EdgeEnd is a node, or all nodes of a chart.
	EdgeEnd = sequencer.EdgeEnd
	// Reason says where an edge is declared.
	Reason = sequencer.Reason
)

// The warnings and errors about an order.
type (
	// Warning is a problem that the author of a chart should know about.
	Warning = sequencer.Warning
	// WarningKind is the kind of a warning.
	WarningKind = sequencer.WarningKind
	// UnmetNeed is a reference to an object of the same release that is deployed only after
	// the resource that needs it is ready.
	UnmetNeed = sequencer.UnmetNeed
	// UnmetNeedsError says that the order makes some needs impossible to meet.
	UnmetNeedsError = sequencer.UnmetNeedsError
	// CycleError says that charts or layers depend on each other in a cycle.
	CycleError = sequencer.CycleError
	// CycleEdge is one edge of a cycle, and where it is declared.
	CycleEdge = sequencer.CycleEdge
	// DuplicateError says that two documents define the same object.
	DuplicateError = sequencer.DuplicateError
	// UnknownSubchartError says that a chart refers to a subchart that it does not have.
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

// MaxDependencies is the maximum number of dependencies that a release can declare.
const MaxDependencies = sequencer.MaxDependencies

// Build creates the plan of a release. If declarations are invalid, it returns all errors
// together; each names the file, the resource, the key and the value. Needs that the order
// makes impossible to meet are part of the plan and not errors, because only the cluster
// shows whether they are already met.
func Build(in Input) (*Plan, error) { return sequencer.Build(in) }
