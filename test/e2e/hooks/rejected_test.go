// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/fault"
	"github.com/ordered-helm/helm/test/harness"
)

// rejectedHooks returns reasons why the server rejects a hook, a Pod named "refused": the
// manifest of an object that exists before, or invalid names of containers, with the expected
// text of the error.
func rejectedHooks() map[string]struct {
	before, says string
	containers   []string
} {
	return map[string]struct {
		before, says string
		containers   []string
	}{
		"invalid": {containers: []string{"Not_A_Name"}, says: "Invalid value"},
		"forbidden": {
			before: "apiVersion: v1\nkind: LimitRange\nmetadata: {name: limits}\nspec: {limits: [{type: Pod, max: {ephemeral-storage: 1Mi}}]}\n",
			says:   "maximum ephemeral-storage usage per Pod is 1Mi",
		},
		"taken": {
			before: "apiVersion: v1\nkind: Pod\nmetadata: {name: refused, annotations: {by: somebody}}\nspec: {containers: [{name: c, image: i}]}\n",
			says:   "already exists",
		},
	}
}

// TestRejectedHook makes the server reject one of many parallel hooks while the others run. It
// checks that Helm waits for the others and cleans them up, but does not delete an existing
// object with the name of the rejected hook.
func TestRejectedHook(t *testing.T) {
	t.Parallel()
	const done, failed, both = release.HookPhaseSucceeded, release.HookPhaseFailed, "hook-succeeded,hook-failed"
	for name, tt := range rejectedHooks() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			proxy := h.UseProxy(t)
			if tt.before != "" && name == "taken" {
				h.Apply(t, tt.before)
			}
			was := existingObjects(t, h)["Pod/refused"]
			outcomes := []hookOutcome{
				{Object: charts.Object{Kind: "Job", Name: "slow-gone", DeletePolicy: both, LogPolicy: both, Gate: slowGate}, phase: done, printed: true},
				{Object: charts.Object{Kind: "Job", Name: "slow-stays", DeletePolicy: "hook-failed", Gate: slowGate}, phase: done, stays: true},
				{Object: charts.Object{Kind: "Job", Name: "bad-gone", DeletePolicy: both, LogPolicy: both, Gate: failGate, PodAnnotations: failing}, phase: failed, printed: true},
				{Object: charts.Object{Kind: "Job", Name: "next", Weight: 1, DeletePolicy: both}},
			}
			chain := []hookOutcome{
				{Object: charts.Object{Kind: "Job", Name: "link-1", DeletePolicy: both, LogPolicy: both, Gate: slowGate}, phase: done, printed: true},
				{Object: charts.Object{Kind: "Job", Name: "link-2", DeletePolicy: both}},
			}
			refused := charts.Object{Kind: "Pod", Name: "refused", DeletePolicy: both, LogPolicy: both, Hook: "pre-install", Containers: tt.containers}
			chart := writeHooked(t, charts.Chart{Name: "app", HookMode: "true", Objects: append(hooksFor("pre-install", outcomes), refused), Templates: map[string]string{"own.yaml": charts.OwnConfigMap("1")}},
				charts.Chart{Name: "chain", HookMode: "otherChartsOnly", Objects: hooksFor("pre-install", chain)})
			outcomes = slices.Concat(outcomes, chain)

			// The rejection is delayed until all other hooks were created.
			others := make(chan struct{})
			proxy.Intercept(func(_ http.ResponseWriter, r *http.Request, what fault.Request) bool {
				if what.Verb == "create" && what.Resource == "pods" {
					select {
					case <-others:
					case <-r.Context().Done():
					}
				}
				return false
			})
			h.Started = harness.Now()
			p := h.Start(t, "install", "rel", chart)
			awaitObjects(t, h, startedIDs(outcomes)...)
			if name == "forbidden" {
				// The rule that rejects the hook would also reject the pods of the Jobs, so
				// they must exist before.
				awaitPodPhase(t, h, "Pending", "slow-gone", "slow-stays", "bad-gone", "link-1")
				h.Apply(t, tt.before)
				harness.Eventually(t, "the refusal of a pod", func() bool {
					pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "probe"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
					_, err := h.Cluster.Client().CoreV1().Pods(h.Namespace).Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
					return apierrors.IsForbidden(err)
				})
			}
			close(others)
			awaitHookPhases(t, h, failed, "Pod/refused")
			h.OpenGates(t, failGate)
			awaitHookPhases(t, h, failed, "Job/bad-gone")
			h.OpenGates(t, slowGate)
			r := p.ExpectExit(t, 1)

			rel := h.LastRevision(t, "rel")
			expectOutcomes(t, h, rel, r.Stderr, outcomes)
			text := harness.ErrorOf("\n" + r.Stderr)
			expectErrorNames(t, text, []string{"Job/bad-gone"}, []string{"Job/next", "Job/link-2"})
			harness.ExpectContains(t, text, "app/templates/refused.yaml", tt.says)
			if run := runsOf(rel)["Pod/refused"]; run.Phase != failed || run.StartedAt.IsZero() || run.CompletedAt.Before(run.StartedAt) {
				t.Errorf("the hook that was refused is recorded as %+v", run)
			}
			for _, w := range h.ReadTrace(t).Since(h.Started).HelmWrites("Pod/refused") {
				t.Errorf("helm's %s of the hook that cannot be created was granted", w.Verb)
			}
			if is := existingObjects(t, h)["Pod/refused"]; is != was {
				t.Error("the object that was there before is another one, or gone")
			}
			if objectExists(t, h, "ConfigMap/own") {
				t.Error("the release's own resource was created")
			}
		})
	}
}

