// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"slices"
	"testing"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// TestUnknownHookMode checks that a chart with an unknown hook mode is rejected before
// anything is changed, both with --wait=ordered and without.
func TestUnknownHookMode(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"field":      "runHooksInParallel: perhaps\n",
		"number":     "runHooksInParallel: 3\n",
		"annotation": "annotations: {helm.sh/run-hooks-in-parallel: perhaps}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{
				"Chart.yaml":                     "apiVersion: v2\nname: app\nversion: 0.1.0\n",
				"charts/sub/Chart.yaml":          "apiVersion: v2\nname: sub\nversion: 0.1.0\n" + line,
				"charts/sub/templates/hook.yaml": charts.Object{Kind: "Job", Name: "hook", Hook: "pre-install"}.Manifest(),
			}
			chart := charts.WriteFiles(t, files)
			for _, args := range [][]string{{"install", "rel", chart}, {"install", "rel", chart, "--wait=ordered"}, {"template", "rel", chart}} {
				h := harness.New(t)
				h.ExpectRejected(t, h.Run(args...), "sub/Chart.yaml", "otherChartsOnly")
			}
		})
	}
}

// TestHookOfUnknownKind checks what happens to the other hooks if the cluster does not know
// the kind of one hook.
func TestHookOfUnknownKind(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"", "true", "otherChartsOnly"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			chart := writeHooked(t, charts.Chart{Name: "app", HookMode: mode, Templates: map[string]string{"own.yaml": charts.OwnConfigMap("1")}, Objects: []charts.Object{
				{Kind: "Job", Name: "first", Hook: "pre-install", Weight: -1, DeletePolicy: "hook-succeeded"},
				{Kind: "Thing", Name: "odd", Hook: "pre-install", DeletePolicy: "hook-failed"},
				{Kind: "Job", Name: "next", Hook: "pre-install", Weight: 1},
			}})
			h.ExpectFailure(t, []string{"install", "rel", chart}, "app/templates/odd.yaml", `"Thing"`, "ordered.example/v1")
			runs := storedRuns(t, h)
			if runs["Job/first"].Phase != release.HookPhaseSucceeded || runs["Job/next"].Phase != "" {
				t.Errorf("the others are recorded as %+v and %+v", runs["Job/first"], runs["Job/next"])
			}
			if objectExists(t, h, "Job/next") || objectExists(t, h, "ConfigMap/own") {
				t.Error("something was created after that")
			}
			// Without parallel hooks, the other hooks are not cleaned up, as in stock Helm.
			if here := objectExists(t, h, "Job/first"); here != (mode == "") {
				t.Errorf("the hook before it is there: %v", here)
			}
			h.MustRun("uninstall", "rel")
		})
	}
}

// TestHookEventListedTwice checks that a hook that lists an event twice is run twice,
// sequentially.
func TestHookEventListedTwice(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"", "true", "otherChartsOnly"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			chart := writeHooked(t, charts.Chart{Name: "app", HookMode: mode, Objects: []charts.Object{{Kind: "Job", Name: "twice", Hook: "pre-install,pre-install"}}})
			h.Started = harness.Now()
			h.MustRun("install", "rel", chart)
			expectOneByOne(t, h, "Job/twice", 2)
			if run := storedRuns(t, h)["Job/twice"]; run.Phase != release.HookPhaseSucceeded {
				t.Errorf("it is recorded as %+v", run)
			}
		})
	}
}

// expectOneByOne checks that a hook was created the given number of times, each time after the
// previous object had completed and was deleted.
func expectOneByOne(tb testing.TB, h *harness.Helm, id string, times int) {
	tb.Helper()
	state, created := "", 0
	for _, w := range h.ReadTrace(tb).Since(h.Started)[id] {
		switch {
		case w.Verb == "create":
			if created++; created > 1 && state != "deleted" {
				tb.Errorf("run %d of %s began when the one before was %q", created, id, state)
			}
			state = "created"
		case w.Verb == "delete" && w.ByHelm:
			if state != "completed" && created > 0 {
				tb.Errorf("%s was deleted when it was %q", id, state)
			}
			state = "deleted"
		case state == "created" && w.Stored.Condition("Complete"):
			state = "completed"
		}
	}
	if created != times {
		tb.Errorf("%s was created %d times, want %d", id, created, times)
	}
}

// TestHooksWithEqualNames checks that two hooks of equal weight with the same name, from two
// charts, run sequentially.
func TestHooksWithEqualNames(t *testing.T) {
	t.Parallel()
	for name, modes := range map[string][2]string{"both true": {"true", "true"}, "one a chain": {"true", "otherChartsOnly"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			chart := func(deletes string) string {
				same := charts.Object{Kind: "Job", Name: "same", Hook: "pre-install,pre-upgrade", DeletePolicy: deletes}
				after := charts.Object{Kind: "Job", Name: "then", Hook: "pre-install,pre-upgrade"}
				return writeHooked(t, charts.Chart{Name: "app", HookMode: modes[0], Objects: []charts.Object{same}},
					charts.Chart{Name: "sub", HookMode: modes[1], Objects: slices.Insert([]charts.Object{after}, 0, same)})
			}
			h.Started = harness.Now()
			h.MustRun("install", "rel", chart(""))
			expectOneByOne(t, h, "Job/same", 2)
			deleteWithPods(t, h, "Job/same")
			awaitDeleted(t, h, "Job/same")

			// With hook-succeeded and without before-hook-creation, the object of the first
			// hook still exists when the second hook is created.
			h.Started = harness.Now()
			r := h.ExpectFailure(t, []string{"upgrade", "rel", chart("hook-succeeded")}, "templates/same.yaml", "already exists")
			recorded := h.ReadTrace(t).Since(h.Started)
			if created := recorded.HelmWrites("Job/same", "create"); len(created) != 1 {
				t.Errorf("it was created %d times", len(created))
			}
			phases := []string{}
			for _, hook := range h.LastRevision(t, "rel").Hooks {
				if hook.Name == "same" {
					phases = append(phases, hook.LastRun.Phase.String())
				}
			}
			slices.Sort(phases)
			if !slices.Equal(phases, []string{"Failed", "Succeeded"}) {
				t.Errorf("the two are recorded as %s\n%s", phases, r.Stderr)
			}
			if objectExists(t, h, "Job/same") {
				t.Error("the one that succeeded was not deleted")
			}
		})
	}
}
