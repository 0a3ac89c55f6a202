// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/charts"
)

// TestLifecycleRollback rolls back from and to revisions of every making.
func TestLifecycleRollback(t *testing.T) {
	t.Parallel()
	runLifecycle(t, map[string]func(*testing.T, *helm){
		"to a revision of stock Helm":   rollBackToStock,
		"to a copy of stock Helm's":     rollBackToCopied,
		"from a revision of stock Helm": rollBackFromStock,
		"after a failed upgrade":        rollBackAfterFailure,
		"after a failed rollback":       rollBackAgain,
		"after an uninstall":            rollBackAnUninstall,
		"of an install that failed":     rollBackToFailed,
		"after a rollback was killed":   rollBackPending,
		"without the order":             rollBackWithoutOrder,
		"to what is not there":          rollBackToNothing,
		"dry run":                       rollBackInThought,
		"cleanup-on-fail":               rollBackAndCleanUp,
		"keep policy":                   rollBackKeeps,
	})
}

// oddParts is another revision, which has two objects of its own.
func oddParts(value string) []charts.Object {
	return append(threeParts(value), charts.Object{Name: "odd", Layer: "odd", DependsOn: "last"}, charts.Object{Name: "odder", Layer: "odder", DependsOn: "odd"})
}

// proveOddGone proves that what only oddParts have was deleted in reverse order,
// after all else was ready.
func (h *helm) proveOddGone(tb testing.TB, manifest string, recorded trace) {
	tb.Helper()
	odd := &oracle{}
	odd.readObjects(tb, manifest)
	late := recorded.since(h.from)
	if pairs := odd.proveRemoved(tb, late, func(o object) bool { return strings.HasPrefix(o.name, "odd") }); pairs != 1 {
		tb.Errorf("%d pairs of deleted objects had an order, want 1", pairs)
	}
	now := &oracle{}
	now.readObjects(tb, h.last(tb, "rel").Manifest)
	for _, id := range []string{"ConfigMap/odd", "ConfigMap/odder"} {
		deleted, _ := late.deleted(id)
		for _, o := range now.objects {
			if why := recorded.readyBy(o, deleted); why != "" {
				tb.Errorf("%s was deleted at %s, though %s %s", id, deleted, o, why)
			}
		}
	}
}

// expectValue checks the value of all objects of threeParts.
func (h *helm) expectValue(tb testing.TB, value string) {
	tb.Helper()
	for _, id := range []string{"ConfigMap/first", "Deployment/app", "ConfigMap/last"} {
		if got := valueOf(h.get(tb, id)); got != value {
			tb.Errorf("%s has the value %q, want %q", id, got, value)
		}
	}
}

func rollBackToStock(t *testing.T, h *helm) {
	h.stock(t, "install", "rel", three(t, "1"), "--wait")
	h.ok("upgrade", "rel", charts.Write(t, oddParts("2")...), "--wait=ordered")
	before, odd := h.objectsOf(t, "rel"), &oracle{}
	odd.readObjects(t, h.last(t, "rel").Manifest)
	h.from = mark()
	r := h.ok("rollback", "rel", "1", "--wait=ordered")
	expectSaid(t, r.stderr, "revision 1 of release rel was not deployed in order")
	// What only the second revision had goes in the reverse of its order.
	if pairs := odd.proveRemoved(t, h.readTrace(t).since(h.from), func(o object) bool { return strings.HasPrefix(o.name, "odd") }); pairs != 1 {
		t.Errorf("%d pairs of deleted objects had an order, want 1", pairs)
	}
	h.expectObjects(t, "rel")
	h.expectValue(t, "1")
	expectSame(t, before, h.objectsOf(t, "rel"), "ConfigMap/first", "Deployment/app", "ConfigMap/last")
	h.expectStatuses(t, "rel", "superseded superseded deployed")
	h.ok("upgrade", "rel", three(t, "4"), "--wait=ordered")
	h.expectValue(t, "4")
}

// rollBackToCopied returns to a revision that stock Helm's rollback copied from an
// ordered one: it is deployed in order, and removed so as well, whoever made it.
func rollBackToCopied(t *testing.T, h *helm) {
	h.ok("install", "rel", three(t, "1"), "--wait=ordered")
	h.ok("upgrade", "rel", three(t, "2"), "--wait=ordered")
	h.stock(t, "rollback", "rel", "1", "--wait")
	h.ok("upgrade", "rel", three(t, "4"), "--wait=ordered")
	h.from = mark()
	h.ok("rollback", "rel", "3")
	h.proveOrderOf(t, "rel", h.readTrace(t))
	h.expectValue(t, "1")
	h.stock(t, "rollback", "rel", "4", "--wait")
	expectSaid(t, h.ok("status", "rel").stdout, "ORDER: not followed")
	manifest, _ := h.uninstalled(t)
	h.proveReverse(t, manifest)
}

