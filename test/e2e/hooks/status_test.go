// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"encoding/json"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// parseStatus parses the output of `helm status -o json`. It returns the status of the release
// and the last run of each hook.
func parseStatus(tb testing.TB, text string) (status string, runs map[string]release.HookExecution) {
	tb.Helper()
	rel := &release.Release{}
	if err := json.Unmarshal([]byte(text), rel); err != nil {
		tb.Fatalf("%v in\n%s", err, text)
	}
	return rel.Info.Status.String(), runsOf(rel)
}

// TestReleaseStatusWhileHooksRun checks that Ordered Helm and stock Helm can read a release
// while some of its hooks have completed, some are running, and some have not started.
func TestReleaseStatusWhileHooksRun(t *testing.T) {
	t.Parallel()
	for event, status := range map[string]string{"pre-install": "pending-install", "test": "deployed"} {
		t.Run(event, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			chart := writeHooked(t,
				charts.Chart{Name: "app", HookMode: "true", Objects: []charts.Object{
					{Kind: "Job", Name: "done", Hook: event}, {Kind: "Job", Name: "slow", Hook: event, Gate: slowGate}, {Kind: "Job", Name: "next", Hook: event, Weight: 1},
				}},
				charts.Chart{Name: "chain", HookMode: "otherChartsOnly", Objects: []charts.Object{{Kind: "Job", Name: "link-1", Hook: event, Gate: slowGate}, {Kind: "Job", Name: "link-2", Hook: event}}},
				charts.Chart{Name: "plain", Objects: []charts.Object{{Kind: "Job", Name: "alone", Hook: event}}})
			args := []string{"install", "rel", chart}
			if event == "test" {
				h.MustRun(args...)
				args = []string{"test", "rel"}
			}
			p := h.Start(t, args...)
			awaitHookPhases(t, h, release.HookPhaseSucceeded, "Job/done")
			awaitHookPhases(t, h, release.HookPhaseRunning, "Job/slow", "Job/link-1")

			for who, get := range map[string]func(...string) string{
				"ours":  func(args ...string) string { return h.MustRun(args...).Stdout },
				"stock": func(args ...string) string { return h.MustRunStock(t, args...) },
			} {
				said, runs := parseStatus(t, get("status", "rel", "-o", "json"))
				if said != status {
					t.Errorf("%s: the status is %s, want %s", who, said, status)
				}
				if run := runs["Job/done"]; run.Phase != release.HookPhaseSucceeded || run.StartedAt.IsZero() || run.CompletedAt.Before(run.StartedAt) {
					t.Errorf("%s: what has completed is said to be %+v", who, run)
				}
				for _, id := range []string{"Job/slow", "Job/link-1"} {
					if run := runs[id]; run.Phase != release.HookPhaseRunning || run.StartedAt.IsZero() || !run.CompletedAt.IsZero() {
						t.Errorf("%s: %s, which runs, is said to be %+v", who, id, run)
					}
				}
				for _, id := range []string{"Job/link-2", "Job/alone", "Job/next"} {
					if run := runs[id]; run.Phase != "" || !run.StartedAt.IsZero() || !run.CompletedAt.IsZero() {
						t.Errorf("%s: %s, which has not begun, is said to be %+v", who, id, run)
					}
				}
				harness.ExpectContains(t, get("history", "rel"), status)
			}
			ours, theirs := h.MustRun("get", "hooks", "rel").Stdout, h.MustRunStock(t, "get", "hooks", "rel")
			if ours != theirs {
				t.Errorf("get hooks: ours says\n%s\nstock Helm says\n%s", ours, theirs)
			}
			if n := strings.Count(ours, "# Source: app/"); n != 6 {
				t.Errorf("get hooks prints %d hooks, want 6", n)
			}

			h.OpenGates(t, slowGate)
			p.ExpectExit(t, 0)
			for id, run := range storedRuns(t, h) {
				if run.Phase != release.HookPhaseSucceeded || run.CompletedAt.Before(run.StartedAt) {
					t.Errorf("%s is recorded as %+v", id, run)
				}
			}
		})
	}
}
