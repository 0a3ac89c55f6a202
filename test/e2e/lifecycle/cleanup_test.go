// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strconv"
	"testing"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// firstRevision writes the chart of the revision before the failed one, whose objects are
// charts.FailingObjects.
func firstRevision(tb testing.TB, value string) string {
	tb.Helper()
	return charts.ThreeLayers(tb, value, charts.Object{Name: "marked", Layer: "extra"})
}

// TestLifecycleLeftovers makes a revision fail, and continues with every kind of operation. It
// checks that no object or field is left that only the failed revision declared, and no object
// that the failed revision should have deleted.
func TestLifecycleLeftovers(t *testing.T) {
	t.Parallel()
	good := func(h *harness.Helm, value string, args ...string) func(testing.TB) {
		return func(tb testing.TB) {
			tb.Helper()
			h.MustRun(append([]string{"upgrade", "rel", firstRevision(tb, value), "--wait=ordered", "--timeout", "30s"}, args...)...)
		}
	}
	bad := func(h *harness.Helm, value string, args ...string) func(testing.TB) {
		return func(tb testing.TB) {
			tb.Helper()
			h.ExpectFailure(tb, append([]string{"upgrade", "rel", charts.Write(tb, charts.FailingObjects(value)...), "--wait=ordered"}, args...), "Deployment/app")
		}
	}
	run := func(h *harness.Helm, args ...string) func(testing.TB) {
		return func(testing.TB) { h.MustRun(args...) }
	}
	for _, tt := range []struct {
		name string
		// next returns the operations after the failed second revision.
		next func(*harness.Helm) []func(testing.TB)
		// value is the value of the objects at the end, or empty if no objects are expected.
		value string
		// ordered is true if the leftover objects are deleted in reverse order, fields if
		// fields that only the failed revision declared are removed.
		ordered, fields bool
	}{
		{
			name: "upgraded", value: "3", ordered: true, fields: true,
			next: func(h *harness.Helm) []func(testing.TB) { return []func(testing.TB){good(h, "3")} },
		},
		{
			name: "upgraded without an order", value: "3", fields: true,
			next: func(h *harness.Helm) []func(testing.TB) { return []func(testing.TB){good(h, "3", "--wait=true")} },
		},
		{
			name: "rolled back", value: "1", ordered: true, fields: true,
			next: func(h *harness.Helm) []func(testing.TB) { return []func(testing.TB){run(h, "rollback", "rel", "1")} },
		},
		{
			name: "rolled back without an order", value: "1", fields: true,
			next: func(h *harness.Helm) []func(testing.TB) {
				return []func(testing.TB){run(h, "rollback", "rel", "1", "--wait=false")}
			},
		},
		{
			name: "rolled back, then upgraded", value: "4", ordered: true, fields: true,
			next: func(h *harness.Helm) []func(testing.TB) {
				return []func(testing.TB){run(h, "rollback", "rel"), good(h, "4")}
			},
		},
		{
			name: "failed again and again", value: "5", ordered: true, fields: true,
			next: func(h *harness.Helm) []func(testing.TB) {
				less := func(tb testing.TB) {
					tb.Helper()
					parts := charts.ThreeLayerObjects("3")
					parts[1].PodAnnotations, parts[1].Annotations = charts.NeverReady, charts.ShortTimeout
					h.ExpectFailure(tb, []string{"upgrade", "rel", charts.Write(tb, parts...), "--wait=ordered"}, "Deployment/app")
				}
				return []func(testing.TB){less, less, good(h, "5")}
			},
		},
		{
			name: "failed again, and forgotten", value: "5", // with the fields that it had set in other objects
			next: func(h *harness.Helm) []func(testing.TB) {
				less := func(tb testing.TB) {
					tb.Helper()
					parts := charts.ThreeLayerObjects("3")
					parts[1].PodAnnotations, parts[1].Annotations = charts.NeverReady, charts.ShortTimeout
					h.ExpectFailure(tb, []string{"upgrade", "rel", charts.Write(tb, parts...), "--wait=ordered", "--history-max", "2"}, "Deployment/app")
				}
				return []func(testing.TB){less, less, good(h, "5", "--history-max", "2")}
			},
		},
		{
			name: "uninstalled", ordered: true,
			next: func(h *harness.Helm) []func(testing.TB) { return []func(testing.TB){run(h, "uninstall", "rel")} },
		},
		{
			name: "uninstalled without an order",
			next: func(h *harness.Helm) []func(testing.TB) {
				return []func(testing.TB){run(h, "uninstall", "rel", "--wait=false")}
			},
		},
		{
			name: "uninstalled, with its history, and installed again", value: "1",
			next: func(h *harness.Helm) []func(testing.TB) {
				return []func(testing.TB){run(h, "uninstall", "rel", "--keep-history"), func(tb testing.TB) {
					tb.Helper()
					h.MustRun("install", "rel", firstRevision(tb, "1"), "--wait=ordered", "--replace")
				}}
			},
		},
		{
			name: "failed and cleaned up", value: "4", fields: true,
			next: func(h *harness.Helm) []func(testing.TB) {
				return []func(testing.TB){bad(h, "3", "--cleanup-on-fail"), good(h, "4")}
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			h.MustRun("install", "rel", firstRevision(t, "1"), "--wait=ordered")
			bad(h, "2")(t)
			if h.Get(t, "ConfigMap/over") == nil || h.Get(t, "ConfigMap/last") == nil || h.Get(t, "ConfigMap/marked").GetAnnotations()["bad"] != "a" {
				t.Fatal("the failed revision has left nothing: the proof is empty")
			}
			failed := &harness.Order{}
			failed.AddManifest(t, h.LastRevision(t, "rel").Manifest)
			h.Started = harness.Now()
			for _, step := range tt.next(h) {
				step(t)
			}
			recorded := h.ReadTrace(t)
			if tt.value == "" {
				h.ExpectObjects(t, "rel")
			} else {
				h.ExpectManifestObjects(t, "rel")
				checkCleanedUp(t, h, tt.value, tt.fields)
			}
			if tt.ordered {
				extra := func(o harness.OrderedObject) bool { return o.Name == "extra" || o.Name == "over" }
				if pairs := failed.CheckDeletions(t, recorded.Since(h.Started), extra); pairs != 1 {
					t.Errorf("%d pairs of leftovers had an order, want 1", pairs)
				}
			}
		})
	}
}

