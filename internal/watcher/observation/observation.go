// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package observation defines the observations of an object: the versions of the object that
// were watched or read. A Queue holds observations until they are processed. It accepts only
// those that are newer than the last one that it accepted.
package observation

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// Observation is one version of an object that a watch or read request returned, or the fact
// that the object did not exist.
type Observation struct {
	// Object is the observed version, without managedFields. If Gone is true, it is the last
	// version before the deletion, or nil if that version is not known.
	Object *unstructured.Unstructured
	// Version is the resource version of the object, or of the list that did not contain
	// it. It is empty if neither is known.
	Version string
	// Gone is true if the object did not exist.
	Gone bool
	// Current is true if the observation comes from a read, and false if it comes from a
	// watch, whose events can be older than the last read.
	Current bool
}

// Of returns the observation of a version of an object by a watch, or by a write request.
func Of(obj *unstructured.Unstructured) Observation {
	return Observation{Object: withoutManagedFields(obj), Version: obj.GetResourceVersion()}
}

// OfRead returns the observation of an object by a read request. obj is nil if the object was
// not found. version is the resource version of the object, or of the list that was read.
func OfRead(obj *unstructured.Unstructured, version string) Observation {
	o := Observation{Version: version, Gone: obj == nil, Current: true}
	if obj != nil {
		o.Object = withoutManagedFields(obj)
	}
	return o
}

// OfSupplementaryRead is OfRead for a read in addition to a running watch. If the object does
// not exist, the observation has no version, so that delayed events of the watch from before
// the deletion, such as the completion of a Job, are not dropped as older.
func OfSupplementaryRead(obj *unstructured.Unstructured, version string) Observation {
	if obj == nil {
		version = ""
	}
	return OfRead(obj, version)
}

// Before reports whether the resource version a is lower than b.
func Before(a, b string) bool {
	order, ordered := compareVersions(a, b)
	return ordered && order < 0
}

// compareVersions compares two resource versions, as cmp.Compare does. ordered is false if
// they cannot be compared, because one of them is not a number.
func compareVersions(a, b string) (order int, ordered bool) {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return order, err == nil
}

// withoutManagedFields returns a copy of an object without managedFields, which are often
// more than half of its size. The copy shares all other values with the object.
func withoutManagedFields(obj *unstructured.Unstructured) *unstructured.Unstructured {
	metadata, ok := obj.Object["metadata"].(map[string]any)
	if !ok || metadata["managedFields"] == nil {
		return obj
	}
	metadata = maps.Clone(metadata)
	delete(metadata, "managedFields")
	content := maps.Clone(obj.Object)
	content["metadata"] = metadata
	return &unstructured.Unstructured{Object: content}
}
