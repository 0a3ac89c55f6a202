// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package objectwriter

import (
	"testing"
	"testing/synctest"

	"helm.sh/helm/v3/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/internal/fakeapi"
)

// TestClusterScoped checks that cluster-scoped objects are found regardless of the
// namespace that their manifests declare.
func TestClusterScoped(t *testing.T) {
	const before = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a}, spec: {group: x, scope: y}}"
	const after = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a, namespace: astray}, spec: {group: x}}"
	synctest.Test(t, func(t *testing.T) {
		api := fakeapi.NewWritableAPI(t)
		api.Have(before, "{apiVersion: v1, kind: Namespace, metadata: {name: astray}}")
		c, info := connect(t, api), fakeapi.Info(t, after)
		live, err := c.Live(t.Context(), kube.ResourceList{info})
		if err != nil || live[info] == nil {
			t.Fatalf("found %v, %v", live, err)
		}
		writer := NewRequestWriter(c)
		applied, err := writer.Apply(t.Context(), kube.ResourceList{info}, ApplyOptions{Originals: fakeapi.Infos(t, before)})
		if err != nil || len(applied.Updated) != 1 {
			t.Fatalf("applied %v, %v", applied, err)
		}
		if _, errs := writer.Delete(t.Context(), fakeapi.Infos(t, after), DeleteOptions{Propagation: metav1.DeletePropagationBackground}); errs != nil {
			t.Fatal(errs)
		}
		if api.Get(info) != nil {
			t.Error("it is still there")
		}
	})
}

// TestDelegatedApplyOfClusterScoped checks that no object is deleted by a client that
// treats declarations with and without a namespace as different objects.
func TestDelegatedApplyOfClusterScoped(t *testing.T) {
	p := &otherClient{}
	originals := fakeapi.Infos(t, "{apiVersion: v1, kind: Namespace, metadata: {name: a}}", "{apiVersion: v1, kind: Namespace, metadata: {name: b}}")
	list := fakeapi.Infos(t, "{apiVersion: v1, kind: Namespace, metadata: {name: a, namespace: ns}}", "{apiVersion: v1, kind: Namespace, metadata: {name: b}}")
	if _, err := NewWithoutCluster(p).Apply(t.Context(), list, ApplyOptions{Originals: originals}); err != nil {
		t.Fatal(err)
	}
	if got := fakeapi.Names(p.originals); len(got) != 1 || got[0] != "Namespace/b" {
		t.Errorf("it got %v", got)
	}
}
