// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package annotation reads and writes the annotations of this project. It accepts several
// keys for some annotations and several forms of their values. It writes the canonical
// form: a key that Kubernetes accepts, and a string as the value.
package annotation

// Annotations of a resource, in a template's metadata (docs/reference.md,
// "Annotations in templates").
const (
	// Layer names the layer of a resource.
	Layer = "helm.sh/layer"
	// ResourceGroup is another key for Layer.
	ResourceGroup = "helm.sh/resource-group"
	// DependsOnLayers lists the layers that must be ready before the resource is deployed.
	DependsOnLayers = "depends-on.helm.sh/layers"
	// DependsOnResourceGroups is another key for DependsOnLayers.
	DependsOnResourceGroups = "depends-on.helm.sh/resource-groups"
	// ReadinessSuccess lists expressions. The resource is ready if at least one is true.
	ReadinessSuccess = "helm.sh/readiness-success"
	// ReadinessFailure lists expressions. The resource has failed if at least one is true.
	ReadinessFailure = "helm.sh/readiness-failure"
	// ReadinessTimeout is how long the resource can take to become ready.
	ReadinessTimeout = "helm.sh/readiness-timeout"
	// ResourcePolicy is Helm's resource policy. With the value "keep", Helm does not delete
	// the resource.
	ResourcePolicy = "helm.sh/resource-policy"
)

// Annotations of a chart, in Chart.yaml (docs/reference.md, "Chart.yaml").
const (
	// DependsOnSubcharts lists the subcharts that must be ready before the chart's own
	// resources.
	DependsOnSubcharts = "helm.sh/depends-on/subcharts"
	// DependsOnSubchartsCanonical is another key for DependsOnSubcharts, of the same form
	// as DependsOnLayers.
	DependsOnSubchartsCanonical = "depends-on.helm.sh/subcharts"
	// RunHooksInParallel selects how the hooks of the chart run.
	RunHooksInParallel = "helm.sh/run-hooks-in-parallel"
	// Sequencing enables sequencing for a chart whose apiVersion is below v3.
	Sequencing = "helm.sh/sequencing"
)

// These keys occur in the proposals for Helm. Kubernetes rejects them, because they have
// two slashes.
const (
	dependsOnLayersProposed         = "helm.sh/depends-on/layers"
	dependsOnResourceGroupsProposed = "helm.sh/depends-on/resource-groups"
)

// Keys returns the keys of all sequencing annotations of a resource, in canonical form.
func Keys() []string {
	return []string{
		Layer, ResourceGroup, DependsOnLayers, DependsOnResourceGroups,
		ReadinessSuccess, ReadinessFailure, ReadinessTimeout,
	}
}

// ChartKeys returns the keys of all sequencing annotations of a chart.
func ChartKeys() []string {
	return []string{DependsOnSubcharts, DependsOnSubchartsCanonical, RunHooksInParallel, Sequencing}
}

// CanonicalKey returns the form of key that Kubernetes accepts. This is key itself, unless
// it has two slashes.
func CanonicalKey(key string) string {
	switch key {
	case dependsOnLayersProposed:
		return DependsOnLayers
	case dependsOnResourceGroupsProposed:
		return DependsOnResourceGroups
	}
	return key
}

// IsList reports whether the value of a sequencing annotation with this key is a list.
func IsList(key string) bool {
	switch CanonicalKey(key) {
	case DependsOnLayers, DependsOnResourceGroups, ReadinessSuccess, ReadinessFailure:
		return true
	}
	return false
}

// IsSequencingKey reports whether key is a sequencing annotation of a resource, in any
// form.
func IsSequencingKey(key string) bool {
	switch key {
	case Layer, ResourceGroup, ReadinessTimeout:
		return true
	}
	return IsList(key)
}
