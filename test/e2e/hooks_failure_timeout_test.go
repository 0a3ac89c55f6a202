// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"slices"
	"testing"

	"helm.sh/helm/v3/pkg/release"
)

// TestHookTimeout has hooks that never complete run beside one that does: they are
// cut off by --timeout, and count as failed. A busy machine gets more time.
func TestHookTimeout(t *testing.T) {
	t.Parallel()
	for mode, wait := range map[string]string{"at once": "--wait=false", "in order": "--wait=ordered"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			for _, timeout := range patience() {
				if timesOut(t, wait, timeout) {
					return
				}
				t.Logf("within %s not even the other hook completed", timeout)
			}
			t.Error("the other hook never completed")
		})
	}
}

// timesOut reports false if the timeout was too short to tell anything.
func timesOut(t *testing.T, wait, timeout string) bool {
	const done, failed, both = release.HookPhaseSucceeded, release.HookPhaseFailed, "hook-succeeded,hook-failed"
	h := newHelm(t)
	app := []hookFate{
		{hookPart: hookPart{name: "hangs", deletes: "hook-failed", logs: both, play: running}, phase: failed, printed: true},
		{hookPart: hookPart{name: "done", deletes: "hook-succeeded", logs: both}, phase: done, printed: true},
		{hookPart: hookPart{name: "next", weight: 1, deletes: both}},
	}
	chain := []hookFate{
		{hookPart: hookPart{kind: "Pod", name: "link-1", play: running}, phase: failed, stays: true},
		{hookPart: hookPart{name: "link-2"}},
	}
	chart := writeHooked(t, hooked{name: "app", mode: "true", hooks: hooksOf("pre-install", app)},
		hooked{name: "chain", mode: "otherChartsOnly", hooks: hooksOf("pre-install", chain)})
	h.from = mark()
	r := h.run("install", "rel", chart, wait, "--timeout", timeout)
	rel := h.last(t, "rel")
	if runsOf(rel)["Job/done"].Phase != done {
		return false
	}
	if r.code != 1 {
		t.Errorf("exit code %d, want 1", r.code)
	}
	h.expectFates(t, rel, r.stderr, slices.Concat(app, chain))
	text := errorOf("\n" + r.stderr)
	expectNamed(t, text, []string{"Job/hangs", "Pod/link-1"}, []string{"Job/next", "Job/link-2"})
	expectSaid(t, text, "--timeout", timeout)
	return true
}
