// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package chartorder determines what the charts of a release declare about each other: which charts
// depend on which, and the scopes of their hooks. It reads what Chart.yaml files and order files declare,
// and knows nothing of resources.
package chartorder

import (
	"cmp"
	"time"
)

// Chart is one chart of a release, with what its Chart.yaml declares about the order.
// Package orderrecord stores its JSON form in the release.
type Chart struct {
	// Name is the name of the chart in the tree of charts: its alias if it has one.
	Name string `json:"name"`
	// Sequenced reports whether the declared order of the chart applies, because of the
	// apiVersion v3 or an annotation. Otherwise, the order is ignored.
	Sequenced bool `json:"sequenced,omitempty"`
	// OptedOut reports whether the Chart.yaml disables the order, so that nobody needs a
	// warning that it is ignored.
	OptedOut bool `json:"optedOut,omitempty"`
	// Declares reports whether the Chart.yaml declares an order.
	Declares bool `json:"declares,omitempty"`
	// DependsOnSubcharts lists the subcharts, by name, alias or tag, that must be ready
	// before the chart's own resources.
	DependsOnSubcharts []string `json:"dependsOnSubcharts,omitempty"`
	// DependsOnKey is the key of the annotation that declares DependsOnSubcharts, for
	// messages.
	DependsOnKey string `json:"dependsOnKey,omitempty"`
	// Dependencies are the entries under "dependencies" in Chart.yaml.
	Dependencies []Dependency `json:"dependencies,omitempty"`
	// Subcharts are the enabled subcharts.
	Subcharts []*Chart `json:"subcharts,omitempty"`
	// HookMode is the hookorder.Mode of the chart: whether its hooks run in parallel. If
	// empty, they run as in Helm. The plan does not depend on it.
	HookMode string `json:"runHooksInParallel,omitempty"`
	// ManagesHooks reports whether the objects of the chart's hooks belong to the release,
	// unless a hook declares something else: whether the chart is of the format helm.sh/v3.
	// The plan does not depend on it.
	ManagesHooks bool `json:"managesHooks,omitempty"`
	// External lists the external dependencies of the chart, in the canonical form of package externalneed.
	External []string `json:"external,omitempty"`
	// ExternalKey is the key of the annotation that declares External, for messages.
	ExternalKey string `json:"externalKey,omitempty"`
	// ExternalTimeout limits the wait for External; 0 if the chart declares no limit.
	ExternalTimeout time.Duration `json:"externalTimeout,omitempty"`
	// HookScope says when the hooks of the chart and its subcharts run: annotation.HookScopeChart or
	// annotation.HookScopeRelease. If it is empty, the chart declares nothing.
	HookScope string `json:"hookScope,omitempty"`
	// Problem is the error in the order that the Chart.yaml declares, or nil.
	Problem error `json:"-"`
	// Mistakes are errors about keys and values in the Chart.yaml that have no effect, but
	// were probably meant to declare something about order or hooks.
	Mistakes []error `json:"-"`
}

// Dependency is one entry under "dependencies" in a Chart.yaml.
type Dependency struct {
	// Name is the name of the chart that the entry refers to.
	Name string `json:"name"`
	// Alias is the name of the dependency in the tree of charts, if that differs from Name.
	Alias string   `json:"alias,omitempty"`
	Tags  []string `json:"tags,omitempty"`
	// DependsOn lists the sibling charts, by name, alias or tag, that must be ready before
	// this one.
	DependsOn []string `json:"dependsOn,omitempty"`
	// HookScope is that of the subchart, as in Chart.HookScope.
	HookScope string `json:"hookScope,omitempty"`
	// Disabled reports whether a condition or tag excludes the dependency from the release.
	Disabled bool `json:"disabled,omitempty"`
}

// nameInTree returns the name of the dependency in the tree of charts.
func (d Dependency) nameInTree() string { return cmp.Or(d.Alias, d.Name) }
