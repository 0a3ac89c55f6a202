// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package sequencer computes the order in which the resources of a release are deployed.
// Build turns charts and their rendered resources into a Plan: a graph whose nodes are sets
// of resources. Execute calls a function for each node, after those that it depends on. Build
// uses no cluster, and its result depends only on its input (docs/reference.md, "The graph").
package sequencer

import (
	"cmp"
	"time"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/objectid"
	"github.com/ordered-helm/helm/internal/orderfile"
)

// Input describes the release for which Build computes a plan.
type Input struct {
	// Root is the root chart of the release.
	Root *Chart
	// Resources are the rendered resources except hooks, in any order. Build replaces a
	// document of kind List with its items.
	Resources []Resource
	// Namespace is the namespace of the release. It applies to resources that do not
	// specify one.
	Namespace string
	// WrittenKeys contains the keys of annotations as their templates contain them, for
	// messages, if the keys in Resources are in canonical form instead. It can be nil.
	WrittenKeys map[AnnotationKey]string
	// OrderFiles are the order files that apply to the release. It can be nil.
	OrderFiles *orderfile.Set
	// Operation is the operation for which the plan is built. It decides which hooks of charts run as
	// Steps, and in which order.
	Operation Operation
	// IgnoreDeployOn makes all resources take part in Operation, whatever their annotations say.
	IgnoreDeployOn bool
	// IgnoreExternal omits the waits for external dependencies.
	IgnoreExternal bool
	// Hooks are the hooks of the release. Only those in charts with a hook scope matter.
	Hooks []Hook
}

// Operation is what a plan is built for. The empty Operation is for plans that only show an order.
type Operation string

// The operations. In a plan for Uninstall, the hooks that run after the deletion of a chart stand before
// its nodes, because deletion follows the plan in reverse.
const (
	Install   Operation = "install"
	Upgrade   Operation = "upgrade"
	Rollback  Operation = "rollback"
	Uninstall Operation = "uninstall"
)

// Hook is a hook of a release.
type Hook struct {
	// Chart is the path of its chart, as in Resource.Chart.
	Chart  string
	Events []release.HookEvent
}

// AnnotationKey is the key of an annotation in a template. Object is the kind and the name of
// the object, as in ID.String.
type AnnotationKey struct{ File, Object, Key string }

// writtenKey returns the key of an annotation of r as its template contains it.
func (in Input) writtenKey(r *draftResource, key string) string {
	if len(in.WrittenKeys) == 0 {
		return key
	}
	return cmp.Or(in.WrittenKeys[AnnotationKey{r.File, r.ID.String(), key}], key)
}

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

// Resource is one rendered document of a template.
type Resource struct {
	// Chart is the path of the chart that contains the template: the names of the charts
	// from the root down, joined with "/".
	Chart string
	// File is the path of the template, for messages.
	File string
	// Object is the parsed document.
	Object map[string]any

	// policy is the value of helm.sh/resource-policy on the List that contained the resource.
	policy string
	// source is the index in Input.Resources of the resource, or of the List that
	// contained it.
	source int
}

// ID identifies an object in a cluster.
type ID = objectid.ID
