// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hookorder

import (
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// eventsChart returns a chart with hooks for every event, in three subcharts: left and right
// have two hooks for each event and the given hook modes; the hooks of the third subchart run
// sequentially, in parallel with those of the others.
func eventsChart(left, right string) charts.Chart {
	const pre, post = "pre-install,pre-upgrade,pre-rollback,pre-delete", "post-install,post-upgrade,post-rollback,post-delete"
	hooks := func(name string) []charts.Object {
		return []charts.Object{
			{Name: name + "-pre-1", Hook: pre},
			{Name: name + "-pre-2", Hook: pre},
			{Name: name + "-post-1", Hook: post},
			{Name: name + "-post-2", Hook: post},
			{Kind: "Job", Name: name + "-test-1", Hook: "test"},
			{Name: name + "-test-2", Hook: "test-success"},
		}
	}
	return charts.Chart{
		Name: "top", Template: charts.ConfigMap("own"),
		Subcharts: []charts.Chart{
			{Name: "left", Metadata: "runHooksInParallel: " + left + "\n", Objects: hooks("l")},
			{Name: "right", APIVersion: "v3", Metadata: "annotations: {helm.sh/run-hooks-in-parallel: \"" + right + "\"}\n", Objects: hooks("r")},
			{Name: "chain", APIVersion: "v1", Metadata: "runHooksInParallel: otherChartsOnly\n", Objects: hooks("o")},
		},
	}
}

// The expected order of the hooks of one event of eventsChart: if subchart right has the mode
// false, and if subchart left has the mode false.
const (
	leftTogether  = "l-X-1 | l-X-2 | o-X-1 o-X-2 > r-X-1 > r-X-2"
	rightTogether = "r-X-1 | r-X-2 | o-X-1 o-X-2 > l-X-1 > l-X-2"
)

// preAndPost returns the plan of an operation whose pre- and post-hooks both run in this
// order.
func preAndPost(order string) string {
	return strings.ReplaceAll(order, "X", "pre") + " > " + strings.ReplaceAll(order, "X", "post")
}

// openEventGates opens the gates of the hooks of an eventsChart for the events that begin with
// moment, which is pre or post.
func openEventGates(tb testing.TB, h *harness.Helm, moment string) {
	tb.Helper()
	for _, s := range eventsChart("true", "true").Subcharts {
		for _, hook := range s.Objects {
			if strings.Contains(hookID(hook), moment) {
				h.OpenGates(tb, gateOf(hookID(hook)))
			}
		}
	}
}

// TestHookEvents checks the order of hooks in all operations. The revisions of the release
// have different hook modes; rollbacks and uninstalls read them from the stored release.
func TestHookEvents(t *testing.T) {
	t.Parallel()
	for _, ordered := range []bool{false, true} {
		name, wait := "without --wait=ordered", "--wait=false"
		if ordered {
			name, wait = "with --wait=ordered", "--wait=ordered"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			checkHookOrder(t, h, preAndPost(leftTogether), "install", "rel", writeGated(t, eventsChart("true", "false")), wait)
			checkHookOrder(t, h, preAndPost(rightTogether), "upgrade", "rel", writeGated(t, eventsChart("false", "true")), wait)
			checkHookOrder(t, h, strings.ReplaceAll(rightTogether, "X", "test"), "test", "rel")
			checkHookOrder(t, h, preAndPost(leftTogether), "rollback", "rel", "1")
			checkHookOrder(t, h, strings.ReplaceAll(leftTogether, "X", "test"), "test", "rel")
			checkHookOrder(t, h, preAndPost(leftTogether), "uninstall", "rel")
			h.ExpectNoReleases(t)
		})
	}
}

// TestHookEventsAfterStockRollback checks that the hook modes of a revision are still known
// after stock Helm, which runs all hooks sequentially, has rolled back to it.
func TestHookEventsAfterStockRollback(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	openEventGates(t, h, "")
	h.MustRun("install", "rel", writeGated(t, eventsChart("true", "false")))
	h.MustRun("upgrade", "rel", writeGated(t, eventsChart("false", "true")))

	h.Started = harness.Now()
	h.MustRunStock(t, "rollback", "rel", "1")
	c := hookOrderCheck{plan: parsePlan("l-pre-1 > l-pre-2 > o-pre-1 > o-pre-2 > r-pre-1 > r-pre-2 > l-post-1 > l-post-2 > o-post-1 > o-post-2 > r-post-1 > r-post-2")}
	c.checkRuns(t, recordedRuns(t, h))

	checkHookOrder(t, h, strings.ReplaceAll(leftTogether, "X", "test"), "test", "rel")
	checkHookOrder(t, h, preAndPost(rightTogether), "rollback", "rel", "2")
	openEventGates(t, h, "")
	h.MustRunStock(t, "rollback", "rel", "3")
	checkHookOrder(t, h, preAndPost(leftTogether), "uninstall", "rel", "--keep-history")
	h.ExpectObjects(t, "rel")
}

// TestHooksOfAtomicRollback checks that the rollback of a failed --atomic upgrade uses the
// hook modes of the previous revision, not those of the failed one.
func TestHooksOfAtomicRollback(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	openEventGates(t, h, "")
	h.MustRun("install", "rel", writeGated(t, eventsChart("true", "true")), "--wait=ordered")

	bad := charts.Chart{Name: "top", Template: charts.Object{Kind: "Job", Name: "never", PodAnnotations: []string{"devcluster/pod: fail"}}.Manifest()}
	s := startOperation(t, h, "upgrade", "rel", writeGated(t, bad), "--atomic", "--wait=ordered", "--wait-for-jobs")
	for _, moment := range []string{"pre", "post"} {
		s.awaitStarted("l-"+moment+"-1", "l-"+moment+"-2", "r-"+moment+"-1", "r-"+moment+"-2", "o-"+moment+"-1")
		openEventGates(t, h, moment)
		s.awaitFinished("o-" + moment + "-2")
	}
	if r := s.end(); r.ExitCode != 1 {
		t.Errorf("exit code %d\n%s", r.ExitCode, r.Stderr)
	}
	c := hookOrderCheck{plan: parsePlan(preAndPost("l-X-1 | l-X-2 | r-X-1 | r-X-2 | o-X-1 o-X-2"))}
	c.checkRuns(t, recordedRuns(t, h))
}
