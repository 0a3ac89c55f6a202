// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package object

import "k8s.io/apimachinery/pkg/runtime/schema"

// CollectionPath returns the elements of the URL path of all objects of an API resource in a
// namespace. The namespace is empty for cluster-scoped objects.
func CollectionPath(gvr schema.GroupVersionResource, namespace string) []string {
	path := []string{"apis", gvr.Group, gvr.Version}
	if gvr.Group == "" {
		path = []string{"api", gvr.Version}
	}
	if namespace != "" {
		path = append(path, "namespaces", namespace)
	}
	return append(path, gvr.Resource)
}

// Path returns the elements of the URL path of an object.
func Path(info *Info) []string {
	return append(CollectionPath(info.Mapping.Resource, Namespace(info)), info.Name)
}
