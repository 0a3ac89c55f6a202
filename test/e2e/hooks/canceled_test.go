// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"slices"
	"strings"
	"syscall"
	"testing"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// canceledOutcomes returns the hooks of three charts, one for each hook mode, with the results
// expected after TestCanceledParallelHooks has canceled the operation. By then, some hooks
// have completed, one has failed, and some are running.
func canceledOutcomes() (app, chain, plain []hookOutcome) {
	const done, failed, both = release.HookPhaseSucceeded, release.HookPhaseFailed, "hook-succeeded,hook-failed"
	hook := func(name, deletes, logs string, play []string, phase release.HookPhase, stays, printed bool) hookOutcome {
		f := hookOutcome{Object: charts.Object{Kind: "Job", Name: name, DeletePolicy: deletes, LogPolicy: logs, PodAnnotations: play}, phase: phase, stays: stays, printed: printed}
		if phase == failed && !slices.Equal(play, running) {
			f.Gate = failGate
		}
		return f
	}
	app = []hookOutcome{
		hook("done-none", "", both, nil, done, true, true),
		hook("done-gone", "hook-succeeded", "hook-succeeded", nil, done, false, true),
		hook("done-stays", "hook-failed", "hook-failed", nil, done, true, false),
		hook("bad-gone", "hook-failed", "hook-failed", failing, failed, false, true),
		hook("bad-stays", "hook-succeeded", "hook-succeeded", failing, failed, true, false),
		hook("cut-none", "", both, running, failed, true, true),
		hook("cut-gone", "hook-failed", "hook-failed", running, failed, false, true),
		hook("cut-stays", "hook-succeeded", "hook-succeeded", running, failed, true, false),
		{Object: charts.Object{Kind: "Job", Name: "next", Weight: 1, DeletePolicy: both, LogPolicy: both}},
	}
	chain = []hookOutcome{
		hook("link-1", "before-hook-creation", "", running, failed, true, false),
		{Object: charts.Object{Kind: "Job", Name: "link-2", DeletePolicy: both, LogPolicy: both}},
	}
	plain = []hookOutcome{{Object: charts.Object{Kind: "ConfigMap", Name: "alone"}, stays: true}}
	return app, chain, plain
}

// TestCanceledParallelHooks cancels an operation while hooks run in parallel. It checks that
// Helm stops waiting for the running hooks, starts no other hook, deletes hooks according to
// their policies, and unlocks the release.
func TestCanceledParallelHooks(t *testing.T) {
	t.Parallel()
	for name, op := range hookOperations() {
		switch name {
		case "install", "install in order", "upgrade", "upgrade, atomic", "rollback", "uninstall", "test":
		default:
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			chart, outcomes := op.prepare(t, h, canceledOutcomes)
			p := h.Start(t, withChart(op.args, chart)...)
			awaitHookPhases(t, h, release.HookPhaseSucceeded, idsInPhase(outcomes, release.HookPhaseSucceeded)...)
			awaitPodPhase(t, h, "Running", "cut-none", "cut-gone", "cut-stays", "link-1")
			h.OpenGates(t, failGate)
			awaitHookPhases(t, h, release.HookPhaseFailed, withGate(outcomes, failGate)...)
			cut := harness.Now()
			p.Signal(t, syscall.SIGTERM)
			r := p.ExpectExit(t, 1)
			harness.ExpectContains(t, r.Stdout+r.Stderr, "has been cancelled") // on stdout as in Helm, in the cases in which Helm prints it

			for i, f := range outcomes {
				if slices.Equal(f.PodAnnotations, running) {
					outcomes[i].after = cut
				}
			}
			expectOutcomes(t, h, h.History(t, "rel")[op.revision-1], r.Stderr, outcomes)
			text := harness.ErrorOf("\n" + r.Stderr)
			expectErrorNames(t, text, withGate(outcomes, failGate), idsInPhase(outcomes, ""))
			for _, name := range []string{"cut-none", "cut-gone", "cut-stays", "link-1"} {
				if !strings.Contains(text, "/templates/"+name+".yaml") {
					t.Errorf("it does not name %s, which was cut off:\n%s", name, text)
				}
			}
			op.checkRelease(t, h)
		})
	}
}
