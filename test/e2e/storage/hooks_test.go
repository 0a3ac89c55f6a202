// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/internal/releaseapi"
	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// hooksChart has hooks that are managed, unmanaged, to be kept, and never deleted with a release.
const hooksChart = `apiVersion: v1
kind: ConfigMap
metadata: {name: own}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: managed, annotations: {helm.sh/hook: pre-install, helm.sh/hook-policy: managed}}
---
apiVersion: v1
kind: ConfigMap
metadata: {generateName: generated-, annotations: {helm.sh/hook: pre-install, helm.sh/hook-policy: managed, helm.sh/hook-delete-policy: hook-failed}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: unmanaged, annotations: {helm.sh/hook: pre-install}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: kept, annotations: {helm.sh/hook: pre-install, helm.sh/hook-policy: managed, helm.sh/resource-policy: keep}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: claim, annotations: {helm.sh/hook: pre-install, helm.sh/hook-policy: managed}}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}
`

// TestHooksAreOwned checks that a Release owns the objects of managed hooks that can be deleted with it, and no others.
func TestHooksAreOwned(t *testing.T) {
	t.Parallel()
	h := withObjects(t)
	h.MustRun("install", "rel", charts.WriteTemplate(t, hooksChart))
	configMaps := h.Resource("v1", "ConfigMap")
	got := map[string]string{}
	list, err := configMaps.List(t.Context(), metav1.ListOptions{})
	harness.NoError(t, err)
	for _, o := range list.Items {
		name := o.GetName()
		if o.GetGenerateName() != "" {
			name = o.GetGenerateName()
		}
		got[name] = owners(&o)
	}
	got["claim"] = owners(h.Get(t, "PersistentVolumeClaim/claim"))
	for name, want := range map[string]string{"own": "Release", "managed": "Release", "generated-": "Release", "unmanaged": "", "kept": "", "claim": ""} {
		if owner, exists := got[name]; !exists || owner != want {
			t.Errorf("%s has the owners %q (exists: %t), want %q", name, owner, exists, want)
		}
	}
	harness.ExpectContains(t, h.MustRun("state", "status", "rel").Stdout, "ConfigMap/managed")

	harness.NoError(t, h.Client.Resource(releaseapi.ReleaseGVR()).Namespace(h.Namespace).Delete(t.Context(), "rel", metav1.DeleteOptions{}))
	harness.Eventually(t, "the garbage collector deletes what is owned", func() bool {
		left, err := configMaps.List(t.Context(), metav1.ListOptions{})
		harness.NoError(t, err)
		names := map[string]bool{}
		for _, o := range left.Items {
			names[o.GetName()] = true
		}
		return names["unmanaged"] && names["kept"] && !names["own"] && !names["managed"] && len(names) == 3 // with kube-root-ca.crt
	})
	if h.Get(t, "PersistentVolumeClaim/claim") == nil {
		t.Error("the volume claim of a hook is gone")
	}
}
