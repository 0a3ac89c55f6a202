// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/cluster"
)

// recordOf is what a stored revision remembers of its order, as it is stored; nil
// if it remembers nothing.
func recordOf(rel *release.Release) []byte {
	for _, f := range rel.Chart.Files {
		if f.Name == ".ordered-helm/record.json" {
			return f.Data
		}
	}
	return nil
}

// secretWrites are the times at which a revision was stored anew.
func (h *helm) secretWrites(tb testing.TB, revision int) []time.Time {
	tb.Helper()
	var times []time.Time
	for _, e := range h.cluster.Audit(tb) {
		if e.Namespace == h.namespace && e.Resource == "secrets" && e.Stage == cluster.StageComplete && e.Code < 300 &&
			e.Verb == "update" && e.Name == fmt.Sprintf("sh.helm.release.v1.rel.v%d", revision) {
			times = append(times, e.Received)
		}
	}
	return times
}

// TestLifecycleProgress stops an upgrade after its first node: the release says how
// far it came, whoever stopped it. After a rollback by stock Helm, which copies
// what the release remembers, nothing of that is claimed any more.
func TestLifecycleProgress(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(*testing.T, *helm, ...string){
		"interrupted": func(t *testing.T, h *helm, args ...string) {
			t.Helper()
			h.interruptAt(t, "app:app applied", "rel has been cancelled", args...)
		},
		"killed": func(t *testing.T, h *helm, args ...string) {
			t.Helper()
			h.killWhen(t, "app:app applied", func() bool { return len(h.secretWrites(t, 2)) > 0 }, args...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHelm(t)
			h.ok("install", "rel", three(t, "1"), "--wait=ordered")
			stop(t, h, "upgrade", "rel", charts.Write(t, slowParts("2")...), "--wait=ordered")
			expectSaid(t, h.ok("status", "rel").stdout, "ORDER: ordered, 1 of 3 nodes done")
			expectSaid(t, h.ok("status", "rel", "-o", "json").stdout, `"interrupted":true`, `"done":["app:first"]`)
			expectSaid(t, string(recordOf(h.last(t, "rel"))), `"progress"`)

			h.stock(t, "rollback", "rel", "2", "--no-hooks") // to the very revision that was stopped
			expectSaid(t, string(recordOf(h.last(t, "rel"))), `"progress"`)
			expectSaid(t, h.ok("status", "rel").stdout, "REVISION: 3\nORDER: not followed, 3 nodes\n")
			h.ok("upgrade", "rel", three(t, "4"), "--wait=ordered")
			h.expectObjects(t, "rel")
			h.expectNoProgress(t)
			h.ok("rollback", "rel", "2", "--wait=false")
			h.expectNoProgress(t)
			h.ok("rollback", "rel", "4", "--timeout", "1m")
			h.expectNoProgress(t)
		})
	}
}

// TestLifecycleProgressFromTheStart stops operations before the first node, where
// nothing has been noted so far: the release says all the same that none is done.
func TestLifecycleProgressFromTheStart(t *testing.T) {
	t.Parallel()
	h := newHelm(t)
	failing := func(event string) charts.Object {
		return charts.Object{Kind: "Job", Name: "hook", Annotations: []string{"helm.sh/hook: " + event}, PodAnnotations: []string{"devcluster/pod: fail"}}
	}
	h.fails(t, []string{"install", "rel", three(t, "1", failing("pre-install")), "--wait=ordered"}, "pre-install")
	expectSaid(t, h.ok("status", "rel").stdout, "ORDER: ordered, 0 of 3 nodes done")
	h.fails(t, []string{"upgrade", "rel", three(t, "2", failing(`"post-upgrade,pre-delete"`)), "--wait=ordered"}, "post-upgrade")
	expectSaid(t, h.ok("status", "rel").stdout, "ORDER: ordered, 3 nodes\n")
	h.fails(t, []string{"uninstall", "rel"}, "hook")
	expectSaid(t, h.ok("status", "rel").stdout, "ORDER: ordered, 0 of 3 nodes removed")
	h.ok("upgrade", "rel", three(t, "3"), "--wait=ordered")
	h.expectNoProgress(t)
}

// TestLifecycleProgressOfTheLast has a last node that never gets ready: that one is
// not done.
func TestLifecycleProgressOfTheLast(t *testing.T) {
	t.Parallel()
	h := newHelm(t)
	never := charts.Object{Kind: "Deployment", Name: "never", Layer: "never", DependsOn: "last", PodAnnotations: []string{"devcluster/pod: never"}, Annotations: []string{`helm.sh/readiness-timeout: "1s"`}}
	h.fails(t, []string{"install", "rel", three(t, "1", never), "--wait=ordered"}, "Deployment/never was not ready within 1s")
	expectSaid(t, h.ok("status", "rel").stdout, "ORDER: ordered, 3 of 4 nodes done")
}

// expectNoProgress checks that the newest revision claims nothing unfinished of
// itself.
func (h *helm) expectNoProgress(tb testing.TB) {
	tb.Helper()
	rel := h.last(tb, "rel")
	if own := fmt.Appendf(nil, `"progress":{"revision":%d`, rel.Version); bytes.Contains(recordOf(rel), own) {
		tb.Errorf("revision %d, which is %s, says how far it came: %s", rel.Version, rel.Info.Status, recordOf(rel))
	}
	if status := h.ok("status", "rel").stdout; bytes.Contains([]byte(status), []byte("done")) {
		tb.Errorf("the status is\n%s", status)
	}
}

// TestLifecycleNotesAreFew has thirty nodes, some of which take a second: the
// release is stored at most once in a second meanwhile, and in the end all is
// forgotten.
func TestLifecycleNotesAreFew(t *testing.T) {
	t.Parallel()
	h := newHelm(t)
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
	h.from = mark()
	h.ok("install", "rel", charts.Write(t, parts...), "--wait=ordered")
	times := h.secretWrites(t, 1)
	if len(times) < 3 { // two notes at least, and the end
		t.Errorf("the release was only stored %d times: the proof is empty", len(times))
	}
	before := h.from
	for i, at := range times[:len(times)-1] { // the last one is the end
		if span := at.Sub(before); span < time.Second {
			t.Errorf("the release was stored for the %d. time %s after the time before", i+1, span)
		}
		before = at
	}
	h.expectNoProgress(t)
	if bytes.Contains(recordOf(h.last(t, "rel")), []byte("progress")) {
		t.Errorf("the record is %s", recordOf(h.last(t, "rel")))
	}
}
