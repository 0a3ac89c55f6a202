// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package object_test

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/fakeapi"
	"github.com/ordered-helm/helm/internal/object"
)

func TestDefinedKinds(t *testing.T) {
	list := fakeapi.Infos(t,
		`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com}, spec: {
			group: example.com, names: {kind: Widget}, versions: [{name: v1, served: true}, {name: v0, served: false}, {name: v2, served: true}, odd]}}`,
		fakeapi.ConfigMap("a", "x: i"),
		"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: empty}}",
	)
	want := []schema.GroupVersionKind{
		{Group: "example.com", Version: "v1", Kind: "Widget"},
		{Group: "example.com", Version: "v2", Kind: "Widget"},
	}
	if got := object.DefinedKinds(list); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
