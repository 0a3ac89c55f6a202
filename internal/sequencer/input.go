// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package sequencer computes the order in which the resources of a release are deployed.
// Build turns charts and their rendered resources into a Plan: a graph whose nodes are sets
// of resources. Build uses no cluster, and its result depends only on its input (docs/reference.md, "The graph").
package sequencer

import (
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/chartorder"
	"github.com/ordered-helm/helm/internal/objectid"
	"github.com/ordered-helm/helm/internal/orderfile"
	"github.com/ordered-helm/helm/internal/resourceorder"
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

type (
	// Chart is one chart of a release, with what its Chart.yaml declares about the order.
	Chart = chartorder.Chart
	// Dependency is one entry under "dependencies" in a Chart.yaml.
	Dependency = chartorder.Dependency
	// Reason is the place in a chart that declares an Edge.
	Reason = chartorder.Reason
	// AnnotationKey is the key of an annotation in a template.
	AnnotationKey = resourceorder.AnnotationKey
)

// MaxDependencies limits how many dependencies a release can declare.
const MaxDependencies = chartorder.MaxDependencies

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
