// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/ordered-helm/helm/internal/field"
)

// ReportsReadiness reports whether the content of an object says whether it is ready. This is
// the case for all kinds that are built into Kubernetes, and for custom resources with a
// Ready, Reconciling or Stalled condition or an observed generation. Compute considers other
// objects ready as soon as they exist. For a new custom resource, the result can be wrongly
// false until its controller has written the status.
func ReportsReadiness(obj *unstructured.Unstructured) bool {
	if isBuiltIn(obj) {
		return true
	}
	_, observed := field.AsInt(field.Get(obj.Object, "status", "observedGeneration"))
	return observed || slices.ContainsFunc(field.Conditions(obj.Object), func(c field.StatusCondition) bool {
		return c.Type == "Ready" || c.Type == "Reconciling" || c.Type == "Stalled"
	})
}

func isBuiltIn(obj *unstructured.Unstructured) bool {
	switch group := obj.GroupVersionKind().Group; group {
	case "apiextensions.k8s.io", "apiregistration.k8s.io":
		return true
	default:
		return scheme.Scheme.IsGroupRegistered(group)
	}
}
