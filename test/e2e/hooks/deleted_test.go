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

// TestHookDeletedByOtherClient checks that a hook that another client deletes while it runs
// counts as failed if hooks run in parallel, and as completed otherwise, as in stock Helm.
func TestHookDeletedByOtherClient(t *testing.T) {
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
				deleteWithPods(t, h, lost.String())
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

// deleteWithPods deletes a hook and its pods, as another client would.
func deleteWithPods(tb testing.TB, h *harness.Helm, id string) {
	tb.Helper()
	kind, name, _ := strings.Cut(id, "/")
	background := metav1.DeletePropagationBackground
	err := h.Client.Resource(h.ResourceOfKind(tb, kind)).Namespace(h.Namespace).Delete(tb.Context(), name, metav1.DeleteOptions{PropagationPolicy: &background})
	harness.NoError(tb, err)
}

// TestHookDeletedByTTL checks that hook Jobs with ttlSecondsAfterFinished: 0, which Kubernetes
// deletes as soon as they have completed, count as completed.
func TestHookDeletedByTTL(t *testing.T) {
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

// TestNamespaceDeletedWhileHooksRun checks that the operation ends with an error that names a
// hook or the namespace.
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
			// It depends on the cluster whether Helm first sees that a hook, the stored
			// release, or the namespace is deleted.
			if text := harness.ErrorOf("\n" + r.Stderr); !strings.Contains(text, "Job/a (app/templates/a.yaml)") && !strings.Contains(text, h.Namespace) &&
				!strings.Contains(text, "its stored revision or namespace was deleted") {
				t.Errorf("it does not say what became of the hook:\n%s", text)
			}
		})
	}
}
