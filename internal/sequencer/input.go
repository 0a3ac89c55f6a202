// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package sequencer computes the order in which the resources of a release are deployed.
// Build turns the charts and their rendered resources into a Plan, a graph of nodes, and
// Execute calls a function for each node of a plan in this order. Build does not use a
// cluster, and returns equal plans for equal input (docs/reference.md, "The graph").
package sequencer

import "cmp"

// Input describes the release for which Build computes a plan.
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

// Chart is one chart of the release, with what its Chart.yaml declares about the order. The
// release record stores its JSON form.
type Chart struct {
	// Name is the name of the chart in the tree: its alias if it has one.
	Name string `json:"name"`
	// Sequenced reports whether sequencing applies to the chart. If not, its declarations
	// are ignored.
	Sequenced bool `json:"sequenced,omitempty"`
	// Declares reports whether the Chart.yaml declares an order.
	Declares bool `json:"declares,omitempty"`
	// DependsOnSubcharts are the names of the subcharts that must be ready before the
	// chart's own resources.
	DependsOnSubcharts []string `json:"dependsOnSubcharts,omitempty"`
	// DependsOnKey is the annotation that declares DependsOnSubcharts, for messages.
	DependsOnKey string `json:"dependsOnKey,omitempty"`
	// Dependencies are the entries under "dependencies" in Chart.yaml.
	Dependencies []Dependency `json:"dependencies,omitempty"`
	// Subcharts are the enabled subcharts.
	Subcharts []*Chart `json:"subcharts,omitempty"`
	// HookMode is the hookrunner.Mode of the chart's hooks. If empty, they run as in Helm.
	// The plan does not depend on it.
	HookMode string `json:"runHooksInParallel,omitempty"`
	// Problem is the error in the declarations of the Chart.yaml, if any.
	Problem error `json:"-"`
}

// Dependency is one entry under "dependencies" in a Chart.yaml.
type Dependency struct {
	// Name is the name of the chart.
	Name string `json:"name"`
	// Alias is the name of the dependency in the tree of charts, if that differs from Name.
	Alias string   `json:"alias,omitempty"`
	Tags  []string `json:"tags,omitempty"`
	// DependsOn are the names of the sibling charts that must be ready before this one.
	DependsOn []string `json:"dependsOn,omitempty"`
	// Disabled reports whether a condition or tag excludes the dependency from the release.
	Disabled bool `json:"disabled,omitempty"`
}

// title returns the name of the dependency in the tree of charts.
func (d Dependency) title() string { return cmp.Or(d.Alias, d.Name) }

// Resource is one rendered document of a template.
type Resource struct {
	// Chart is the path of the chart that contains the template: the names of the charts
	// from the root down, joined with "/".
	Chart string
	// File is the template, for messages.
	File string
	// Object is the parsed document.
	Object map[string]any

	// policy is the resource policy (helm.sh/resource-policy) of the List that contained
	// the resource, if any.
	policy string
	// source is the index in Input.Resources of the resource, or of the List that contained
	// it.
	source int
}

// ID identifies an object in a cluster.
type ID struct {
	Group, Kind string
	// Namespace is the namespace of the release if the resource does not specify one. It is
	// empty for kinds that are known to be cluster-scoped.
	Namespace string
	Name      string
}

// String returns the kind and the name, for example "Deployment/web".
func (id ID) String() string { return id.Kind + "/" + id.Name }