func rollBackFromStock(t *testing.T, h *helm) {
	h.ok("install", "rel", three(t, "1"), "--wait=ordered")
	h.stock(t, "upgrade", "rel", charts.Write(t, oddParts("2")...), "--wait")
	h.from = mark()
	h.ok("rollback", "rel", "1", "--timeout", "1m")
	recorded := h.readTrace(t)
	h.proveOrderOf(t, "rel", recorded)
	late := recorded.since(h.from)
	if got := late.touched("delete"); !slices.Equal(got, []string{"ConfigMap/odd", "ConfigMap/odder"}) {
		t.Errorf("deleted were %q", got)
	}
	h.expectObjects(t, "rel")
	h.expectValue(t, "1")
}

func rollBackAfterFailure(t *testing.T, h *helm) {
	h.ok("install", "rel", three(t, "1"), "--wait=ordered")
	parts := oddParts("2")
	parts[1].PodAnnotations, parts[1].Annotations, parts[1].DependsOn = charts.NeverReady, charts.ShortTimeout, "first, beside"
	parts[2].DependsOn, parts[3].DependsOn = "", ""
	parts = append(parts, charts.Object{Name: "beside", Layer: "beside", DependsOn: "odder"})
	h.fails(t, []string{"upgrade", "rel", charts.Write(t, parts...), "--wait=ordered"}, "Deployment/app")
	failed := h.last(t, "rel").Manifest
	h.from = mark()
	h.ok("rollback", "rel", "--timeout", "1m")
	recorded := h.readTrace(t)
	h.proveOrderOf(t, "rel", recorded)
	h.proveOddGone(t, failed, recorded)
	h.expectObjects(t, "rel")
	h.expectValue(t, "1")
	h.expectStatuses(t, "rel", "superseded failed deployed")
}

// needyParts are a revision whose pods need what is not of the release.
func needyParts(tb testing.TB, value string) string {
	tb.Helper()
	parts := threeParts(value)
	parts[1].Annotations = []string{"helm.sh/readiness-timeout: 3s"}
	dir := charts.Write(tb, parts...)
	charts.Edit(tb, dir, "templates/all.yaml", "{name: c, image: i,", "{name: c, image: i, envFrom: [{configMapRef: {name: outside}}],")
	return dir
}

const outside = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: outside}\ndata: {a: b}\n"

// rollBackAgain has a rollback fail for want of what somebody took away.
func rollBackAgain(t *testing.T, h *helm) {
	h.apply(t, outside)
	h.ok("install", "rel", needyParts(t, "1"), "--wait=ordered")
	h.ok("upgrade", "rel", charts.Write(t, oddParts("2")...), "--wait=ordered")
	odd := h.last(t, "rel").Manifest
	h.delete(t, "ConfigMap/outside")
	h.from = mark()
	h.fails(t, []string{"rollback", "rel", "1", "--timeout", "1m"}, "Deployment/app was not ready within 3s", "outside", "never started", "app:last")
	if got := h.readTrace(t).since(h.from).touched("delete"); len(got) > 0 {
		t.Errorf("though it failed, these were deleted: %q", got)
	}
	h.expectStatuses(t, "rel", "superseded deployed failed")
	expectSaid(t, h.last(t, "rel").Info.Description, `Rollback "rel" failed: Deployment/app was not ready within 3s`)

	h.apply(t, outside)
	h.from = mark()
	h.ok("rollback", "rel", "1", "--timeout", "1m")
	recorded := h.readTrace(t)
	h.proveOddGone(t, odd, recorded)
	h.expectObjects(t, "rel")
	h.expectValue(t, "1")
	h.expectStatuses(t, "rel", "superseded superseded failed deployed")
}

// rollBackPending kills a rollback: the next one takes the release over.
func rollBackPending(t *testing.T, h *helm) {
	h.apply(t, outside)
	dir := needyParts(t, "1")
	charts.Edit(t, dir, "templates/all.yaml", "readiness-timeout: 3s", "readiness-timeout: 4m")
	h.ok("install", "rel", dir, "--wait=ordered")
	h.ok("upgrade", "rel", charts.Write(t, oddParts("2")...), "--wait=ordered")
	odd := h.last(t, "rel").Manifest
	h.delete(t, "ConfigMap/outside")
	h.kill(t, "app:app applied", "rollback", "rel", "1")
	h.expectStatuses(t, "rel", "superseded deployed pending-rollback")
	h.fails(t, []string{"upgrade", "rel", three(t, "3"), "--wait=ordered", "--takeover=never"}, "another operation (install/upgrade/rollback) is in progress")
	h.apply(t, outside)
	h.from = mark()
	h.ok("rollback", "rel", "1")
	h.proveOddGone(t, odd, h.readTrace(t))
	h.expectObjects(t, "rel")
	h.expectValue(t, "1")
}

