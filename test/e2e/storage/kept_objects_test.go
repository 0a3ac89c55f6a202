// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/releaseapi"
	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

const (
	keepPatch  = `{"metadata":{"annotations":{"helm.sh/resource-policy":"keep"}}}`
	otherPatch = `{"metadata":{"annotations":{"meta.helm.sh/release-name":"other"}}}`
)

// keptChart has the object kept unless the value dropped is set.
const keptChart = `apiVersion: v1
kind: ConfigMap
metadata: {name: owned}
{{ if not .Values.dropped }}---
apiVersion: v1
kind: ConfigMap
metadata: {name: kept}
{{ end }}`

// createOwned creates a ConfigMap that the Release rel owns, but that is not part of the release, and returns a function
// that waits until the garbage collector has deleted it.
func createOwned(t *testing.T, h *harness.Helm) (awaitDeleted func()) {
	t.Helper()
	parent, err := h.Client.Resource(releaseapi.ReleaseGVR()).Namespace(h.Namespace).Get(t.Context(), "rel", metav1.GetOptions{})
	harness.NoError(t, err)
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "by-hand"}}}
	o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: releaseapi.APIVersion, Kind: releaseapi.ReleaseKind, Name: "rel", UID: parent.GetUID()}})
	_, err = h.Resource("v1", "ConfigMap").Create(t.Context(), o, metav1.CreateOptions{})
	harness.NoError(t, err)
	return func() {
		t.Helper()
		harness.Eventually(t, "the garbage collector deletes what the Release owned", func() bool { return h.Get(t, "ConfigMap/by-hand") == nil })
	}
}

// TestKeptObjects checks that the garbage collector does not delete objects with a Release that an operation keeps
// although nobody has declared that they are to be kept.
func TestKeptObjects(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		patch string
		// withoutReferences says that the later operations set no references.
		withoutReferences bool
		upgrade           []string // arguments of an upgrade without the object
		uninstall         []string
	}{
		"of another release":                       {patch: otherPatch, uninstall: []string{"--wait=ordered"}},
		"of another release, without an order":     {patch: otherPatch, uninstall: []string{"--wait=false"}},
		"of another release, without references":   {patch: otherPatch, withoutReferences: true, uninstall: []string{"--wait=ordered"}},
		"kept by an upgrade":                       {patch: keepPatch, upgrade: []string{"--wait=false"}},
		"kept by an ordered upgrade":               {patch: keepPatch, upgrade: []string{"--wait=ordered"}},
		"of another release at an ordered upgrade": {patch: otherPatch, upgrade: []string{"--wait=ordered"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := withObjects(t)
			dir := charts.WriteTemplate(t, keptChart)
			h.MustRun("install", "rel", dir, "--wait=ordered")
			h.Patch(t, "ConfigMap/kept", tt.patch)
			awaitDeleted := createOwned(t, h)
			if tt.withoutReferences {
				h.Env = append(h.Env, "HELM_OWNER_REFERENCES=false")
			}
			if tt.upgrade != nil {
				h.MustRun(append([]string{"upgrade", "rel", dir, "--set", "dropped=true"}, tt.upgrade...)...)
				if got := owners(h.Get(t, "ConfigMap/kept")); got != "" {
					t.Errorf("it has the owners %q after the upgrade", got)
				}
			}
			h.MustRun(append([]string{"uninstall", "rel"}, tt.uninstall...)...)
			awaitDeleted()
			if h.Get(t, "ConfigMap/kept") == nil {
				t.Error("it is gone")
			}
			if h.Get(t, "ConfigMap/owned") != nil {
				t.Error("the other object of the release is left")
			}
			expectNothingLeft(t, h)
		})
	}
}

// TestOtherReleaseTakesObject checks that an object belongs to the Release of the release that takes it, and that the
// reference has neither controller nor blockOwnerDeletion.
func TestOtherReleaseTakesObject(t *testing.T) {
	t.Parallel()
	h := withObjects(t)
	dir := charts.WriteTemplate(t, plainChart)
	h.MustRun("install", "rel", dir, "--wait=ordered")
	h.MustRun("install", "other", dir, "--take-ownership", "--wait=ordered")
	references := h.Get(t, "ConfigMap/own").GetOwnerReferences()
	if len(references) != 1 || references[0].Name != "other" || references[0].Controller != nil || references[0].BlockOwnerDeletion != nil {
		t.Errorf("the owners are %+v", references)
	}
	awaitDeleted := createOwned(t, h)
	h.MustRun("uninstall", "rel")
	awaitDeleted()
	if h.Get(t, "ConfigMap/own") == nil {
		t.Error("the object is gone")
	}
	h.MustRun("uninstall", "other")
	if h.Get(t, "ConfigMap/own") != nil {
		t.Error("the object is left")
	}
	expectNothingLeft(t, h)
}
