// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package sequencer turns the charts of a release and their rendered resources
// into a plan, the graph by which they deploy, and executes a plan over a
// function that deploys one node. Build is pure: it knows no cluster, and the
// same input always gives the same plan (docs/reference.md, "The graph").
package sequencer

// Input is all that a plan depends on.
type Input struct {
	// Root is the root chart of the release.
	Root *Chart
	// Resources are the rendered resources without hooks, in their order. What
	// is a list of kind List is flattened by Build.
	Resources []Resource
	// Namespace is the release's namespace: where resources go that name none.
	Namespace string
}

// Chart is one chart that takes part in a release, with what it declared. Its
// JSON form is part of the release record.
type Chart struct {
	// Name is the chart's name in the tree: its alias where it has one.
	Name string `json:"name"`
	// Sequenced is whether the chart's sequencing declarations count.
	Sequenced bool `json:"sequenced,omitempty"`
	// Declares is whether its Chart.yaml says anything about order.
	Declares bool `json:"declares,omitempty"`
	// DependsOnSubcharts are the names of the subcharts that must be ready
	// before the chart's own resources.
	DependsOnSubcharts []string `json:"dependsOnSubcharts,omitempty"`
	// DependsOnKey is the annotation that they are written under, for reasons.
	DependsOnKey string `json:"dependsOnKey,omitempty"`
	// Dependencies are the entries of its dependencies.
	Dependencies []Dependency `json:"dependencies,omitempty"`
	// Subcharts are the charts inside it that take part.
	Subcharts []*Chart `json:"subcharts,omitempty"`
	// HookMode is how its hooks run, as a hookrunner.Mode; empty is Helm's way. The
	// plan does not depend on it.
	HookMode string `json:"runHooksInParallel,omitempty"`
	// Problem is what cannot be used of the chart's declarations.
	Problem error `json:"-"`
}

// Dependency is one entry of a chart's dependencies.
type Dependency struct {
	// Name is the dependency's chart name.
	Name string `json:"name"`
	// Alias is the name it is known by in the tree, where that differs.
	Alias string   `json:"alias,omitempty"`
	Tags  []string `json:"tags,omitempty"`
	// DependsOn are the names of the siblings that must be ready before it.
	DependsOn []string `json:"dependsOn,omitempty"`
	// Disabled is whether it takes no part in the release.
	Disabled bool `json:"disabled,omitempty"`
}

// title is the name by which the dependency is known in the tree.
func (d Dependency) title() string {
	if d.Alias != "" {
		return d.Alias
	}
	return d.Name
}

// Resource is one rendered document.
type Resource struct {
	// Chart is the path of the chart it comes from: the names of the charts
	// from the root down, joined with "/".
	Chart string
	// File is the template it comes from, for messages.
	File string
	// Object is the document.
	Object map[string]any

	// policy is the resource policy of the list that it is an item of.
	policy string
	// source is its place in Input.Resources, or that of the list.
	source int
}

// ID says which object of a cluster a resource is.
type ID struct {
	Group, Kind string
	// Namespace is empty for a resource that has none, or whose kind is known
	// to be of the cluster; otherwise the release's where the resource names
	// none.
	Namespace string
	Name      string
}

// String is the kind and the name, as in "Deployment/web".
func (id ID) String() string { return id.Kind + "/" + id.Name }
