// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package sequencer turns the charts of a release and their rendered resources into a
// plan, the graph in which they are deployed, and executes a plan with a function that
// deploys one node. Build does not use a cluster, and returns equal plans for equal input
// (docs/reference.md, "The graph").
package sequencer

// Input is the input of Build.
type Input struct {
	// Root is the root chart of the release.
	Root *Chart
	// Resources are the rendered resources without hooks, in any order. Build replaces
	// documents of kind List by their items.
	Resources []Resource
	// Namespace is the namespace of the release. It applies to resources that do not
	// specify one.
	Namespace string
}

// Chart is a chart of a release, with its declarations. Its JSON form is part of the
// release record.
type Chart struct {
	// Name is the name of the chart in the tree: its alias if it has one.
	Name string `json:"name"`
	// Sequenced is whether the sequencing declarations of the chart apply.
	Sequenced bool `json:"sequenced,omitempty"`
	// Declares is whether its Chart.yaml declares an order.
	Declares bool `json:"declares,omitempty"`
	// DependsOnSubcharts are the names of the subcharts that must be ready before the
	// chart's own resources.
	DependsOnSubcharts []string `json:"dependsOnSubcharts,omitempty"`
	// DependsOnKey is the key of the annotation that declares them, for messages.
	DependsOnKey string `json:"dependsOnKey,omitempty"`
	// Dependencies are the entries of its dependencies.
	Dependencies []Dependency `json:"dependencies,omitempty"`
	// Subcharts are its subcharts, without disabled ones.
	Subcharts []*Chart `json:"subcharts,omitempty"`
	// HookMode is how its hooks run, as a hookrunner.Mode. If empty, they run as in Helm.
	// The plan does not depend on it.
	HookMode string `json:"runHooksInParallel,omitempty"`
	// Problem is the error in its declarations, if any.
	Problem error `json:"-"`
}

// Dependency is one entry of the dependencies of a chart.
type Dependency struct {
	// Name is the name of the chart.
	Name string `json:"name"`
	// Alias is its name in the tree, if that differs.
	Alias string   `json:"alias,omitempty"`
	Tags  []string `json:"tags,omitempty"`
	// DependsOn are the names of the siblings that must be ready before it.
	DependsOn []string `json:"dependsOn,omitempty"`
	// Disabled is whether it is not part of the release.
	Disabled bool `json:"disabled,omitempty"`
}

// title returns its name in the tree.
func (d Dependency) title() string {
	if d.Alias != "" {
		return d.Alias
	}
	return d.Name
}

// Resource is one rendered document.
type Resource struct {
	// Chart is the path of the chart it comes from: the names of the charts from the root
	// down, joined with "/".
	Chart string
	// File is the template that it comes from, for messages.
	File string
	// Object is the document.
	Object map[string]any

	// policy is the resource policy of the list that contains it.
	policy string
	// source is its index in Input.Resources, or that of the list.
	source int
}

// ID identifies a resource in a cluster.
type ID struct {
	Group, Kind string
	// Namespace is empty for resources without a namespace, and for kinds that are known to
	// be cluster-scoped. It is the namespace of the release if the resource does not
	// specify one.
	Namespace string
	Name      string
}

// String returns the kind and the name, as in "Deployment/web".
func (id ID) String() string { return id.Kind + "/" + id.Name }
