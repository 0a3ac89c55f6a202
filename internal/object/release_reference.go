// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/releaseapi"
)

// ReleaseReference is the reference to the Release that owns the objects of a release (docs/reference.md,
// "Owner references"). A nil *ReleaseReference owns nothing, as with other storage drivers than crd.
type ReleaseReference struct {
	Reference metav1.OwnerReference
	// Namespace is the namespace of the Release. Objects elsewhere cannot have a reference to it.
	Namespace string
}

// References returns the owner references that an object must have. before are those that it has: in the cluster,
// or in its declaration if it does not exist. References to other Releases are removed, because the object now
// belongs to this release, and references to other owners stay.
func (r *ReleaseReference) References(info *Info, declared *unstructured.Unstructured, before []metav1.OwnerReference) []metav1.OwnerReference {
	if r == nil && !slices.ContainsFunc(before, isReleaseReference) {
		return before
	}
	owned := r != nil && Namespace(info) == r.Namespace && !PolicyKeeps(ResourcePolicy(declared))
	if owned && slices.Contains(before, r.Reference) {
		return before
	}
	references := slices.DeleteFunc(slices.Clone(before), isReleaseReference)
	if owned {
		references = append(references, r.Reference)
	}
	return references
}

// isReleaseReference reports whether an owner is a Release.
func isReleaseReference(r metav1.OwnerReference) bool {
	return r.APIVersion == releaseapi.APIVersion && r.Kind == releaseapi.ReleaseKind
}
