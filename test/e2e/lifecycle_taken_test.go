// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/ordered-helm/helm/test/charts"
)

// theirs is what somebody else makes while an operation runs.
const theirs = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: taken, labels: {own: l}}\ndata: {own: d, value: theirs}\n"

// TestLifecycleTaken has somebody else make an object while an operation waits,
// which it had seen to be absent, or had made itself.
func TestLifecycleTaken(t *testing.T) {
	t.Parallel()
	refusal := []string{`ConfigMap "taken"`, "exists and cannot be imported into the current release", "invalid ownership metadata"}
	// withTaken has the object in the layer after one that takes its time.
	withTaken := func(tb testing.TB, value string, more ...charts.Object) string {
		tb.Helper()
		parts := threeParts(value)
		parts[1].PodAnnotations = []string{`devcluster/after: "2s"`}
		return charts.Write(tb, append(append(parts, charts.Object{Name: "taken", Layer: "last", Value: value}), more...)...)
	}
	fails := charts.Object{Kind: "Deployment", Name: "never", Layer: "never", DependsOn: "last", PodAnnotations: charts.NeverReady, Annotations: []string{"helm.sh/readiness-timeout: 2s"}}
	runLifecycle(t, map[string]func(*testing.T, *helm){
		"upgrade": func(t *testing.T, h *helm) {
			h.ok("install", "rel", three(t, "x"), "--wait=ordered")
			uid := h.takenAt(t, "app:app applied", 1, refusal, "upgrade", "rel", withTaken(t, "y"), "--wait=ordered")
			h.expectTheirs(t, uid)
		},
		"upgrade that is atomic": func(t *testing.T, h *helm) {
			h.ok("install", "rel", three(t, "x"), "--wait=ordered")
			uid := h.takenAt(t, "app:app applied", 1, refusal, "upgrade", "rel", withTaken(t, "y"), "--wait=ordered", "--atomic")
			h.expectTheirs(t, uid)
			h.expectValue(t, "x")
		},
		"upgrade that cleans up": func(t *testing.T, h *helm) {
			h.ok("install", "rel", three(t, "x"), "--wait=ordered")
			uid := h.takenAt(t, "app:app applied", 1, refusal, "upgrade", "rel", withTaken(t, "y"), "--wait=ordered", "--cleanup-on-fail")
			h.expectTheirs(t, uid)
		},
		"take-ownership": func(t *testing.T, h *helm) {
			h.ok("install", "rel", three(t, "x"), "--wait=ordered")
			uid := h.takenAt(t, "app:app applied", 0, nil, "upgrade", "rel", withTaken(t, "y"), "--wait=ordered", "--take-ownership")
			got := h.get(t, "ConfigMap/taken")
			if got.GetUID() != uid || valueOf(got) != "y" || got.GetLabels()["own"] != "l" || textAt(got, "data", "own") != "d" {
				t.Errorf("it was not taken over as it is: %v", got.Object)
			}
			h.expectObjects(t, "rel")
		},
		"take-ownership in vain": func(t *testing.T, h *helm) {
			h.ok("install", "rel", three(t, "x"), "--wait=ordered")
			uid := h.takenAt(t, "app:app applied", 1, []string{"has been rolled back"}, "upgrade", "rel", withTaken(t, "y", fails), "--wait=ordered", "--take-ownership", "--atomic")
			if got := h.get(t, "ConfigMap/taken"); got == nil || got.GetUID() != uid {
				t.Error("what was there before was deleted with what the upgrade had created")
			}
		},
		"install --replace": func(t *testing.T, h *helm) {
			if r := h.run("install", "rel", withTaken(t, "x", fails), "--wait=ordered"); r.code != 1 {
				t.Fatal("it did not fail")
			}
			h.delete(t, "ConfigMap/taken")
			h.delete(t, "Deployment/app")
			uid := h.takenAt(t, "app:app applied", 1, refusal, "install", "rel", withTaken(t, "y"), "--replace", "--wait=ordered")
			h.expectTheirs(t, uid)
		},
		"cleanup-on-fail": func(t *testing.T, h *helm) {
			h.ok("install", "rel", three(t, "x"), "--wait=ordered")
			uid := h.takenAt(t, "app:never applied", 1, []string{"another object has taken its name"}, "upgrade", "rel", withTaken(t, "y", fails), "--wait=ordered", "--cleanup-on-fail")
			h.expectTheirs(t, uid)
			if h.get(t, "Deployment/never") != nil {
				t.Error("what the upgrade created is there still")
			}
		},
		"cleanup-on-fail without an order": func(t *testing.T, h *helm) {
			h.ok("install", "rel", three(t, "x"))
			uid := h.takenAt(t, `created Deployment "never"`, 1, nil, "upgrade", "rel", withTaken(t, "y", fails), "--wait", "--timeout", "4s", "--cleanup-on-fail", "--debug")
			h.expectTheirs(t, uid)
			if h.get(t, "Deployment/never") != nil {
				t.Error("what the upgrade created is there still")
			}
		},
	})
}

// takenAt runs the binary, and makes the object when it says something; one of that
// name is deleted before.
func (h *helm) takenAt(tb testing.TB, at string, code int, want []string, args ...string) types.UID {
	tb.Helper()
	p := h.start(tb, args...)
	p.awaitLine(tb, at)
	if h.get(tb, "ConfigMap/taken") != nil {
		h.delete(tb, "ConfigMap/taken")
	}
	h.apply(tb, theirs)
	uid := h.get(tb, "ConfigMap/taken").GetUID()
	p.expectEnd(tb, code, want...)
	return uid
}

// expectTheirs checks that the object was left as it was made.
func (h *helm) expectTheirs(tb testing.TB, uid types.UID) {
	tb.Helper()
	got := h.get(tb, "ConfigMap/taken")
	if got == nil {
		tb.Fatal("the object was deleted")
	}
	if got.GetUID() != uid || valueOf(got) != "theirs" || len(got.GetAnnotations()) > 0 {
		tb.Errorf("the object was changed: %v", got.Object)
	}
}
