// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// revisionWrites returns the times at which a stored revision was written.
func revisionWrites(tb testing.TB, h *harness.Helm, revision int) []time.Time {
	tb.Helper()
	var times []time.Time
	for _, e := range h.Cluster.Audit(tb) {
		if h.IsUpdateOf(tb, e, "rel", revision) {
			times = append(times, e.Received)
		}
	}
	return times
}

// TestLifecycleProgress checks that `helm status` prints which nodes were finished when an
// upgrade is killed, interrupted or fails after its first node. After a rollback by stock
// Helm, which copies the order record, it must not print them for the new revision.
func TestLifecycleProgress(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(*testing.T, *harness.Helm, ...string){
		"interrupted": func(t *testing.T, h *harness.Helm, args ...string) {
			t.Helper()
			interruptAt(t, h, "app:app applied", "rel has been cancelled", args...)
		},
		"killed": func(t *testing.T, h *harness.Helm, args ...string) {
			t.Helper()
			h.KillWhen(t, "app:app applied", func() bool { return len(revisionWrites(t, h, 2)) > 0 }, args...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			h.MustRun("install", "rel", charts.ThreeLayers(t, "1"), "--wait=ordered")
			stop(t, h, "upgrade", "rel", charts.Write(t, charts.UnreadyObjects("2")...), "--wait=ordered")
			harness.ExpectContains(t, h.MustRun("status", "rel").Stdout, "ORDER: ordered, 1 of 3 nodes done")
			harness.ExpectContains(t, h.MustRun("status", "rel", "-o", "json").Stdout, `"interrupted":true`, `"done":["app:first"]`)
			harness.ExpectContains(t, string(harness.Record(h.LastRevision(t, "rel"))), `"progress"`)

			h.MustRunStock(t, "rollback", "rel", "2", "--no-hooks") // to the same revision that was stopped
			harness.ExpectContains(t, string(harness.Record(h.LastRevision(t, "rel"))), `"progress"`)
			harness.ExpectContains(t, h.MustRun("status", "rel").Stdout, "REVISION: 3\nORDER: ignored (rolled back by another program; uninstalled in reverse order), 3 nodes\n")
			h.MustRun("upgrade", "rel", charts.ThreeLayers(t, "4"), "--wait=ordered")
			h.ExpectManifestObjects(t, "rel")
			expectNoProgress(t, h)
			h.MustRun("rollback", "rel", "2", "--wait=false")
			expectNoProgress(t, h)
			h.MustRun("rollback", "rel", "4", "--timeout", "1m")
			expectNoProgress(t, h)
		})
	}
}

// TestLifecycleProgressBeforeFirstNode checks that `helm status` prints that no node was
// finished if an operation is stopped before its first node is finished.
func TestLifecycleProgressBeforeFirstNode(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	failing := func(event string) charts.Object {
		return charts.Object{Kind: "Job", Name: "hook", Annotations: []string{"helm.sh/hook: " + event}, PodAnnotations: []string{"devcluster/pod: fail"}}
	}
	h.ExpectFailure(t, []string{"install", "rel", charts.ThreeLayers(t, "1", failing("pre-install")), "--wait=ordered"}, "pre-install")
	harness.ExpectContains(t, h.MustRun("status", "rel").Stdout, "ORDER: ordered, 0 of 3 nodes done")
	// No revision was deployed, so the upgrade runs the install hooks.
	h.ExpectFailure(t, []string{"upgrade", "rel", charts.ThreeLayers(t, "2", failing(`"post-install,pre-delete"`)), "--wait=ordered"}, "post-install")
	harness.ExpectContains(t, h.MustRun("status", "rel").Stdout, "ORDER: ordered, 3 nodes\n")
	h.ExpectFailure(t, []string{"uninstall", "rel"}, "hook")
	harness.ExpectContains(t, h.MustRun("status", "rel").Stdout, "ORDER: ordered, 0 of 3 nodes deleted")
	h.MustRun("upgrade", "rel", charts.ThreeLayers(t, "3"), "--wait=ordered")
	expectNoProgress(t, h)
}

// TestLifecycleProgressOfLastNode checks that the last node does not count as finished if it
// never becomes ready.
func TestLifecycleProgressOfLastNode(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	never := charts.Object{Kind: "Deployment", Name: "never", Layer: "never", DependsOn: "last", PodAnnotations: []string{"devcluster/pod: never"}, Annotations: []string{`helm.sh/readiness-timeout: "1s"`}}
	h.ExpectFailure(t, []string{"install", "rel", charts.ThreeLayers(t, "1", never), "--wait=ordered"}, "Deployment/never was not ready within 1s")
	harness.ExpectContains(t, h.MustRun("status", "rel").Stdout, "ORDER: ordered, 3 of 4 nodes done")
}

// expectNoProgress checks that the last revision contains no progress of an unfinished
// operation.
func expectNoProgress(tb testing.TB, h *harness.Helm) {
	tb.Helper()
	rel := h.LastRevision(tb, "rel")
	if own := fmt.Appendf(nil, `"progress":{"revision":%d`, rel.Version); bytes.Contains(harness.Record(rel), own) {
		tb.Errorf("revision %d, which is %s, says how far it came: %s", rel.Version, rel.Info.Status, harness.Record(rel))
	}
	if status := h.MustRun("status", "rel").Stdout; bytes.Contains([]byte(status), []byte("done")) {
		tb.Errorf("the status is\n%s", status)
	}
}

// TestLifecycleProgressIsStoredRarely checks that the progress of an operation with thirty
// nodes is stored at most once a second, and is removed at the end.
func TestLifecycleProgressIsStoredRarely(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	var parts []charts.Object
	after := ""
	for i := range 30 {
		p := charts.Object{Name: fmt.Sprintf("part-%d", i), Layer: fmt.Sprintf("layer-%d", i), DependsOn: after}
		if i%10 == 5 {
			p.Kind, p.PodAnnotations, p.Annotations = "Pod", []string{"devcluster/after: 1s"}, charts.LongTimeout
		}
		parts = append(parts, p)
		after = p.Layer
	}
	h.Started = harness.Now()
	h.MustRun("install", "rel", charts.Write(t, parts...), "--wait=ordered")
	times := revisionWrites(t, h, 1)
	if len(times) < 3 { // at least two progress writes, and the end
		t.Errorf("the release was only stored %d times: the proof is empty", len(times))
	}
	// If the operation takes long, it also renews its lease. These writes do not count towards
	// one write per second.
	renewals := int(times[len(times)-1].Sub(h.Started) / history.RenewInterval)
	var short []time.Duration
	before := h.Started
	for _, at := range times[:len(times)-1] { // the last write is the end
		if span := at.Sub(before); span < time.Second {
			short = append(short, span)
		}
		before = at
	}
	if len(short) > 2*renewals {
		t.Errorf("the release was stored again after %s, with %d renewals of the lease", short, renewals)
	}
	expectNoProgress(t, h)
	if bytes.Contains(harness.Record(h.LastRevision(t, "rel")), []byte("progress")) {
		t.Errorf("the record is %s", harness.Record(h.LastRevision(t, "rel")))
	}
}
