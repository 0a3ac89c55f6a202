// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/test/charts"
)

// TestHookDeletedBySomebody deletes hooks while they run: where hooks run in parallel
// that is a failure, in other charts they count as completed, as in Helm.
func TestHookDeletedBySomebody(t *testing.T) {
	t.Parallel()
	const done, failed = release.HookPhaseSucceeded, release.HookPhaseFailed
	for kind, modes := range map[string][]string{"Job": {"", "false", "true", "otherChartsOnly"}, "Pod": {"", "true"}} {
		for _, mode := range modes {
			fails := mode == "true" || mode == "otherChartsOnly"
			t.Run(kind+" "+mode, func(t *testing.T) {
				t.Parallel()
				h := newHelm(t)
				lost := charts.Object{Kind: kind, Name: "lost", Hook: "pre-install", Gate: "never"}
				chart := writeHooked(t, charts.Chart{Name: "app", HookMode: mode, Objects: []charts.Object{lost, {Kind: "Job", Name: "next", Hook: "pre-install", Weight: 1}}},
					charts.Chart{Name: "beside", HookMode: "true", Objects: []charts.Object{{Kind: "Job", Name: "slow", Hook: "pre-install", Gate: slowGate}}})
				p := h.start(t, "install", "rel", chart)
				if !fails { // which comes when the parallel part is done
					h.openGates(t, slowGate)
				}
				h.awaitPhases(t, "rel", release.HookPhaseRunning, lost.String())
				h.awaitThere(t, lost.String())
				h.drop(t, lost.String())
				if !fails {
					r := p.expectEnd(t, 0, "lost", "deleted")
					if !strings.Contains(strings.ToLower(r.stderr), "warning") {
						t.Errorf("it does not warn:\n%s", r.stderr)
					}
					for _, id := range []string{lost.String(), "Job/next"} {
						if phase := h.runs(t, "rel")[id].Phase; phase != done {
							t.Errorf("%s is recorded as %q", id, phase)
						}
					}
					return
				}
				h.awaitPhases(t, "rel", failed, lost.String())
				h.openGates(t, slowGate)
				r := p.expectEnd(t, 1)
				text := errorOf("\n" + r.stderr)
				expectSaid(t, text, lost.String(), "app/templates/lost.yaml", "deleted", "never started")
				runs := h.runs(t, "rel")
				if runs["Job/slow"].Phase != done {
					t.Errorf("the hook beside it is recorded as %+v", runs["Job/slow"])
				}
				if run := runs[lost.String()]; run.Phase != failed || run.CompletedAt.Before(run.StartedAt) {
					t.Errorf("the hook that was deleted is recorded as %+v", run)
				}
				if h.isThere(t, "Job/next") {
					t.Error("another hook was started after that")
				}
			})
		}
	}
}

// drop deletes a hook as somebody else would, and its pods.
func (h *helm) drop(tb testing.TB, id string) {
	tb.Helper()
	kind, name, _ := strings.Cut(id, "/")
	background := metav1.DeletePropagationBackground
	err := h.client.Resource(h.resource(tb, kind)).Namespace(h.namespace).Delete(tb.Context(), name, metav1.DeleteOptions{PropagationPolicy: &background})
	if err != nil {
		tb.Fatal(err)
	}
}

// TestHookThatRemovesItself has Jobs that are removed as soon as they have completed:
// they have completed.
func TestHookThatRemovesItself(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"", "true", "otherChartsOnly"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			h := newHelm(t)
			var hooks []charts.Object
			for _, name := range []string{"a", "b", "c"} {
				hooks = append(hooks, charts.Object{Kind: "Job", Name: name, Hook: "pre-install", Spec: []string{"ttlSecondsAfterFinished: 0"}})
			}
			hooks = append(hooks, charts.Object{Kind: "Job", Name: "next", Hook: "pre-install", Weight: 1})
			r := h.ok("install", "rel", writeHooked(t, charts.Chart{Name: "app", HookMode: mode, Objects: hooks}), "--progress=none")
			if r.stderr != "" {
				t.Errorf("it says:\n%s", r.stderr)
			}
			for id, run := range h.runs(t, "rel") {
				if run.Phase != release.HookPhaseSucceeded {
					t.Errorf("%s is recorded as %+v", id, run)
				}
			}
			for _, name := range []string{"a", "b", "c"} {
				h.awaitGone(t, "Job/"+name)
			}
		})
	}
}

// TestNamespaceDeletedWhileHooksRun takes the namespace away: the operation ends.
func TestNamespaceDeletedWhileHooksRun(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"", "true"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			h := newHelm(t)
			chart := writeHooked(t, charts.Chart{Name: "app", HookMode: mode, Templates: map[string]string{"own.yaml": ownPart("1")}, Objects: []charts.Object{
				{Kind: "Job", Name: "a", Hook: "pre-install", Gate: "never", DeletePolicy: "hook-failed,hook-succeeded"},
				{Kind: "Job", Name: "b", Hook: "pre-install", Gate: "never"},
			}})
			p := h.start(t, "install", "rel", chart, "--timeout", "30s")
			h.awaitPhases(t, "rel", release.HookPhaseRunning, "Job/a")
			if mode == "true" {
				h.awaitPhases(t, "rel", release.HookPhaseRunning, "Job/b")
			}
			if err := h.cluster.Client().CoreV1().Namespaces().Delete(t.Context(), h.namespace, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			r := p.expectEnd(t, 1)
			// Which of it is seen first is the cluster's choice.
			if text := errorOf("\n" + r.stderr); !strings.Contains(text, "Job/a (app/templates/a.yaml)") && !strings.Contains(text, h.namespace) {
				t.Errorf("it does not say what became of the hook:\n%s", text)
			}
		})
	}
}
