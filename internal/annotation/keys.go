// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package annotation reads and writes the annotations by which a chart says in
// what order it deploys: their keys in every accepted spelling, their values
// in every accepted form, and the one form of both that Kubernetes accepts.
package annotation

// Annotations of a resource, in a template's metadata (docs/reference.md,
// "Annotations in templates").
const (
	// Layer names the layer that a resource belongs to.
	Layer = "helm.sh/layer"
	// ResourceGroup is the later name of Layer.
	ResourceGroup = "helm.sh/resource-group"
	// DependsOnLayers lists the layers that must be ready first, under a key
	// that Kubernetes accepts.
	DependsOnLayers = "depends-on.helm.sh/layers"
	// DependsOnResourceGroups is the later name of DependsOnLayers.
	DependsOnResourceGroups = "depends-on.helm.sh/resource-groups"
	// ReadinessSuccess lists expressions any of which makes a resource ready.
	ReadinessSuccess = "helm.sh/readiness-success"
	// ReadinessFailure lists expressions any of which makes a resource failed.
	ReadinessFailure = "helm.sh/readiness-failure"
	// ReadinessTimeout says how long to wait until a resource is ready.
	ReadinessTimeout = "helm.sh/readiness-timeout"
	// ResourcePolicy is Helm's own: it may say that a resource is to be kept.
	ResourcePolicy = "helm.sh/resource-policy"
)

// Annotations of a chart, in Chart.yaml (docs/reference.md, "Chart.yaml").
const (
	// DependsOnSubcharts lists the subcharts that must be ready before the
	// chart's own resources.
	DependsOnSubcharts = "helm.sh/depends-on/subcharts"
	// DependsOnSubchartsCanonical is DependsOnSubcharts in the style of
	// DependsOnLayers.
	DependsOnSubchartsCanonical = "depends-on.helm.sh/subcharts"
	// RunHooksInParallel says how the chart's hooks run.
	RunHooksInParallel = "helm.sh/run-hooks-in-parallel"
	// Sequencing opts a chart below apiVersion v3 in to sequencing.
	Sequencing = "helm.sh/sequencing"
)

// Keys of the proposals that Kubernetes refuses, because they have two slashes.
const (
	dependsOnLayersProposed         = "helm.sh/depends-on/layers"
	dependsOnResourceGroupsProposed = "helm.sh/depends-on/resource-groups"
)

// Keys lists the keys that a resource's sequencing is read from, in the
// spelling that Kubernetes accepts.
func Keys() []string {
	return []string{
		Layer, ResourceGroup, DependsOnLayers, DependsOnResourceGroups,
		ReadinessSuccess, ReadinessFailure, ReadinessTimeout,
	}
}

// CanonicalKey returns the spelling of a resource's annotation key that Kubernetes
// accepts: the key itself unless it is one of the proposals' two-slash keys.
func CanonicalKey(key string) string {
	switch key {
	case dependsOnLayersProposed:
		return DependsOnLayers
	case dependsOnResourceGroupsProposed:
		return DependsOnResourceGroups
	}
	return key
}

// IsList reports whether a resource's annotation key takes a list.
func IsList(key string) bool {
	switch CanonicalKey(key) {
	case DependsOnLayers, DependsOnResourceGroups, ReadinessSuccess, ReadinessFailure:
		return true
	}
	return false
}

// IsSequencingKey reports whether the key is one that a resource's sequencing is read
// from.
func IsSequencingKey(key string) bool {
	switch key {
	case Layer, ResourceGroup, ReadinessTimeout:
		return true
	}
	return IsList(key)
}
