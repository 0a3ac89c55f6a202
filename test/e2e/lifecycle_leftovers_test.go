// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strconv"
	"testing"

	"github.com/ordered-helm/helm/test/charts"
)

// failingParts are a revision that creates two more objects, sets one more field,
// no longer has what was last, and then hangs.
func failingParts(value string) []charts.Object {
	parts := threeParts(value)
	parts[1].PodAnnotations, parts[1].Annotations, parts[1].DependsOn = charts.NeverReady, charts.ShortTimeout, "first, over"
	return append(parts[:2], charts.Object{Name: "extra", Layer: "extra"}, charts.Object{Name: "over", Layer: "over", DependsOn: "extra"},
		charts.Object{Name: "marked", Layer: "extra", Annotations: []string{"bad: a"}})
}

// firstRevision is what failingParts fail to replace.
func firstRevision(tb testing.TB, value string) string {
	tb.Helper()
	return three(tb, value, charts.Object{Name: "marked", Layer: "extra"})
}

// TestLifecycleLeftovers has a revision fail, and goes on from there in every way:
// nothing that only the failed revision had is left, nor what it set, and no
// object that it did not come to deleting.
func TestLifecycleLeftovers(t *testing.T) {
	t.Parallel()
	good := func(h *helm, value string, args ...string) func(testing.TB) {
		return func(tb testing.TB) {
			tb.Helper()
			h.ok(append([]string{"upgrade", "rel", firstRevision(tb, value), "--wait=ordered", "--timeout", "30s"}, args...)...)
		}
	}
	bad := func(h *helm, value string, args ...string) func(testing.TB) {
		return func(tb testing.TB) {
			tb.Helper()
			h.fails(tb, append([]string{"upgrade", "rel", charts.Write(tb, failingParts(value)...), "--wait=ordered"}, args...), "Deployment/app")
		}
	}
	run := func(h *helm, args ...string) func(testing.TB) {
		return func(testing.TB) { h.ok(args...) }
	}
	for _, tt := range []struct {
		name string
		// next is what follows the failed second revision.
		next func(*helm) []func(testing.TB)
		// value is that of the objects in the end; empty if none are to be left.
		value string
		// ordered is whether what is left over is deleted in reverse order, fields
		// whether what only the failed revision set is removed.
		ordered, fields bool
	}{
		{
			name: "upgraded", value: "3", ordered: true, fields: true,
			next: func(h *helm) []func(testing.TB) { return []func(testing.TB){good(h, "3")} },
		},
		{
			name: "upgraded without an order", value: "3", fields: true,
			next: func(h *helm) []func(testing.TB) { return []func(testing.TB){good(h, "3", "--wait=true")} },
		},
		{
			name: "rolled back", value: "1", ordered: true, fields: true,
			next: func(h *helm) []func(testing.TB) { return []func(testing.TB){run(h, "rollback", "rel", "1")} },
		},
		{
			name: "rolled back without an order", value: "1", fields: true,
			next: func(h *helm) []func(testing.TB) {
				return []func(testing.TB){run(h, "rollback", "rel", "1", "--wait=false")}
			},
		},
		{
			name: "rolled back, then upgraded", value: "4", ordered: true, fields: true,
			next: func(h *helm) []func(testing.TB) {
				return []func(testing.TB){run(h, "rollback", "rel"), good(h, "4")}
			},
		},
		{
			name: "failed again and again", value: "5", ordered: true, fields: true,
			next: func(h *helm) []func(testing.TB) {
				less := func(tb testing.TB) {
					tb.Helper()
					parts := threeParts("3")
					parts[1].PodAnnotations, parts[1].Annotations = charts.NeverReady, charts.ShortTimeout
					h.fails(tb, []string{"upgrade", "rel", charts.Write(tb, parts...), "--wait=ordered"}, "Deployment/app")
				}
				return []func(testing.TB){less, less, good(h, "5")}
			},
		},
		{
			name: "failed again, and forgotten", value: "5", // with what it had set in objects of others
			next: func(h *helm) []func(testing.TB) {
				less := func(tb testing.TB) {
					tb.Helper()
					parts := threeParts("3")
					parts[1].PodAnnotations, parts[1].Annotations = charts.NeverReady, charts.ShortTimeout
					h.fails(tb, []string{"upgrade", "rel", charts.Write(tb, parts...), "--wait=ordered", "--history-max", "2"}, "Deployment/app")
				}
				return []func(testing.TB){less, less, good(h, "5", "--history-max", "2")}
			},
		},
		{
			name: "uninstalled", ordered: true,
			next: func(h *helm) []func(testing.TB) { return []func(testing.TB){run(h, "uninstall", "rel")} },
		},
		{
			name: "uninstalled without an order",
			next: func(h *helm) []func(testing.TB) {
				return []func(testing.TB){run(h, "uninstall", "rel", "--wait=false")}
			},
		},
		{
			name: "uninstalled, with its history, and installed again", value: "1",
			next: func(h *helm) []func(testing.TB) {
				return []func(testing.TB){run(h, "uninstall", "rel", "--keep-history"), func(tb testing.TB) {
					tb.Helper()
					h.ok("install", "rel", firstRevision(tb, "1"), "--wait=ordered", "--replace")
				}}
			},
		},
		{
			name: "failed and cleaned up", value: "4", fields: true,
			next: func(h *helm) []func(testing.TB) {
				return []func(testing.TB){bad(h, "3", "--cleanup-on-fail"), good(h, "4")}
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHelm(t)
			h.ok("install", "rel", firstRevision(t, "1"), "--wait=ordered")
			bad(h, "2")(t)
			if h.get(t, "ConfigMap/over") == nil || h.get(t, "ConfigMap/last") == nil || h.get(t, "ConfigMap/marked").GetAnnotations()["bad"] != "a" {
				t.Fatal("the failed revision has left nothing: the proof is empty")
			}
			failed := &oracle{}
			failed.readObjects(t, h.last(t, "rel").Manifest)
			h.from = mark()
			for _, step := range tt.next(h) {
				step(t)
			}
			recorded := h.readTrace(t)
			if tt.value == "" {
				h.expectOnly(t, "rel")
			} else {
				h.expectObjects(t, "rel")
				proveLeftNothing(t, h, tt.value, tt.fields)
			}
			if tt.ordered {
				extra := func(o object) bool { return o.name == "extra" || o.name == "over" }
				if pairs := failed.proveRemoved(t, recorded.since(h.from), extra); pairs != 1 {
					t.Errorf("%d pairs of leftovers had an order, want 1", pairs)
				}
			}
		})
	}
}

