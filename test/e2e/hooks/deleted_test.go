// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// TestHookDeletedBySomebody deletes hooks while they run. If hooks run in parallel, this is
// a failure; in other charts the hooks count as completed, as in Helm.
func TestHookDeletedBySomebody(t *testing.T) {
	t.Parallel()
	const done, failed = release.HookPhaseSucceeded, release.HookPhaseFailed
	for kind, modes := range map[string][]string{"Job": {"", "false", "true", "otherChartsOnly"}, "Pod": {"", "true"}} {
		for _, mode := range modes {
			fails := mode == "true" || mode == "otherChartsOnly"
			t.Run(kind+" "+mode, func(t *testing.T) {
				t.Parallel()
				h := harness.New(t)
				lost := charts.Object{Kind: kind, Name: "lost", Hook: "pre-install", Gate: "never"}
				chart := writeHooked(t, charts.Chart{Name: "app", HookMode: mode, Objects: []charts.Object{lost, {Kind: "Job", Name: "next", Hook: "pre-install", Weight: 1}}},
					charts.Chart{Name: "beside", HookMode: "true", Objects: []charts.Object{{Kind: "Job", Name: "slow", Hook: "pre-install", Gate: slowGate}}})
				p := h.Start(t, "install", "rel", chart)
				if !fails { // a failure is only reported at the end of the parallel part
					h.OpenGates(t, slowGate)
				}
				awaitHookPhases(t, h, release.HookPhaseRunning, lost.String())
				awaitObjects(t, h, lost.String())
				deleteInBackground(t, h, lost.String())
				if !fails {
					r := p.ExpectExit(t, 0, "lost", "deleted")
					if !strings.Contains(strings.ToLower(r.Stderr), "warning") {
						t.Errorf("it does not warn:\n%s", r.Stderr)
					}
					for _, id := range []string{lost.String(), "Job/next"} {
						if phase := storedRuns(t, h)[id].Phase; phase != done {
							t.Errorf("%s is recorded as %q", id, phase)
						}
					}
					return
				}
				awaitHookPhases(t, h, failed, lost.String())
				h.OpenGates(t, slowGate)
				r := p.ExpectExit(t, 1)
				text := harness.ErrorOf("\n" + r.Stderr)
				harness.ExpectContains(t, text, lost.String(), "app/templates/lost.yaml", "deleted", "skipped")
				runs := storedRuns(t, h)
				if runs["Job/slow"].Phase != done {
					t.Errorf("the hook beside it is recorded as %+v", runs["Job/slow"])
				}
				if run := runs[lost.String()]; run.Phase != failed || run.CompletedAt.Before(run.StartedAt) {
					t.Errorf("the hook that was deleted is recorded as %+v", run)
				}
				if objectExists(t, h, "Job/next") {
					t.Error("another hook was started after that")
				}
			})
		}
	}
}

// deleteInBackground deletes a hook and its pods as another client would.
func deleteInBackground(tb testing.TB, h *harness.Helm, id string) {
	tb.Helper()
	kind, name, _ := strings.Cut(id, "/")
	background := metav1.DeletePropagationBackground
	err := h.Client.Resource(h.ResourceOfKind(tb, kind)).Namespace(h.Namespace).Delete(tb.Context(), name, metav1.DeleteOptions{PropagationPolicy: &background})
	harness.NoError(tb, err)
}

// TestHookThatRemovesItself uses Jobs that are deleted as soon as they have completed. They
// count as completed.
func TestHookThatRemovesItself(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"", "true", "otherChartsOnly"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			var hooks []charts.Object
			for _, name := range []string{"a", "b", "c"} {
				hooks = append(hooks, charts.Object{Kind: "Job", Name: name, Hook: "pre-install", Spec: []string{"ttlSecondsAfterFinished: 0"}})
			}
			hooks = append(hooks, charts.Object{Kind: "Job", Name: "next", Hook: "pre-install", Weight: 1})
			r := h.MustRun("install", "rel", writeHooked(t, charts.Chart{Name: "app", HookMode: mode, Objects: hooks}), "--progress=none")
			if r.Stderr != "" {
				t.Errorf("it says:\n%s", r.Stderr)
			}
			for id, run := range storedRuns(t, h) {
				if run.Phase != release.HookPhaseSucceeded {
					t.Errorf("%s is recorded as %+v", id, run)
				}
			}
			for _, name := range []string{"a", "b", "c"} {
				awaitDeleted(t, h, "Job/"+name)
			}
		})
	}
}

// TestNamespaceDeletedWhileHooksRun deletes the namespace. The operation ends.
func TestNamespaceDeletedWhileHooksRun(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"", "true"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			chart := writeHooked(t, charts.Chart{Name: "app", HookMode: mode, Templates: map[string]string{"own.yaml": charts.OwnConfigMap("1")}, Objects: []charts.Object{
				{Kind: "Job", Name: "a", Hook: "pre-install", Gate: "never", DeletePolicy: "hook-failed,hook-succeeded"},
				{Kind: "Job", Name: "b", Hook: "pre-install", Gate: "never"},
			}})
			p := h.Start(t, "install", "rel", chart, "--timeout", "30s")
			awaitHookPhases(t, h, release.HookPhaseRunning, "Job/a")
			if mode == "true" {
				awaitHookPhases(t, h, release.HookPhaseRunning, "Job/b")
			}
			harness.NoError(t, h.Cluster.Client().CoreV1().Namespaces().Delete(t.Context(), h.Namespace, metav1.DeleteOptions{}))
			r := p.ExpectExit(t, 1)
			// Which part of it is seen first depends on the cluster.
			if text := harness.ErrorOf("\n" + r.Stderr); !strings.Contains(text, "Job/a (app/templates/a.yaml)") && !strings.Contains(text, h.Namespace) {
				t.Errorf("it does not say what became of the hook:\n%s", text)
			}
		})
	}
}