func rollBackAnUninstall(t *testing.T, h *helm) {
	h.ok("install", "rel", three(t, "1"), "--wait=ordered")
	h.ok("uninstall", "rel", "--keep-history")
	h.expectOnly(t, "rel")
	h.from = mark()
	h.ok("rollback", "rel", "1", "--timeout", "1m")
	h.proveOrderOf(t, "rel", h.readTrace(t))
	h.expectObjects(t, "rel")
}

func rollBackToFailed(t *testing.T, h *helm) {
	parts := threeParts("1")
	parts[1].PodAnnotations, parts[1].Annotations = []string{"devcluster/after: 4s"}, charts.ShortTimeout
	h.fails(t, []string{"install", "rel", charts.Write(t, parts...), "--wait=ordered"}, "Deployment/app")
	h.ok("upgrade", "rel", three(t, "2"), "--wait=ordered")
	h.expectObjects(t, "rel")
	h.fails(t, []string{"rollback", "rel", "1", "--timeout", "1m"}, "Deployment/app")
	h.ok("rollback", "rel", "2", "--timeout", "1m")
	h.expectValue(t, "2")
	h.expectObjects(t, "rel")
}

// rollBackWithoutOrder does not wait for what is slow.
func rollBackWithoutOrder(t *testing.T, h *helm) {
	parts := threeParts("1")
	parts[1].PodAnnotations = []string{"devcluster/after: 3s"}
	h.ok("install", "rel", charts.Write(t, parts...), "--wait=ordered")
	h.ok("upgrade", "rel", three(t, "2"), "--wait=ordered")
	h.from = mark()
	h.ok("rollback", "rel", "1", "--wait=false")
	recorded := h.readTrace(t)
	changed := recorded.since(h.from).helms("ConfigMap/last", changing...)
	if len(changed) != 1 {
		t.Fatalf("ConfigMap/last was written %d times", len(changed))
	}
	if recorded.readyBy(object{kind: "Deployment", name: "app"}, changed[0].received) == "" {
		t.Error("it was waited until Deployment/app was ready, though the order was to be ignored")
	}
	h.expectObjects(t, "rel")
	h.expectValue(t, "1")
	h.ok("upgrade", "rel", charts.Write(t, oddParts("4")...), "--wait=ordered")
	h.expectObjects(t, "rel")
}

func rollBackToNothing(t *testing.T, h *helm) {
	h.fails(t, []string{"rollback", "rel"}, "release: not found")
	h.ok("install", "rel", three(t, "1"), "--wait=ordered")
	h.from = mark()
	h.fails(t, []string{"rollback", "rel", "5"}, "release has no 5 version")
	h.fails(t, []string{"rollback", "rel"}, "release has no 0 version")
	h.fails(t, []string{"rollback", "rel", "1", "--readiness-timeout", "10m"}, "--readiness-timeout")
	if list := h.readTrace(t).since(h.from).touched(); len(list) > 0 || len(h.history(t, "rel")) != 1 {
		t.Errorf("something was changed all the same: %q, %s", list, h.statuses(t, "rel"))
	}
}

func rollBackInThought(t *testing.T, h *helm) {
	h.ok("install", "rel", three(t, "1"), "--wait=ordered")
	h.ok("upgrade", "rel", charts.Write(t, oddParts("2")...), "--wait=ordered")
	h.from = mark()
	h.ok("rollback", "rel", "1", "--dry-run")
	if list := h.readTrace(t).since(h.from).touched(); len(list) > 0 || len(h.history(t, "rel")) != 2 {
		t.Errorf("something was changed all the same: %q, %s", list, h.statuses(t, "rel"))
	}
}

// rollBackAndCleanUp deletes, of a rollback that failed, what it created.
func rollBackAndCleanUp(t *testing.T, h *helm) {
	h.apply(t, outside)
	dir := needyParts(t, "1")
	charts.AddFile(t, dir, "templates/only.yaml", charts.Object{Name: "only", Layer: "first"}.Manifest())
	h.ok("install", "rel", dir, "--wait=ordered")
	h.ok("upgrade", "rel", three(t, "2"), "--wait=ordered")
	h.delete(t, "ConfigMap/outside")
	h.from = mark()
	h.fails(t, []string{"rollback", "rel", "1", "--timeout", "1m", "--cleanup-on-fail"}, "Deployment/app was not ready within 3s")
	late := h.readTrace(t).since(h.from)
	if created, deleted := late.touched("create"), late.touched("delete"); !slices.Equal(created, []string{"ConfigMap/only"}) || !slices.Equal(created, deleted) {
		t.Errorf("created were %q, deleted %q", created, deleted)
	}
}

func rollBackKeeps(t *testing.T, h *helm) {
	h.ok("install", "rel", three(t, "1"), "--wait=ordered")
	h.ok("upgrade", "rel", three(t, "2", charts.Object{Name: "kept", Layer: "kept", Annotations: []string{`helm.sh/resource-policy: " Keep "`}}), "--wait=ordered")
	h.ok("rollback", "rel", "1", "--timeout", "1m")
	h.expectObjects(t, "rel", "ConfigMap/kept")
}
