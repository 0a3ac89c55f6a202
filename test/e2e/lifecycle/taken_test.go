// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// theirs is an object that somebody else creates while an operation runs.
const theirs = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: taken, labels: {own: l}}\ndata: {own: d, value: theirs}\n"

// TestLifecycleTaken lets somebody else create an object while an operation waits. The
// operation had found no such object, or had created it itself.
func TestLifecycleTaken(t *testing.T) {
	t.Parallel()
	refusal := []string{`ConfigMap "taken"`, "exists and cannot be imported into the current release", "invalid ownership metadata"}
	// withTaken writes a chart with the object in the layer after a slow one.
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
				t.Errorf("it was not taken over as it is: %v", got.Object)
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

// createConflictAt runs helm, and creates the object when helm prints a text. It first
// deletes an existing object of that name.
func createConflictAt(tb testing.TB, h *harness.Helm, at string, code int, want []string, args ...string) types.UID {
	tb.Helper()
	p := h.Start(tb, args...)
	p.AwaitLine(tb, at)
	if h.Get(tb, "ConfigMap/taken") != nil {
		h.Delete(tb, "ConfigMap/taken")
	}
	h.Apply(tb, theirs)
	uid := h.Get(tb, "ConfigMap/taken").GetUID()
	p.ExpectExit(tb, code, want...)
	return uid
}

// expectUnchanged checks that the object is as it was created.
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
