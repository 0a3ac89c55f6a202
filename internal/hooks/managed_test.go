// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/object"
)

func TestIsRemovable(t *testing.T) {
	for _, tt := range []struct {
		name, apiVersion, kind string
		annotations            map[string]string
		want                   bool
	}{
		{name: "ConfigMap", apiVersion: "v1", kind: "ConfigMap", want: true},
		{name: "Namespace", apiVersion: "v1", kind: "Namespace"},
		{name: "volume claim", apiVersion: "v1", kind: "PersistentVolumeClaim"},
		{name: "CRD", apiVersion: "apiextensions.k8s.io/v1", kind: object.CRDKind},
		{name: "kind with the same name", apiVersion: "example.com/v1", kind: "Namespace", want: true},
		{name: "kept", apiVersion: "v1", kind: "ConfigMap", annotations: map[string]string{"helm.sh/resource-policy": "keep"}},
		{name: "unknown policy", apiVersion: "v1", kind: "ConfigMap", annotations: map[string]string{"helm.sh/resource-policy": "x"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			declared := &unstructured.Unstructured{Object: object.Reference(tt.apiVersion, tt.kind, "test", "a")}
			declared.SetAnnotations(tt.annotations)
			info := &object.Info{
				Name: "a", Namespace: "test", Object: declared,
				Mapping: &meta.RESTMapping{GroupVersionKind: schema.FromAPIVersionAndKind(tt.apiVersion, tt.kind), Scope: meta.RESTScopeNamespace},
			}
			if got := IsRemovable(info); got != tt.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
