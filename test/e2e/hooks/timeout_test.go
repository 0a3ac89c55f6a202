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

// TestHookTimeout checks that parallel hooks that do not complete before --timeout count as
// failed. It tries longer timeouts, because the machine may be busy.
func TestHookTimeout(t *testing.T) {
	t.Parallel()
	for mode, wait := range map[string]string{"at once": "--wait=false", "in order": "--wait=ordered"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			for _, timeout := range harness.Timeouts() {
				if hookTimesOut(t, wait, timeout) {
					return
				}
				t.Logf("within %s not even the other hook completed", timeout)
			}
			t.Error("the other hook never completed")
		})
	}
}

// hookTimesOut runs the hooks with a timeout. It returns false if the timeout was too short
// for the hook that completes.
func hookTimesOut(t *testing.T, wait, timeout string) bool {
	const done, failed, both = release.HookPhaseSucceeded, release.HookPhaseFailed, "hook-succeeded,hook-failed"
	h := harness.New(t)
	app := []hookOutcome{
		{Object: charts.Object{Kind: "Job", Name: "hangs", DeletePolicy: "hook-failed", LogPolicy: both, PodAnnotations: running}, phase: failed, printed: true},
		{Object: charts.Object{Kind: "Job", Name: "done", DeletePolicy: "hook-succeeded", LogPolicy: both}, phase: done, printed: true},
		{Object: charts.Object{Kind: "Job", Name: "next", Weight: 1, DeletePolicy: both}},
	}
	chain := []hookOutcome{
		{Object: charts.Object{Kind: "Pod", Name: "link-1", PodAnnotations: running}, phase: failed, stays: true},
		{Object: charts.Object{Kind: "Job", Name: "link-2"}},
	}
	chart := writeHooked(t, charts.Chart{Name: "app", HookMode: "true", Objects: hooksFor("pre-install", app)},
		charts.Chart{Name: "chain", HookMode: "otherChartsOnly", Objects: hooksFor("pre-install", chain)})
	h.Started = harness.Now()
	r := h.Run("install", "rel", chart, wait, "--timeout", timeout)
	rel := h.LastRevision(t, "rel")
	if runsOf(rel)["Job/done"].Phase != done {
		return false
	}
	if r.ExitCode != 1 {
		t.Errorf("exit code %d, want 1", r.ExitCode)
	}
	expectOutcomes(t, h, rel, r.Stderr, slices.Concat(app, chain))
	text := harness.ErrorOf("\n" + r.Stderr)
	expectErrorNames(t, text, []string{"Job/hangs", "Pod/link-1"}, []string{"Job/next", "Job/link-2"})
	harness.ExpectContains(t, text, "--timeout", timeout)
	return true
}
