// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"testing"
	"testing/synctest"

	"helm.sh/helm/v3/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestObjectsOfTheWholeCluster are found wherever their manifests say that they
// are.
func TestObjectsOfTheWholeCluster(t *testing.T) {
	const before = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a}, spec: {group: x, scope: y}}"
	const after = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a, namespace: astray}, spec: {group: x}}"
	synctest.Test(t, func(t *testing.T) {
		api := newFakeAPI(t)
		api.have(before, "{apiVersion: v1, kind: Namespace, metadata: {name: astray}}")
		client, info := api.client(), parseObject(t, after)
		live, err := client.Live(t.Context(), kube.ResourceList{info})
		if err != nil || live[info] == nil {
			t.Fatalf("found %v, %v", live, err)
		}
		applied, err := client.Apply(t.Context(), kube.ResourceList{info}, ApplyOptions{Originals: objects(t, before)})
		if err != nil || len(applied.Updated) != 1 {
			t.Fatalf("applied %v, %v", applied, err)
		}
		if _, errs := client.Delete(t.Context(), objects(t, after), metav1.DeletePropagationBackground); errs != nil {
			t.Fatal(errs)
		}
		if api.now(info) != nil {
			t.Error("it is still there")
		}
	})
}

// TestApplyPlayedKeepsObjectsOfTheWholeCluster from being deleted by a client
// that takes two spellings of an object for two objects.
func TestApplyPlayedKeepsObjectsOfTheWholeCluster(t *testing.T) {
	p := &played{}
	originals := objects(t, "{apiVersion: v1, kind: Namespace, metadata: {name: a}}", "{apiVersion: v1, kind: Namespace, metadata: {name: b}}")
	list := objects(t, "{apiVersion: v1, kind: Namespace, metadata: {name: a, namespace: ns}}", "{apiVersion: v1, kind: Namespace, metadata: {name: b}}")
	if _, err := New(p, nil, nil).Apply(t.Context(), list, ApplyOptions{Originals: originals}); err != nil {
		t.Fatal(err)
	}
	if got := names(p.originals); len(got) != 1 || got[0] != "Namespace/b" {
		t.Errorf("it got %v", got)
	}
}
