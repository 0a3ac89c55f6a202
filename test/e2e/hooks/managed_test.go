// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/fault"
	"github.com/ordered-helm/helm/test/harness"
)

// Annotations of hooks.
const (
	managed   = "helm.sh/hook-policy: managed"
	unmanaged = "helm.sh/hook-policy: unmanaged"
	keep      = "helm.sh/resource-policy: keep"
)

// formatChart writes a chart of the format helm.sh/v3.
func formatChart(tb testing.TB, objects ...charts.Object) string {
	tb.Helper()
	return charts.WriteFiles(tb, map[string]string{
		"Chart.yaml":         "apiVersion: helm.sh/v3\nkind: Chart\nmetadata:\n  name: app\n  labels: {version: 1.0.0}\n",
		"templates/all.yaml": charts.Manifests(objects...),
	})
}

// hook returns a ConfigMap that is a hook.
func hook(name, events string, weight int, annotations ...string) charts.Object {
	return charts.Object{Name: name, Hook: events, Weight: weight, Annotations: annotations}
}

// managedHook returns a ConfigMap that is a managed hook in charts of any format.
func managedHook(name, events string) charts.Object { return hook(name, events, 0, managed) }

func own() charts.Object { return charts.Object{Name: "own"} }

// expectExisting checks which of the objects that ids names exist. Names of objects that must not exist
// begin with "!".
func expectExisting(tb testing.TB, h *harness.Helm, ids ...string) {
	tb.Helper()
	for _, id := range ids {
		id, absent := strings.CutPrefix(id, "!")
		if exists := h.Get(tb, id) != nil; exists == absent {
			tb.Errorf("%s exists: %t", id, exists)
		}
	}
}

// TestManagedHooks checks that what managed hooks leave in the cluster belongs to the release.
func TestManagedHooks(t *testing.T) {
	t.Parallel()
	harness.RunCases(t, map[string]func(*testing.T, *harness.Helm){
		"order of an uninstall":          managedOrder,
		"charts of other formats":        managedOtherFormats,
		"objects that are never deleted": managedNeverDeleted,
		"objects of others":              managedObjectsOfOthers,
		"upgrade and rollback":           managedUpgrade,
		"failed upgrade":                 managedFailedUpgrade,
		"atomic upgrade":                 managedAtomicUpgrade,
		"hook becomes a resource":        managedBecomesResource,
		"resource becomes a hook":        managedBecomesHook,
		"failed deletion":                managedFailedDeletion,
		"killed install":                 managedKilledInstall,
		"killed before the UID is known": managedKilledBeforeRecording,
		"killed uninstall":               managedKilledUninstall,
		"delete policies":                managedDeletePolicies,
		"test":                           managedTest,
		"plan":                           managedPlan,
		"invalid policy":                 managedInvalid,
	})
}

// managedOrder checks that hooks are deleted after the post-delete hooks have run, in reverse.
func managedOrder(t *testing.T, h *harness.Helm) {
	for _, wait := range []string{"--wait=ordered", "--wait=false"} {
		for _, args := range [][]string{{}, {"--no-hooks"}, {"--keep-history"}} {
			chart := formatChart(t, own(), hook("b", "pre-install", 2), hook("a", "pre-install", 1), hook("c", "post-install", 0), hook("d", "post-delete", 0))
			h.MustRun("install", "rel", chart, wait)
			h.Started = harness.Now()
			r := h.MustRun(append([]string{"uninstall", "rel", "--wait=" + strings.TrimPrefix(wait, "--wait=")}, args...)...)
			trace := h.ReadTrace(t).Since(h.Started)
			gone := trace.Created("ConfigMap/d")
			if _, first := trace.Deleted("ConfigMap/own"); gone.Before(first) && len(args) == 0 {
				t.Errorf("the hook ran at %s, before %s", gone, first)
			}
			for _, id := range []string{"ConfigMap/d", "ConfigMap/c", "ConfigMap/b", "ConfigMap/a"} {
				if id == "ConfigMap/d" && strings.Join(args, "") == "--no-hooks" {
					continue
				}
				deleted := trace.HelmWrites(id, "delete")
				if len(deleted) == 0 || deleted[len(deleted)-1].Received.Before(gone) {
					t.Errorf("%s: %d deletions, the last before %s", id, len(deleted), gone)
					continue
				}
				gone = deleted[len(deleted)-1].Received
			}
			harness.ExpectContains(t, r.Stderr, "deleting what hooks left")
			expectExisting(t, h, "!ConfigMap/a", "!ConfigMap/b", "!ConfigMap/c", "!ConfigMap/d")
			if len(args) > 0 && args[0] == "--keep-history" {
				h.MustRun("uninstall", "rel")
			}
			h.ExpectNoReleases(t)
		}
	}
}

