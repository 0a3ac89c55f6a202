// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package annotation reads and writes sequencing annotations. It accepts every key and
// every form of the values, and writes the canonical form of both, which Kubernetes
// accepts.
package annotation

// Annotations of a resource, in a template's metadata (docs/reference.md,
// "Annotations in templates").
const (
	// Layer names the layer of a resource.
	Layer = "helm.sh/layer"
	// ResourceGroup is another key for Layer.
	ResourceGroup = "helm.sh/resource-group"
	// DependsOnLayers lists the layers that must be ready first. Kubernetes accepts this
	// key.
	DependsOnLayers = "depends-on.helm.sh/layers"
	// DependsOnResourceGroups is another key for DependsOnLayers.
	DependsOnResourceGroups = "depends-on.helm.sh/resource-groups"
	// ReadinessSuccess lists expressions. If any is true, the resource is ready.
	ReadinessSuccess = "helm.sh/readiness-success"
	// ReadinessFailure lists expressions. If any is true, the resource has failed.
	ReadinessFailure = "helm.sh/readiness-failure"
	// ReadinessTimeout is how long a resource may take to get ready.
	ReadinessTimeout = "helm.sh/readiness-timeout"
	// ResourcePolicy is Helm's resource policy, which may keep a resource.
	ResourcePolicy = "helm.sh/resource-policy"
)

// Annotations of a chart, in Chart.yaml (docs/reference.md, "Chart.yaml").
const (
	// DependsOnSubcharts lists the subcharts that must be ready before the chart's own
	// resources.
	DependsOnSubcharts = "helm.sh/depends-on/subcharts"
	// DependsOnSubchartsCanonical is DependsOnSubcharts as a key of the same form as
	// DependsOnLayers.
	DependsOnSubchartsCanonical = "depends-on.helm.sh/subcharts"
	// RunHooksInParallel selects how the hooks of the chart run.
	RunHooksInParallel = "helm.sh/run-hooks-in-parallel"
	// Sequencing enables sequencing for a chart with an apiVersion below v3.
	Sequencing = "helm.sh/sequencing"
)

// These keys are from the proposals. Kubernetes rejects them, because they have two
// slashes.
const (
	dependsOnLayersProposed         = "helm.sh/depends-on/layers"
	dependsOnResourceGroupsProposed = "helm.sh/depends-on/resource-groups"
)

// Keys returns the canonical keys of all sequencing annotations of a resource.
func Keys() []string {
	return []string{
		Layer, ResourceGroup, DependsOnLayers, DependsOnResourceGroups,
		ReadinessSuccess, ReadinessFailure, ReadinessTimeout,
	}
}

// CanonicalKey returns the form of a key that Kubernetes accepts. It differs from the key
// only if the key has two slashes.
func CanonicalKey(key string) string {
	switch key {
	case dependsOnLayersProposed:
		return DependsOnLayers
	case dependsOnResourceGroupsProposed:
		return DependsOnResourceGroups
	}
	return key
}

// IsList reports whether the value of a key is a list.
func IsList(key string) bool {
	switch CanonicalKey(key) {
	case DependsOnLayers, DependsOnResourceGroups, ReadinessSuccess, ReadinessFailure:
		return true
	}
	return false
}

// IsSequencingKey reports whether a key is a sequencing annotation of a resource.
func IsSequencingKey(key string) bool {
	switch key {
	case Layer, ResourceGroup, ReadinessTimeout:
		return true
	}
	return IsList(key)
}
