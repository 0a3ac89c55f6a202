// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package annotation reads the annotations that Ordered Helm defines. Some have alternative
// keys, and values can have several forms, such as a YAML list or a JSON list in a string. The
// package also converts annotations to canonical form: a key that Kubernetes accepts, and a
// string as the value.
package annotation

import "slices"

// The label and the annotations that Helm sets on each object of a release.
const (
	// ManagedByLabel is the label that says that Helm manages an object.
	ManagedByLabel = "app.kubernetes.io/managed-by"
	// ManagedByHelm is the value of ManagedByLabel.
	ManagedByHelm = "Helm"
	// ReleaseName is the name of the release.
	ReleaseName = "meta.helm.sh/release-name"
	// ReleaseNamespace is the namespace of the release.
	ReleaseNamespace = "meta.helm.sh/release-namespace"
)

// Annotations of a resource, in a template's metadata (docs/reference.md,
// "Annotations in templates").
const (
	// Layer is the name of the layer that the resource belongs to.
	Layer = "helm.sh/layer"
	// ResourceGroup is an alternative key for Layer.
	ResourceGroup = "helm.sh/resource-group"
	// DependsOnLayers lists the layers that must be ready before the resource is deployed.
	DependsOnLayers = "depends-on.helm.sh/layers"
	// DependsOnResourceGroups is an alternative key for DependsOnLayers.
	DependsOnResourceGroups = "depends-on.helm.sh/resource-groups"
	// ReadinessSuccess lists readiness expressions. The resource is ready if at least one
	// is true.
	ReadinessSuccess = "helm.sh/readiness-success"
	// ReadinessFailure lists readiness expressions. The resource has failed if at least
	// one is true.
	ReadinessFailure = "helm.sh/readiness-failure"
	// ReadinessTimeout is how long the resource can take to become ready.
	ReadinessTimeout = "helm.sh/readiness-timeout"
	// DependsOnExternal lists objects and releases outside of the release that must be ready
	// before the resource is deployed (package externalneed). In Chart.yaml, it applies to the
	// whole chart.
	DependsOnExternal = "depends-on.helm.sh/external"
	// ExternalTimeout is how long to wait for the objects and releases in DependsOnExternal.
	ExternalTimeout = "helm.sh/external-timeout"
	// DeployOn lists the operations in which the resource is created and changed: install, upgrade and
	// rollback. Without it, these are all.
	DeployOn = "helm.sh/deploy-on"
	// ResourcePolicy is Helm's resource policy. With the value "keep", Helm does not delete
	// the resource.
	ResourcePolicy = "helm.sh/resource-policy"
	// OnImmutable says what to do if the resource cannot be changed in place. It must be
	// OnImmutableRecreate: the resource is deleted and created again.
	OnImmutable         = "helm.sh/on-immutable"
	OnImmutableRecreate = "recreate"
)

// Annotations of a chart, in Chart.yaml (docs/reference.md, "Chart.yaml").
const (
	// DependsOnSubcharts lists the subcharts that must be ready before the chart's own
	// resources are deployed.
	DependsOnSubcharts = "helm.sh/depends-on/subcharts"
	// DependsOnSubchartsCanonical is an alternative key for DependsOnSubcharts, with the
	// same prefix as DependsOnLayers.
	DependsOnSubchartsCanonical = "depends-on.helm.sh/subcharts"
	// RunHooksInParallel says whether hooks of the chart that have the same weight run in
	// parallel.
	RunHooksInParallel = "helm.sh/run-hooks-in-parallel"
	// HookScope says when the hooks of the chart and its subcharts run: before and after the nodes of
	// the chart, or of the whole release.
	HookScope = "helm.sh/hook-scope"
	// Sequencing enables or disables the order that the chart declares. It must be
	// SequencingEnabled or SequencingDisabled.
	Sequencing         = "helm.sh/sequencing"
	SequencingEnabled  = "enabled"
	SequencingDisabled = "disabled"
	// Scripts says whether the scripts of the chart run. It must be ScriptsEnabled or
	// ScriptsDisabled; without it, they do not run.
	Scripts         = "helm.sh/scripts"
	ScriptsEnabled  = "enabled"
	ScriptsDisabled = "disabled"
	// Libraries names those dependencies of a packed chart of the format helm.sh/v3 that are
	// libraries, as a JSON list of strings.
	Libraries = "helm.sh/libraries"
	// LibraryCopy marks the copy of a library that the chart around it uses. Its value is the
	// type of the original.
	LibraryCopy = "helm.sh/library-copy"
)

// These alternative keys come from the proposal for Helm
// (docs/adr/0002-canonical-form-of-annotations.md). Kubernetes rejects them, because they
// contain two slashes.
const (
	dependsOnLayersProposed         = "helm.sh/depends-on/layers"
	dependsOnResourceGroupsProposed = "helm.sh/depends-on/resource-groups"
	dependsOnExternalProposed       = "helm.sh/depends-on/external"
)

// Keys returns the keys, in canonical form, of the sequencing annotations: those that
// declare the order and readiness of a resource.
func Keys() []string {
	return []string{
		Layer, ResourceGroup, DependsOnLayers, DependsOnResourceGroups,
		ReadinessSuccess, ReadinessFailure, ReadinessTimeout, DependsOnExternal, ExternalTimeout, DeployOn,
	}
}

// ChartKeys returns the keys of the annotations in Chart.yaml that declare the order of
// charts and hooks.
func ChartKeys() []string {
	return append(ChartListKeys(), ExternalTimeout, RunHooksInParallel, HookScope, Sequencing)
}

// ChartListKeys returns those of ChartKeys whose values are lists.
func ChartListKeys() []string {
	return []string{DependsOnSubcharts, DependsOnSubchartsCanonical, DependsOnExternal, dependsOnExternalProposed}
}

// IsChartList reports whether key is one of ChartListKeys.
func IsChartList(key string) bool { return slices.Contains(ChartListKeys(), key) }

// CanonicalChartKey is like CanonicalKey, for an annotation in Chart.yaml.
func CanonicalChartKey(key string) string {
	switch key {
	case DependsOnSubcharts:
		return DependsOnSubchartsCanonical
	case dependsOnExternalProposed:
		return DependsOnExternal
	}
	return key
}

// CanonicalKey returns the form of key that Kubernetes accepts, if key is an alternative
// key of a sequencing annotation that contains two slashes. Otherwise it returns key
// itself.
func CanonicalKey(key string) string {
	switch key {
	case dependsOnLayersProposed:
		return DependsOnLayers
	case dependsOnResourceGroupsProposed:
		return DependsOnResourceGroups
	case dependsOnExternalProposed:
		return DependsOnExternal
	}
	return key
}

// IsList reports whether key is the key of a sequencing annotation (see Keys) whose value
// is a list.
func IsList(key string) bool {
	switch CanonicalKey(key) {
	case DependsOnLayers, DependsOnResourceGroups, DependsOnExternal, ReadinessSuccess, ReadinessFailure, DeployOn:
		return true
	}
	return false
}

// IsSequencingKey reports whether key is the key of a sequencing annotation (see Keys), in
// canonical form or not.
func IsSequencingKey(key string) bool {
	switch key {
	case Layer, ResourceGroup, ReadinessTimeout, ExternalTimeout:
		return true
	}
	return IsList(key)
}
