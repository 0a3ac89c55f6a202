// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"
)

// ReportsReadiness reports whether Compute has anything to go by. It is true for
// every kind that is built into Kubernetes, and for a custom resource that bears
// a Ready, Reconciling or Stalled condition or says which generation its
// controller observed. Otherwise Compute takes the object for ready the moment
// it exists. A custom resource bears none of these before its controller has
// written a status, so ask once there was time for that.
func ReportsReadiness(obj *unstructured.Unstructured) bool {
	if isBuiltIn(obj) {
		return true
	}
	for _, c := range conditions(obj) {
		switch c.kind {
		case "Ready", "Reconciling", "Stalled":
			return true
		}
	}
	_, observed := asInt(field(obj, "status", "observedGeneration"))
	return observed
}

func isBuiltIn(obj *unstructured.Unstructured) bool {
	switch group := obj.GroupVersionKind().Group; group {
	case "apiextensions.k8s.io", "apiregistration.k8s.io":
		return true
	default:
		return scheme.Scheme.IsGroupRegistered(group)
	}
}
