// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/test/charts"
)

// The gates of the tests: for the hooks that fail, and for the slow ones.
const failGate, slowGate = "fail-gate", "slow-gate"

// failureFates are the hooks of three charts, one of each mode, of which some fail
// while the others still run.
func failureFates() (app, chain, plain []hookFate) {
	const done, failed = release.HookPhaseSucceeded, release.HookPhaseFailed
	slow := func(name, deletes, logs string, stays, printed bool) hookFate {
		return hookFate{Object: charts.Object{Kind: "Job", Name: name, DeletePolicy: deletes, LogPolicy: logs, Gate: slowGate}, phase: done, stays: stays, printed: printed}
	}
	bad := func(name, deletes, logs string, stays, printed bool) hookFate {
		return hookFate{Object: charts.Object{Kind: "Job", Name: name, DeletePolicy: deletes, LogPolicy: logs, Gate: failGate, PodAnnotations: failing}, phase: failed, stays: stays, printed: printed}
	}
	const both = "hook-succeeded,hook-failed"
	app = []hookFate{
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
	// A Pod, not a Job, is the first of the chain.
	link := slow("link-1", "hook-succeeded", "hook-succeeded", false, true)
	link.Kind = "Pod"
	chain = []hookFate{link, {Object: charts.Object{Kind: "Job", Name: "link-2", DeletePolicy: both, LogPolicy: both}}}
	// What is called like one that never starts was there before, and stays.
	plain = []hookFate{{Object: charts.Object{Kind: "ConfigMap", Name: "alone"}, stays: true}}
	return app, chain, plain
}

// hookOperation is an operation whose hooks fail.
type hookOperation struct {
	event string
	// before prepares the release; args is the operation, CHART in it the chart.
	before func(tb testing.TB, h *helm, chart string)
	args   []string
	// revision is the one whose hooks ran; 0 if it is no more.
	revision int
	statuses string
	// own says whether the release's own resources are changed all the same.
	own bool
	// after shows that the release can still be used.
	after func(tb testing.TB, h *helm)
}

// ownPart is a release's own resource.
func ownPart(value string) string { return charts.Object{Name: "own", Value: value}.Manifest() }

func hookOperations() map[string]hookOperation {
	installed := func(tb testing.TB, h *helm, chart string) { tb.Helper(); h.ok("install", "rel", chart) }
	plainly := func(tb testing.TB, h *helm, _ string) {
		tb.Helper()
		h.ok("install", "rel", charts.WriteTemplate(tb, ownPart("1")))
	}
	upgradable := func(tb testing.TB, h *helm) {
		tb.Helper()
		h.ok("upgrade", "rel", charts.WriteTemplate(tb, ownPart("next")))
		if got := valueOf(h.get(tb, "ConfigMap/own")); got != "next" {
			tb.Errorf("the next upgrade left %q", got)
		}
	}
	removable := func(tb testing.TB, h *helm) {
		tb.Helper()
		h.ok("uninstall", "rel", "--no-hooks")
		h.expectOnly(tb, "rel")
		h.expectNoSecrets(tb)
	}
	purged := func(tb testing.TB, h *helm) { tb.Helper(); h.expectOnly(tb, "rel"); h.expectNoSecrets(tb) }
	return map[string]hookOperation{
		"install":             {event: "pre-install", args: []string{"install", "rel", "CHART"}, revision: 1, statuses: "failed", after: upgradable},
		"install in order":    {event: "pre-install", args: []string{"install", "rel", "CHART", "--wait=ordered"}, revision: 1, statuses: "failed", after: upgradable},
		"install, at its end": {event: "post-install", args: []string{"install", "rel", "CHART"}, revision: 1, statuses: "failed", own: true, after: upgradable},
		"install, atomic":     {event: "pre-install", args: []string{"install", "rel", "CHART", "--atomic"}, after: purged},
		"upgrade":             {event: "pre-upgrade", before: plainly, args: []string{"upgrade", "rel", "CHART"}, revision: 2, statuses: "deployed failed", after: upgradable},
		"upgrade, atomic": {event: "pre-upgrade", before: plainly, args: []string{"upgrade", "rel", "CHART", "--atomic"}, revision: 2,
			statuses: "superseded failed deployed", own: true, after: upgradable},
		"rollback": {event: "pre-rollback", before: func(tb testing.TB, h *helm, chart string) {
			tb.Helper()
			installed(tb, h, chart)
			h.ok("upgrade", "rel", charts.WriteTemplate(tb, ownPart("2")))
		}, args: []string{"rollback", "rel", "1"}, revision: 3, statuses: "superseded deployed failed", after: upgradable},
		"uninstall": {event: "pre-delete", before: installed, args: []string{"uninstall", "rel", "--keep-history"}, revision: 1, after: removable},
		"uninstall, at its end": {event: "post-delete", before: installed, args: []string{"uninstall", "rel", "--keep-history"}, revision: 1,
			statuses: "uninstalled", own: true, after: removable},
		"test": {event: "test", before: installed, args: []string{"test", "rel"}, revision: 1, statuses: "deployed", after: upgradable},
	}
}

// TestHooksFailTogether has several hooks of one bucket fail while others run: those
// are waited for, nothing else begins, each is treated by its own policies, and the
// error names all.
func TestHooksFailTogether(t *testing.T) {
	t.Parallel()
	for name, op := range hookOperations() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHelm(t)
			app, chain, plain := failureFates()
			chart := writeHooked(t, charts.Chart{Name: "app", HookMode: "true", Objects: hooksOf(op.event, app), Templates: map[string]string{"own.yaml": ownPart("hooked")}},
				charts.Chart{Name: "chain", HookMode: "otherChartsOnly", Objects: hooksOf(op.event, chain)},
				charts.Chart{Name: "plain", Objects: hooksOf(op.event, plain)})
			fates := slices.Concat(app, chain, plain)
			if op.before != nil {
				op.before(t, h, chart)
			}
			h.openGates(t, "alone")

			h.from = mark()
			p := h.start(t, slices.Concat(replaced(op.args, chart), []string{"--timeout", "2m"})...)
			h.awaitThere(t, begun(fates)...)
			h.openGates(t, failGate)
			h.awaitPhases(t, "rel", release.HookPhaseFailed, withGate(fates, failGate)...)
			opened := mark()
			h.openGates(t, slowGate)
			r := p.expectEnd(t, 1)

			for i := range fates {
				if fates[i].Gate == slowGate {
					fates[i].after = opened
				}
			}
			var rel *release.Release
			if op.revision > 0 {
				rel = h.history(t, "rel")[op.revision-1]
			}
			h.expectFates(t, rel, r.stderr, fates)
			expectNamed(t, errorOf("\n"+r.stderr), fateIDs(fates, release.HookPhaseFailed), fateIDs(fates, ""))
			expectSaid(t, errorOf("\n"+r.stderr), "backoff limit", "exited with code 1")
			if own := h.readTrace(t).since(h.from).helms("ConfigMap/own"); !op.own && len(own) > 0 {
				t.Errorf("the release's own resource was written: %+v", own)
			}
			if op.statuses != "" && h.statuses(t, "rel") != op.statuses {
				t.Errorf("the revisions are %s, want %s", h.statuses(t, "rel"), op.statuses)
			}
			op.after(t, h)
		})
	}
}

// replaced puts the path of the chart into arguments.
func replaced(args []string, chart string) []string {
	args = slices.Clone(args)
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "CHART", chart)
	}
	return args
}