func proveLeftNothing(tb testing.TB, h *helm, value string, fields bool) {
	tb.Helper()
	objects := h.objectsOf(tb, "rel")
	for _, id := range []string{"ConfigMap/first", "Deployment/app", "ConfigMap/last"} {
		if got := valueOf(objects[id]); got != value {
			tb.Errorf("%s has the value %q, want %q", id, got, value)
		}
	}
	if !fields {
		return
	}
	if marked := objects["ConfigMap/marked"]; marked == nil || marked.GetAnnotations()["bad"] != "" {
		tb.Errorf("what only the failed revision had set is still there: %v", marked)
	}
	if play := textAt(objects["Deployment/app"], "spec", "template", "metadata", "annotations", "devcluster/pod"); play != "" {
		tb.Errorf("what only the failed revision had set is still there: devcluster/pod: %s", play)
	}
}

// TestLifecycleLeftoversInParts has each of three failed revisions create an object
// of its own, and the next good one deletes all.
func TestLifecycleLeftoversInParts(t *testing.T) {
	t.Parallel()
	h := newHelm(t)
	h.ok("install", "rel", three(t, "0"), "--wait=ordered")
	for i := range 3 {
		parts := append(threeParts("1"), charts.Object{Name: "of-" + strconv.Itoa(i), Layer: "first"})
		parts[1].PodAnnotations, parts[1].Annotations = charts.NeverReady, charts.ShortTimeout
		h.fails(t, []string{"upgrade", "rel", charts.Write(t, parts...), "--wait=ordered"}, "Deployment/app")
	}
	h.expectOnly(t, "rel", "ConfigMap/first", "Deployment/app", "ConfigMap/last", "ConfigMap/of-0", "ConfigMap/of-1", "ConfigMap/of-2")
	h.ok("upgrade", "rel", three(t, "4"), "--wait=ordered")
	h.expectObjects(t, "rel")
}
