// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// The gates of hooks: failGate for the hooks that fail, slowGate for the slow ones.
const failGate, slowGate = "fail-gate", "slow-gate"

// failureOutcomes returns the hooks of three charts, one for each hook mode, with their
// expected results. Some of them fail while others are still running.
func failureOutcomes() (app, chain, plain []hookOutcome) {
	const done, failed = release.HookPhaseSucceeded, release.HookPhaseFailed
	slow := func(name, deletes, logs string, stays, printed bool) hookOutcome {
		return hookOutcome{Object: charts.Object{Kind: "Job", Name: name, DeletePolicy: deletes, LogPolicy: logs, Gate: slowGate}, phase: done, stays: stays, printed: printed}
	}
	bad := func(name, deletes, logs string, stays, printed bool) hookOutcome {
		return hookOutcome{Object: charts.Object{Kind: "Job", Name: name, DeletePolicy: deletes, LogPolicy: logs, Gate: failGate, PodAnnotations: failing}, phase: failed, stays: stays, printed: printed}
	}
	const both = "hook-succeeded,hook-failed"
	app = []hookOutcome{
		slow("slow-none", "", both, true, true),
		slow("slow-gone", "hook-succeeded", "hook-succeeded", false, true),
		slow("slow-stays", "hook-failed", "hook-failed", true, false),
		slow("slow-before", "before-hook-creation", "", true, false),
		bad("bad-none", "", both, true, true),
		bad("bad-gone", "hook-failed", "hook-failed", false, true),
		bad("bad-stays", "hook-succeeded", "hook-succeeded", true, false),
		bad("bad-before", "before-hook-creation", "", true, false),
		bad("bad-pod", "hook-failed", "hook-failed", false, true),
		{Object: charts.Object{Kind: "Job", Name: "next", Weight: 1, DeletePolicy: both + ",before-hook-creation", LogPolicy: both}},
	}
	app[len(app)-2].Kind = "Pod"
	// The first hook of the chain is a Pod and not a Job.
	link := slow("link-1", "hook-succeeded", "hook-succeeded", false, true)
	link.Kind = "Pod"
	chain = []hookOutcome{link, {Object: charts.Object{Kind: "Job", Name: "link-2", DeletePolicy: both, LogPolicy: both}}}
	// This object existed before. It has the same name as a hook that is never started, so it
	// stays.
	plain = []hookOutcome{{Object: charts.Object{Kind: "ConfigMap", Name: "alone"}, stays: true}}
	return app, chain, plain
}

// hookOperation is an operation whose hooks fail, with what is expected of the release.
type hookOperation struct {
	event string
	// before prepares the release. args are the arguments of the operation, in which CHART
	// stands for the path of the chart.
	before func(tb testing.TB, h *harness.Helm, chart string)
	args   []string
	// revision is the number of the revision whose hooks ran, or 0 if it no longer exists.
	revision int
	statuses string
	// own is true if the release's own resources are changed despite the failure.
	own bool
	// after checks that the release can still be used.
	after func(tb testing.TB, h *harness.Helm)
}

func hookOperations() map[string]hookOperation {
	installed := func(tb testing.TB, h *harness.Helm, chart string) { tb.Helper(); h.MustRun("install", "rel", chart) }
	plainly := func(tb testing.TB, h *harness.Helm, _ string) {
		tb.Helper()
		h.MustRun("install", "rel", charts.WriteTemplate(tb, charts.OwnConfigMap("1")))
	}
	upgradable := func(tb testing.TB, h *harness.Helm) {
		tb.Helper()
		h.MustRun("upgrade", "rel", charts.WriteTemplate(tb, charts.OwnConfigMap("next")))
		if got := harness.ValueOf(h.Get(tb, "ConfigMap/own")); got != "next" {
			tb.Errorf("the next upgrade left %q", got)
		}
	}
	removable := func(tb testing.TB, h *harness.Helm) {
		tb.Helper()
		h.MustRun("uninstall", "rel", "--no-hooks")
		h.ExpectObjects(tb, "rel")
		h.ExpectNoReleases(tb)
	}
	purged := func(tb testing.TB, h *harness.Helm) { tb.Helper(); h.ExpectObjects(tb, "rel"); h.ExpectNoReleases(tb) }
	return map[string]hookOperation{
		"install":             {event: "pre-install", args: []string{"install", "rel", "CHART"}, revision: 1, statuses: "failed", after: upgradable},
		"install in order":    {event: "pre-install", args: []string{"install", "rel", "CHART", "--wait=ordered"}, revision: 1, statuses: "failed", after: upgradable},
		"install, at its end": {event: "post-install", args: []string{"install", "rel", "CHART"}, revision: 1, statuses: "failed", own: true, after: upgradable},
		"install, atomic":     {event: "pre-install", args: []string{"install", "rel", "CHART", "--atomic"}, after: purged},
		"upgrade":             {event: "pre-upgrade", before: plainly, args: []string{"upgrade", "rel", "CHART"}, revision: 2, statuses: "deployed failed", after: upgradable},
		"upgrade, atomic": {event: "pre-upgrade", before: plainly, args: []string{"upgrade", "rel", "CHART", "--atomic"}, revision: 2,
			statuses: "superseded failed deployed", own: true, after: upgradable},
		"rollback": {event: "pre-rollback", before: func(tb testing.TB, h *harness.Helm, chart string) {
			tb.Helper()
			installed(tb, h, chart)
			h.MustRun("upgrade", "rel", charts.WriteTemplate(tb, charts.OwnConfigMap("2")))
		}, args: []string{"rollback", "rel", "1"}, revision: 3, statuses: "superseded deployed failed", after: upgradable},
		"uninstall": {event: "pre-delete", before: installed, args: []string{"uninstall", "rel", "--keep-history"}, revision: 1, after: removable},
		"uninstall, at its end": {event: "post-delete", before: installed, args: []string{"uninstall", "rel", "--keep-history"}, revision: 1,
			statuses: "uninstalled", own: true, after: removable},
		"test": {event: "test", before: installed, args: []string{"test", "rel"}, revision: 1, statuses: "deployed", after: upgradable},
	}
}

