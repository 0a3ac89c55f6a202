// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package releaseapi defines releases as Kubernetes objects: the kinds Release and
// ReleaseVersion, and a client for them. It decides what such an object can contain, not what is
// written to it when. Package releasecrds has their CustomResourceDefinitions.
package releaseapi

import (
	"slices"
	"strconv"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// Group is the API group of both kinds.
	Group = "helm.sh"
	// Version is the only version of the API group.
	Version = "v1alpha1"
	// APIVersion is the apiVersion of both kinds.
	APIVersion = Group + "/" + Version

	// ReleaseKind is the kind of Release.
	ReleaseKind = "Release"
	// ReleaseResource is the plural name of Release in requests.
	ReleaseResource = "releases"
	// ReleaseVersionKind is the kind of ReleaseVersion.
	ReleaseVersionKind = "ReleaseVersion"
	// ReleaseVersionResource is the plural name of ReleaseVersion in requests.
	ReleaseVersionResource = "releaseversions"
)

const (
	// HeritageLabel has the value Heritage on every Release and ReleaseVersion.
	HeritageLabel = "heritage"
	// Heritage is the value of HeritageLabel.
	Heritage = "helm"
	// ReleaseLabel is the label of a ReleaseVersion with the name of its release.
	ReleaseLabel = "helm.sh/release"
	// RevisionLabel is the label of a ReleaseVersion with its revision, a decimal number.
	RevisionLabel = "helm.sh/revision"

	// DefinitionsVersionAnnotation is the annotation of a CustomResourceDefinition with the
	// DefinitionsVersion of the program that wrote it.
	DefinitionsVersionAnnotation = "helm.sh/definitions-version"
	// DefinitionsVersion is increased whenever a definition changes. A newer definition
	// accepts every object that an older one accepts.
	DefinitionsVersion = 1
)

const (
	// MaxDescriptionLength is the maximum number of characters in a description. Longer ones
	// must be truncated, because the API server would reject the whole object.
	MaxDescriptionLength = 8192
	// maxChartText is the maximum number of characters in a field of Chart.
	maxChartText = 1024
)

// Truncate returns at most the first characters of a text, as many as limit.
func Truncate(text string, limit int) string {
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	return string([]rune(text)[:limit])
}

// ReleaseGVR returns the resource of Release.
func ReleaseGVR() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: Group, Version: Version, Resource: ReleaseResource}
}

// ReleaseVersionGVR returns the resource of ReleaseVersion.
func ReleaseVersionGVR() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: Group, Version: Version, Resource: ReleaseVersionResource}
}

// VersionsOf returns a label selector for the ReleaseVersions of a release.
func VersionsOf(release string) string { return ReleaseLabel + "=" + release }

// NewRelease returns a Release with its name, namespace and labels.
func NewRelease(namespace, name string) *Release {
	return &Release{
		TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: ReleaseKind},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, Labels: map[string]string{HeritageLabel: Heritage},
		},
	}
}

// NewReleaseVersion returns a ReleaseVersion with its labels. The name is a lower-case ULID.
func NewReleaseVersion(namespace, name string, spec ReleaseVersionSpec) *ReleaseVersion {
	return &ReleaseVersion{
		TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: ReleaseVersionKind},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name,
			Labels: map[string]string{
				HeritageLabel: Heritage, ReleaseLabel: spec.ReleaseName, RevisionLabel: strconv.FormatInt(spec.Revision, 10),
			},
		},
		Spec: spec,
	}
}

// OwnerReference returns a reference to an object of this package that exists in the cluster,
// for the objects that it owns. It sets neither controller nor blockOwnerDeletion, because
// nothing controls the objects of a release, and their deletion must not block that of others.
func OwnerReference(owner Object) metav1.OwnerReference {
	kind := owner.groupVersionKind()
	return metav1.OwnerReference{APIVersion: APIVersion, Kind: kind.Kind, Name: owner.GetName(), UID: owner.GetUID()}
}

// IsOwned reports whether an object has a reference to an owner.
func IsOwned(object metav1.Object, owner Object) bool {
	return slices.ContainsFunc(object.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == owner.GetUID() })
}
