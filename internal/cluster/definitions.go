// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/object"
)

// DefinedKinds returns the kinds that the CRDs in a list define, in each version that is
// served. It ignores all other objects.
func DefinedKinds(list kube.ResourceList) []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for _, info := range list {
		definition, err := object.AsUnstructured(info.Object)
		if err != nil || definition.GetKind() != "CustomResourceDefinition" {
			continue
		}
		group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
		for _, version := range servedVersions(definition) {
			kinds = append(kinds, schema.GroupVersionKind{Group: group, Version: version, Kind: kind})
		}
	}
	return kinds
}

func servedVersions(definition *unstructured.Unstructured) []string {
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	var served []string
	for _, entry := range versions {
		version, ok := entry.(map[string]any)
		if !ok || version["served"] != true {
			continue
		}
		if name, ok := version["name"].(string); ok {
			served = append(served, name)
		}
	}
	return served
}