// prepare prepares the release, and writes a chart with the three charts of hooks. It returns
// the directory of the chart and the expected results of all hooks.
func (op hookOperation) prepare(tb testing.TB, h *harness.Helm, hooks func() (app, chain, plain []hookOutcome)) (dir string, outcomes []hookOutcome) {
	tb.Helper()
	app, chain, plain := hooks()
	dir = writeHooked(tb, charts.Chart{Name: "app", HookMode: "true", Objects: hooksFor(op.event, app), Templates: map[string]string{"own.yaml": charts.OwnConfigMap("hooked")}},
		charts.Chart{Name: "chain", HookMode: "otherChartsOnly", Objects: hooksFor(op.event, chain)},
		charts.Chart{Name: "plain", Objects: hooksFor(op.event, plain)})
	if op.before != nil {
		op.before(tb, h, dir)
	}
	h.OpenGates(tb, "alone")
	h.Started = harness.Now()
	return dir, slices.Concat(app, chain, plain)
}

// checkRelease checks the release after its hooks have failed, and that it can be repaired.
func (op hookOperation) checkRelease(tb testing.TB, h *harness.Helm) {
	tb.Helper()
	if own := h.ReadTrace(tb).Since(h.Started).HelmWrites("ConfigMap/own"); !op.own && len(own) > 0 {
		tb.Errorf("the release's own resource was written: %+v", own)
	}
	if op.statuses != "" {
		h.ExpectStatuses(tb, "rel", op.statuses)
	}
	op.after(tb, h)
}

// TestFailedParallelHooks makes several hooks of equal weight fail while others are running.
// It checks that Helm waits for the running hooks, starts no other hook, deletes hooks
// according to their policies, and lists all failed hooks in the error.
func TestFailedParallelHooks(t *testing.T) {
	t.Parallel()
	for name, op := range hookOperations() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			chart, outcomes := op.prepare(t, h, failureOutcomes)
			p := h.Start(t, slices.Concat(withChart(op.args, chart), []string{"--timeout", "2m"})...)
			awaitObjects(t, h, startedIDs(outcomes)...)
			h.OpenGates(t, failGate)
			awaitHookPhases(t, h, release.HookPhaseFailed, withGate(outcomes, failGate)...)
			opened := harness.Now()
			h.OpenGates(t, slowGate)
			r := p.ExpectExit(t, 1)

			for i := range outcomes {
				if outcomes[i].Gate == slowGate {
					outcomes[i].after = opened
				}
			}
			var rel *release.Release
			if op.revision > 0 {
				rel = h.History(t, "rel")[op.revision-1]
			}
			expectOutcomes(t, h, rel, r.Stderr, outcomes)
			expectErrorNames(t, harness.ErrorOf("\n"+r.Stderr), idsInPhase(outcomes, release.HookPhaseFailed), idsInPhase(outcomes, ""))
			harness.ExpectContains(t, harness.ErrorOf("\n"+r.Stderr), "backoff limit", "exited with code 1")
			op.checkRelease(t, h)
		})
	}
}

// withChart replaces CHART in arguments by the path of the chart.
func withChart(args []string, chart string) []string {
	args = slices.Clone(args)
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "CHART", chart)
	}
	return args
}