// logLine matches what client-go logs in stock Helm if a watch ends while it is canceled.
var logLine = regexp.MustCompile(`(?m)^[IWE]\d{4} .*\n`)

// TestCleanupOfRejectedHookMatchesStockHelm checks that the same hooks as with stock Helm are
// left after a hook is rejected or fails, in a chart without runHooksInParallel.
func TestCleanupOfRejectedHookMatchesStockHelm(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]charts.Object{
		"invalid": {Kind: "Pod", Containers: []string{"Not_A_Name"}},
		"taken":   {Kind: "ConfigMap"},
		"fails":   {Kind: "Job", PodAnnotations: failing},
		"unknown": {Kind: "Thing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad.Name, bad.Hook, bad.DeletePolicy, bad.LogPolicy = "c-bad", "pre-install", "hook-failed,hook-succeeded", "hook-failed,hook-succeeded"
			hook := func(name, deletes string) charts.Object {
				return charts.Object{Kind: "Job", Name: name, Hook: "pre-install", DeletePolicy: deletes, LogPolicy: "hook-succeeded"}
			}
			chart := writeHooked(t, charts.Chart{Name: "app", Objects: []charts.Object{hook("a-gone", "hook-succeeded"), hook("b-stays", "hook-failed"), bad, hook("d-never", "")}})
			var left, said, recorded [2]string
			for i, run := range []func(*harness.Helm) harness.Result{
				func(h *harness.Helm) harness.Result { return h.Run("install", "rel", chart, "--progress=none") },
				func(h *harness.Helm) harness.Result { return h.RunStock(t, "install", "rel", chart) },
			} {
				h := harness.New(t)
				if name == "taken" {
					h.OpenGates(t, bad.Name)
				}
				r := run(h)
				if r.ExitCode != 1 {
					t.Errorf("exit code %d\n%s", r.ExitCode, r.Stderr)
				}
				there := existingObjects(t, h)
				for _, id := range []string{"Job/a-gone", "Job/b-stays", "Job/c-bad", "Pod/c-bad", "ConfigMap/c-bad", "Job/d-never"} {
					if there[id] != "" {
						left[i] += id + " "
					}
				}
				for _, hook := range h.LastRevision(t, "rel").Hooks {
					recorded[i] += hook.Name + ":" + hook.LastRun.Phase.String() + " "
				}
				said[i] = strings.ReplaceAll(strings.TrimSpace(logLine.ReplaceAllString(r.Stderr, "")), h.Namespace, "NAMESPACE")
			}
			if left[0] != left[1] {
				t.Errorf("ours leaves %s, stock Helm %s", left[0], left[1])
			}
			if recorded[0] != recorded[1] {
				t.Errorf("ours records %s, stock Helm %s", recorded[0], recorded[1])
			}
			if !strings.HasPrefix(said[0], said[1]) {
				t.Errorf("ours says\n%s\nwhich does not begin as stock Helm does:\n%s", said[0], said[1])
			}
		})
	}
}
