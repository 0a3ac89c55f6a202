// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"strings"

	"github.com/ordered-helm/helm/internal/field"
)

// ReadOnImmutable reports whether a resource declares that it is deleted and created again if it cannot be changed in
// place. It returns a *ValueError if OnImmutable has another value than OnImmutableRecreate, or if only the user can allow
// this for resources of its kind.
func ReadOnImmutable(resource map[string]any) (recreate bool, err error) {
	value := field.Get(resource, "metadata", "annotations", OnImmutable)
	switch {
	case value == nil:
		return false, nil
	case value != OnImmutableRecreate:
		return false, newValueError(OnImmutable, value, `must be "recreate"`)
	case !mayDeclareOnImmutable(resource):
		return false, newValueError(OnImmutable, value, "is only for Jobs, Pods, and ConfigMaps and Secrets with immutable: true; the user can allow it for others")
	}
	return true, nil
}

// mayDeclareOnImmutable reports whether a chart can allow that a resource is recreated.
func mayDeclareOnImmutable(resource map[string]any) bool {
	group, _, _ := strings.Cut(field.String(resource, "apiVersion"), "/")
	switch group + "/" + field.String(resource, "kind") {
	case "batch/Job", "v1/Pod":
		return true
	case "v1/ConfigMap", "v1/Secret":
		return field.Bool(resource, "immutable")
	}
	return false
}