func checkCleanedUp(tb testing.TB, h *harness.Helm, value string, fields bool) {
	tb.Helper()
	objects := h.ReleaseObjects(tb, "rel")
	for _, id := range []string{"ConfigMap/first", "Deployment/app", "ConfigMap/last"} {
		if got := harness.ValueOf(objects[id]); got != value {
			tb.Errorf("%s has the value %q, want %q", id, got, value)
		}
	}
	if !fields {
		return
	}
	if marked := objects["ConfigMap/marked"]; marked == nil || marked.GetAnnotations()["bad"] != "" {
		tb.Errorf("what only the failed revision had set is still there: %v", marked)
	}
	if play := stringAt(objects["Deployment/app"], "spec", "template", "metadata", "annotations", "devcluster/pod"); play != "" {
		tb.Errorf("what only the failed revision had set is still there: devcluster/pod: %s", play)
	}
}

// TestLifecycleLeftoversOfSeveralRevisions checks that a successful revision deletes the
// objects that three failed revisions before it have created.
func TestLifecycleLeftoversOfSeveralRevisions(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	h.MustRun("install", "rel", charts.ThreeLayers(t, "0"), "--wait=ordered")
	for i := range 3 {
		parts := append(charts.ThreeLayerObjects("1"), charts.Object{Name: "of-" + strconv.Itoa(i), Layer: "first"})
		parts[1].PodAnnotations, parts[1].Annotations = charts.NeverReady, charts.ShortTimeout
		h.ExpectFailure(t, []string{"upgrade", "rel", charts.Write(t, parts...), "--wait=ordered"}, "Deployment/app")
	}
	h.ExpectObjects(t, "rel", "ConfigMap/first", "Deployment/app", "ConfigMap/last", "ConfigMap/of-0", "ConfigMap/of-1", "ConfigMap/of-2")
	h.MustRun("upgrade", "rel", charts.ThreeLayers(t, "4"), "--wait=ordered")
	h.ExpectManifestObjects(t, "rel")
}