// managedOtherFormats checks that hooks of other charts stay as stock Helm leaves them, unless they say that
// they are managed, and the other way round.
func managedOtherFormats(t *testing.T, h *harness.Helm) {
	h.MustRun("install", "rel", charts.Write(t, own(), hook("plain", "pre-install", 0), managedHook("managed", "pre-install")))
	if labels := h.Get(t, "ConfigMap/plain").GetLabels(); len(labels) > 0 {
		t.Errorf("the hook has the labels %v", labels)
	}
	h.MustRun("uninstall", "rel")
	expectExisting(t, h, "ConfigMap/plain", "!ConfigMap/managed")

	h.MustRun("install", "rel", charts.Write(t, own(), hook("other", "pre-install", 0)))
	if record := string(harness.Record(h.LastRevision(t, "rel"))); strings.Contains(record, "hook") {
		t.Errorf("the record is %s", record)
	}
	h.MustRun("uninstall", "rel")
	expectExisting(t, h, "ConfigMap/other")

	h.MustRun("install", "rel", formatChart(t, own(), hook("a", "pre-install", 0, unmanaged), hook("b", "pre-install", 0)))
	h.MustRun("uninstall", "rel")
	expectExisting(t, h, "ConfigMap/a", "!ConfigMap/b")
}

func managedNeverDeleted(t *testing.T, h *harness.Helm) {
	d := newCRDHook(t, h, "widgets")
	definition := charts.Definition(d.group, d.kind())
	definition.Hook = "pre-install"
	namespace := charts.Object{APIVersion: "v1", Kind: "Namespace", Name: h.Namespace + "-extra", Hook: "pre-install"}
	h.DeleteAfter(t, harness.ParseManifest(t, namespace.Manifest()))
	chart := formatChart(t, own(), definition, namespace, charts.Object{Kind: "PersistentVolumeClaim", Name: "data", Hook: "pre-install"},
		hook("kept", "pre-install", 0, keep), hook("kept-later", "pre-install", 0), hook("deleted", "pre-install", 0))
	h.MustRun("install", "rel", chart)
	h.Patch(t, "ConfigMap/kept-later", `{"metadata":{"annotations":{"helm.sh/resource-policy":"keep"}}}`)
	h.Patch(t, "ConfigMap/kept", `{"metadata":{"annotations":{"helm.sh/resource-policy":null}}}`)
	r := h.MustRun("uninstall", "rel")
	harness.ExpectContains(t, r.Stderr, `ConfigMap "kept-later"`, "its resource policy keeps it")
	expectExisting(t, h, "ConfigMap/kept", "ConfigMap/kept-later", "PersistentVolumeClaim/data", "!ConfigMap/deleted")
	if d.get(t) == nil {
		t.Error("the CRD was deleted")
	}
	if live, err := h.Cluster.Client().CoreV1().Namespaces().Get(t.Context(), namespace.Name, metav1.GetOptions{}); err != nil || live.GetDeletionTimestamp() != nil {
		t.Errorf("the namespace was deleted: %v", err)
	}
}

