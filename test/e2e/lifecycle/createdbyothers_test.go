// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// foreignConfigMap is an object that another client creates while an operation runs.
const foreignConfigMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: taken, labels: {own: l}}\ndata: {own: d, value: theirs}\n"

// TestLifecycleObjectCreatedByOthers checks operations during which another client creates an
// object with the name of one of their objects: before the operation creates that object, or
// after the object was deleted.
func TestLifecycleObjectCreatedByOthers(t *testing.T) {
	t.Parallel()
	refusal := []string{`ConfigMap "taken"`, "exists and cannot be imported into the current release", "invalid ownership metadata"}
	// withTaken writes a chart that contains the ConfigMap "taken", in a layer after a slow
	// one.
	withTaken := func(tb testing.TB, value string, more ...charts.Object) string {
		tb.Helper()
		parts := charts.ThreeLayerObjects(value)
		parts[1].PodAnnotations = []string{`devcluster/after: "2s"`}
		return charts.Write(tb, append(append(parts, charts.Object{Name: "taken", Layer: "last", Value: value}), more...)...)
	}
	fails := charts.Object{Kind: "Deployment", Name: "never", Layer: "never", DependsOn: "last", PodAnnotations: charts.NeverReady, Annotations: []string{"helm.sh/readiness-timeout: 2s"}}
	harness.RunCases(t, map[string]func(*testing.T, *harness.Helm){
		"upgrade": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", charts.ThreeLayers(t, "x"), "--wait=ordered")
			uid := createConflictAt(t, h, "app:app applied", 1, refusal, "upgrade", "rel", withTaken(t, "y"), "--wait=ordered")
			expectUnchanged(t, h, uid)
		},
		"upgrade that is atomic": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", charts.ThreeLayers(t, "x"), "--wait=ordered")
			uid := createConflictAt(t, h, "app:app applied", 1, refusal, "upgrade", "rel", withTaken(t, "y"), "--wait=ordered", "--atomic")
			expectUnchanged(t, h, uid)
			h.ExpectValues(t, "x")
		},
		"upgrade that cleans up": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", charts.ThreeLayers(t, "x"), "--wait=ordered")
			uid := createConflictAt(t, h, "app:app applied", 1, refusal, "upgrade", "rel", withTaken(t, "y"), "--wait=ordered", "--cleanup-on-fail")
			expectUnchanged(t, h, uid)
		},
		"take-ownership": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", charts.ThreeLayers(t, "x"), "--wait=ordered")
			uid := createConflictAt(t, h, "app:app applied", 0, nil, "upgrade", "rel", withTaken(t, "y"), "--wait=ordered", "--take-ownership")
			got := h.Get(t, "ConfigMap/taken")
			if got.GetUID() != uid || harness.ValueOf(got) != "y" || got.GetLabels()["own"] != "l" || stringAt(got, "data", "own") != "d" {
				t.Errorf("the object was not adopted unchanged: %v", got.Object)
			}
			h.ExpectManifestObjects(t, "rel")
		},
		"take-ownership in vain": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", charts.ThreeLayers(t, "x"), "--wait=ordered")
			uid := createConflictAt(t, h, "app:app applied", 1, []string{"has been rolled back"}, "upgrade", "rel", withTaken(t, "y", fails), "--wait=ordered", "--take-ownership", "--atomic")
			if got := h.Get(t, "ConfigMap/taken"); got == nil || got.GetUID() != uid {
				t.Error("what was there before was deleted with what the upgrade had created")
			}
		},
		"install --replace": func(t *testing.T, h *harness.Helm) {
			h.ExpectFailure(t, []string{"install", "rel", withTaken(t, "x", fails), "--wait=ordered"})
			h.Delete(t, "ConfigMap/taken")
			h.Delete(t, "Deployment/app")
			uid := createConflictAt(t, h, "app:app applied", 1, refusal, "install", "rel", withTaken(t, "y"), "--replace", "--wait=ordered")
			expectUnchanged(t, h, uid)
		},
		"cleanup-on-fail": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", charts.ThreeLayers(t, "x"), "--wait=ordered")
			uid := createConflictAt(t, h, "app:never applied", 1, []string{"it was replaced by another object with the same name"}, "upgrade", "rel", withTaken(t, "y", fails), "--wait=ordered", "--cleanup-on-fail")
			expectUnchanged(t, h, uid)
			if h.Get(t, "Deployment/never") != nil {
				t.Error("what the upgrade created is there still")
			}
		},
		"cleanup-on-fail without an order": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", charts.ThreeLayers(t, "x"))
			uid := createConflictAt(t, h, `created Deployment "never"`, 1, nil, "upgrade", "rel", withTaken(t, "y", fails), "--wait", "--timeout", "4s", "--cleanup-on-fail", "--debug")
			expectUnchanged(t, h, uid)
			if h.Get(t, "Deployment/never") != nil {
				t.Error("what the upgrade created is there still")
			}
		},
	})
}

// createConflictAt runs helm, and creates foreignConfigMap when helm prints the text at, after
// deleting an existing object with that name. It returns the UID of the object.
func createConflictAt(tb testing.TB, h *harness.Helm, at string, code int, want []string, args ...string) types.UID {
	tb.Helper()
	p := h.Start(tb, args...)
	p.AwaitLine(tb, at)
	if h.Get(tb, "ConfigMap/taken") != nil {
		h.Delete(tb, "ConfigMap/taken")
	}
	h.Apply(tb, foreignConfigMap)
	uid := h.Get(tb, "ConfigMap/taken").GetUID()
	p.ExpectExit(tb, code, want...)
	return uid
}

// expectUnchanged checks that the object that createConflictAt created was not changed.
func expectUnchanged(tb testing.TB, h *harness.Helm, uid types.UID) {
	tb.Helper()
	got := h.Get(tb, "ConfigMap/taken")
	if got == nil {
		tb.Fatal("the object was deleted")
	}
	if got.GetUID() != uid || harness.ValueOf(got) != "theirs" || len(got.GetAnnotations()) > 0 {
		tb.Errorf("the object was changed: %v", got.Object)
	}
}
