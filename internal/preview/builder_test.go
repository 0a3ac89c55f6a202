// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/prune"
)

// TestAddRemoved checks that the steps in which the objects of a node are deleted are
// merged if no other node is deleted between them.
func TestAddRemoved(t *testing.T) {
	b := NewBuilder(nil, "upgrade")
	kept := prune.KeptObject{Info: &object.Info{Name: "x", Mapping: &meta.RESTMapping{
		GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Scope: meta.RESTScopeNamespace,
	}}}
	for _, node := range []string{"shop:b", "shop:b", "shop:none", "shop:a", "shop:b"} {
		found := &prune.FoundObjects{Kept: []prune.KeptObject{kept}}
		if node == "shop:none" {
			found.Kept = nil
		}
		b.addRemoved(t.Context(), node, found)
	}
	var got []string
	for _, n := range b.preview.Removed {
		got = append(got, fmt.Sprint(n.Node, len(n.Objects)))
	}
	if want := "shop:b2 shop:a1 shop:b1"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}