// managedObjectsOfOthers checks that objects with another UID, or of another release, are kept.
func managedObjectsOfOthers(t *testing.T, h *harness.Helm) {
	h.MustRun("install", "rel", formatChart(t, own(), hook("recreated", "pre-install", 0), hook("adopted", "pre-install", 0)))
	was := h.Get(t, "ConfigMap/recreated")
	h.Delete(t, "ConfigMap/recreated")
	was.SetUID("")
	was.SetResourceVersion("")
	if _, err := h.Client.Resource(h.ResourceOfKind(t, "ConfigMap")).Namespace(h.Namespace).Create(t.Context(), was, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	h.Patch(t, "ConfigMap/adopted", `{"metadata":{"annotations":{"meta.helm.sh/release-name":"other"}}}`)
	r := h.MustRun("uninstall", "rel")
	harness.ExpectContains(t, r.Stderr, `ConfigMap "recreated"`, "its UID differs", `ConfigMap "adopted"`, "it now belongs to release other")
	expectExisting(t, h, "ConfigMap/recreated", "ConfigMap/adopted")
	h.ExpectNoReleases(t)
}

func managedUpgrade(t *testing.T, h *harness.Helm) {
	both := formatChart(t, own(), hook("a", "pre-install,pre-upgrade,pre-rollback", 0), hook("b", "pre-install", 0), hook("c", "pre-install", 0))
	h.MustRun("install", "rel", both, "--wait=ordered")
	before := h.Get(t, "ConfigMap/b").GetUID()
	r := h.MustRun("upgrade", "rel", formatChart(t, own(), hook("a", "pre-install,pre-upgrade", 0), hook("b", "pre-install", 0)), "--wait=ordered")
	harness.ExpectContains(t, r.Stderr, "deleting what hooks left: 1 resource")
	expectExisting(t, h, "ConfigMap/a", "ConfigMap/b", "!ConfigMap/c")
	if h.Get(t, "ConfigMap/b").GetUID() != before {
		t.Error("it was created again")
	}
	h.MustRun("upgrade", "rel", formatChart(t, own(), hook("new", "post-upgrade", 0)), "--wait=false", "--no-hooks")
	expectExisting(t, h, "!ConfigMap/a", "!ConfigMap/b", "!ConfigMap/new")
	h.MustRun("upgrade", "rel", formatChart(t, own(), hook("new", "post-upgrade", 0)), "--wait=false")
	expectExisting(t, h, "ConfigMap/new")
	h.MustRun("rollback", "rel", "1")
	expectExisting(t, h, "ConfigMap/a", "!ConfigMap/new")

	// A hook that is unmanaged now stays.
	h.MustRun("upgrade", "rel", formatChart(t, own(), hook("a", "pre-install", 0, unmanaged)))
	h.MustRun("uninstall", "rel")
	expectExisting(t, h, "ConfigMap/a")
}

// managedFailedUpgrade checks that the next upgrade deletes what the hooks of a failed one left.
func managedFailedUpgrade(t *testing.T, h *harness.Helm) {
	h.MustRun("install", "rel", formatChart(t, own()))
	fails := charts.Object{Kind: "Job", Name: "fails", Hook: "post-upgrade", PodAnnotations: failing, Spec: []string{"backoffLimit: 0"}}
	h.ExpectFailure(t, []string{"upgrade", "rel", formatChart(t, own(), hook("left", "pre-upgrade", 0), fails)}, "Job/fails")
	expectExisting(t, h, "ConfigMap/left", "Job/fails")
	h.MustRun("upgrade", "rel", formatChart(t, own()))
	expectExisting(t, h, "!ConfigMap/left", "!Job/fails")
	h.MustRun("uninstall", "rel")
	h.ExpectEmptyNamespace(t)
}

func managedAtomicUpgrade(t *testing.T, h *harness.Helm) {
	h.MustRun("install", "rel", formatChart(t, own(), hook("first", "pre-install", 0)))
	fails := charts.Object{Kind: "Job", Name: "fails", Hook: "post-upgrade", PodAnnotations: failing, Spec: []string{"backoffLimit: 0"}}
	h.ExpectFailure(t, []string{"upgrade", "rel", formatChart(t, own(), hook("left", "pre-upgrade", 0), fails), "--atomic"}, "Job/fails")
	expectExisting(t, h, "ConfigMap/first", "!ConfigMap/left", "!Job/fails")
	h.MustRun("uninstall", "rel")
	h.ExpectFailure(t, []string{"install", "rel", formatChart(t, own(), hook("left", "pre-install", 0), func() charts.Object {
		fails.Hook = "post-install"
		return fails
	}()), "--atomic"}, "Job/fails")
	h.ExpectEmptyNamespace(t)
}

func managedBecomesResource(t *testing.T, h *harness.Helm) {
	for _, wait := range []string{"--wait=ordered", "--wait=false"} {
		h.MustRun("install", "rel", formatChart(t, own(), hook("a", "pre-install", 0)), wait)
		before := h.Get(t, "ConfigMap/a").GetUID()
		h.MustRun("upgrade", "rel", formatChart(t, own(), charts.Object{Name: "a", Value: "2"}), wait)
		if live := h.Get(t, "ConfigMap/a"); live == nil || live.GetUID() != before {
			t.Errorf("the object is now %v", live)
		}
		h.MustRun("uninstall", "rel")
		expectExisting(t, h, "!ConfigMap/a")
	}
}

func managedBecomesHook(t *testing.T, h *harness.Helm) {
	for _, wait := range []string{"--wait=ordered", "--wait=false"} {
		for _, event := range []string{"pre-upgrade", "post-upgrade"} {
			h.MustRun("install", "rel", formatChart(t, own(), charts.Object{Name: "a"}), wait)
			h.MustRun("upgrade", "rel", formatChart(t, own(), hook("a", event, 0)), wait)
			expectExisting(t, h, "ConfigMap/a")
			h.MustRun("uninstall", "rel")
			expectExisting(t, h, "!ConfigMap/a")
		}
	}
}

// managedFailedDeletion checks that the uninstall fails and can be repeated.
func managedFailedDeletion(t *testing.T, h *harness.Helm) {
	h.MustRun("install", "rel", formatChart(t, own(), hook("a", "pre-install", 1), hook("b", "pre-install", 2)))
	h.Patch(t, "ConfigMap/b", `{"metadata":{"finalizers":["e2e.example/held"]}}`)
	h.ExpectFailure(t, []string{"uninstall", "rel", "--timeout", "3s"}, "ConfigMap/b", "still existed")
	expectExisting(t, h, "ConfigMap/a", "ConfigMap/b", "!ConfigMap/own")
	h.ExpectStatuses(t, "rel", "failed")
	h.RemoveFinalizers(t, "ConfigMap/b")
	h.MustRun("uninstall", "rel")
	expectExisting(t, h, "!ConfigMap/a", "!ConfigMap/b")
	h.ExpectNoReleases(t)
}

func managedKilledInstall(t *testing.T, h *harness.Helm) {
	job := charts.Object{Kind: "Job", Name: "long", Hook: "pre-install", Weight: 2, PodAnnotations: running}
	created := func() bool { return h.Get(t, "Job/long") != nil }
	h.KillWhen(t, "Job/long started", created, "install", "rel", formatChart(t, own(), hook("a", "pre-install", 1), job))
	h.MustRun("uninstall", "rel", "--no-hooks")
	expectExisting(t, h, "!ConfigMap/a", "!Job/long")
	h.ExpectNoReleases(t)
}

// managedKilledBeforeRecording checks that an object is deleted whose UID is not stored, because the
// operation was killed after the request to create it and before its next write of the release.
func managedKilledBeforeRecording(t *testing.T, h *harness.Helm) {
	chart := formatChart(t, own(), charts.Object{Kind: "Job", Name: "long", Hook: "pre-install", PodAnnotations: running})
	proxied := *h
	held, _ := proxied.HoldRequests(t, func(what fault.Request) bool {
		return what.Verb == "update" && what.Resource == "secrets" && h.Get(t, "Job/long") != nil
	})
	p := proxied.Start(t, "install", "rel", chart)
	harness.AwaitClosed(t, held, "a write of the release after the hook was created")
	p.Kill()
	p.Wait(t)
	if record := string(harness.Record(h.LastRevision(t, "rel"))); strings.Contains(record, `"uid"`) || !strings.Contains(record, `"name":"long"`) {
		t.Errorf("the record is %s", record)
	}
	h.MustRun("uninstall", "rel", "--no-hooks")
	expectExisting(t, h, "!Job/long")
}

func managedKilledUninstall(t *testing.T, h *harness.Helm) {
	h.MustRun("install", "rel", formatChart(t, own(), hook("a", "pre-install", 1), hook("b", "pre-install", 2)))
	h.Patch(t, "ConfigMap/b", `{"metadata":{"finalizers":["e2e.example/held"]}}`)
	terminating := func() bool { return h.Get(t, "ConfigMap/b").GetDeletionTimestamp() != nil }
	h.KillWhen(t, "deleting what hooks left", terminating, "uninstall", "rel")
	h.RemoveFinalizers(t, "ConfigMap/b")
	h.MustRun("uninstall", "rel")
	expectExisting(t, h, "!ConfigMap/a", "!ConfigMap/b")
	h.ExpectNoReleases(t)
}

// managedDeletePolicies checks that only what exists is recorded.
func managedDeletePolicies(t *testing.T, h *harness.Helm) {
	gone := hook("gone", "pre-install,pre-upgrade", 0)
	gone.DeletePolicy = "hook-succeeded"
	chart := formatChart(t, own(), gone, hook("again", "pre-install,pre-upgrade", 0))
	h.MustRun("install", "rel", chart)
	for range 3 {
		h.MustRun("upgrade", "rel", chart)
		record := string(harness.Record(h.LastRevision(t, "rel")))
		uid := string(h.Get(t, "ConfigMap/again").GetUID())
		if strings.Contains(record, `"gone"`) || strings.Count(record, `"again"`) != 1 || !strings.Contains(record, uid) {
			t.Errorf("the record is %s, and the UID %s", record, uid)
		}
	}
	h.MustRun("uninstall", "rel")
	h.ExpectEmptyNamespace(t)
}

func managedTest(t *testing.T, h *harness.Helm) {
	h.MustRun("install", "rel", formatChart(t, own(), hook("tested", "test", 0)))
	h.MustRun("test", "rel")
	expectExisting(t, h, "ConfigMap/tested")
	h.MustRun("upgrade", "rel", formatChart(t, own(), hook("tested", "test", 0)))
	expectExisting(t, h, "ConfigMap/tested")
	h.MustRun("uninstall", "rel")
	h.ExpectEmptyNamespace(t)
}

func managedPlan(t *testing.T, h *harness.Helm) {
	h.MustRun("install", "rel", formatChart(t, own(), hook("a", "pre-install", 0), hook("b", "pre-install", 0)))
	r := h.Run("plan", "rel", formatChart(t, own(), hook("b", "pre-install", 0)))
	harness.ExpectContains(t, r.Stdout, "1 to delete", "ConfigMap/a")
	if strings.Contains(r.Stdout, "ConfigMap/b\n") && strings.Contains(r.Stdout, "delete ConfigMap/b") {
		t.Errorf("it would delete b:\n%s", r.Stdout)
	}
	expectExisting(t, h, "ConfigMap/a", "ConfigMap/b")
}

func managedInvalid(t *testing.T, h *harness.Helm) {
	chart := charts.Write(t, own(), hook("a", "pre-install", 0, "helm.sh/hook-policy: manged"))
	h.ExpectRejected(t, h.Run("install", "rel", chart), "ConfigMap/a", `did you mean "managed"?`)
	h.ExpectRejected(t, h.Run("template", "rel", chart), "helm.sh/hook-policy")
}
