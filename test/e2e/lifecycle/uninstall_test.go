// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/cluster"
	"github.com/ordered-helm/helm/test/harness"
)

// TestLifecycleUninstall checks uninstalls with every option, and of releases in every state.
func TestLifecycleUninstall(t *testing.T) {
	t.Parallel()
	harness.RunCases(t, map[string]func(*testing.T, *harness.Helm){
		"keep policy":                   uninstallKeeps,
		"cascade orphan":                uninstallOrphans,
		"cascade foreground":            uninstallCascades,
		"keep history":                  uninstallKeepsHistory,
		"wait":                          uninstallWaits,
		"dry run":                       uninstallDryRun,
		"what somebody deleted":         uninstallWhatIsGone,
		"what somebody replaced":        uninstallReplacedObject,
		"what somebody changes":         uninstallChangedObjects,
		"hanging finalizer":             uninstallHangs,
		"readiness timeout":             uninstallTakesTooLong,
		"pods that may not be listed":   uninstallWithoutPodAccess,
		"hook before it fails":          uninstallStopsAtHook,
		"interrupted for good":          uninstallPendingRelease,
		"killed, and repeated":          uninstallKilled,
		"upgrade that failed":           uninstallOfFailed,
		"pods that take their time":     uninstallAwaitsPods,
		"stock Helm upgraded it":        uninstallStockRelease,
		"several, one of which is gone": uninstallSeveral,
	})
}

func uninstallKeeps(t *testing.T, h *harness.Helm) {
	policies := map[string]string{"exact": "keep", "upper": "Keep", "spaces": " keep ", "shouted": "KEEP", "other": "retain", "silent": "delete"}
	parts := charts.ThreeLayerObjects("x")
	var kept []string
	for name, policy := range policies {
		parts = append(parts, charts.Object{Name: name, Layer: "kept", DependsOn: "app", Annotations: []string{`helm.sh/resource-policy: "` + policy + `"`}})
		if name != "silent" {
			kept = append(kept, "ConfigMap/"+name)
		}
	}
	parts = append(parts, charts.Object{Name: "top", Layer: "top", DependsOn: "kept"})
	h.MustRun("install", "rel", charts.Write(t, parts...), "--wait=ordered")
	manifest, r := h.Uninstall(t)
	for _, id := range kept {
		harness.ExpectContains(t, r.Stdout, "[ConfigMap] "+strings.TrimPrefix(id, "ConfigMap/")+"\n")
	}
	h.CheckUninstallOrder(t, manifest, kept...)
	h.ExpectObjects(t, "rel", kept...)
}

// deletePropagation returns the propagation policies of Helm's delete requests, by "Kind/name"
// of the object.
func deletePropagation(tb testing.TB, h *harness.Helm) map[string]string {
	tb.Helper()
	found := map[string]string{}
	for _, e := range h.Cluster.Audit(tb) {
		if e.Namespace != h.Namespace || e.Verb != "delete" || e.Stage != cluster.StageComplete || !strings.HasPrefix(e.UserAgent, "Helm/") || harness.IsStorageObject(e.Resource, e.Name) {
			continue
		}
		var options metav1.DeleteOptions
		if err := json.Unmarshal(e.Request, &options); err != nil || options.PropagationPolicy == nil {
			tb.Errorf("%s says %s", e.URI, e.Request)
			continue
		}
		found[harness.Kinds[e.Resource]+"/"+e.Name] = string(*options.PropagationPolicy)
	}
	return found
}

func uninstallOrphans(t *testing.T, h *harness.Helm) {
	h.MustRun("install", "rel", charts.ThreeLayers(t, "x"), "--wait=ordered")
	manifest, _ := h.Uninstall(t, "--cascade", "orphan", "--timeout", "30s")
	h.CheckUninstallOrder(t, manifest)
	h.ExpectObjects(t, "rel")
	for id, policy := range deletePropagation(t, h) {
		if policy != "Orphan" {
			t.Errorf("%s was deleted with %s", id, policy)
		}
	}
	pods, err := h.Cluster.Client().CoreV1().Pods(h.Namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=app"})
	if err != nil || len(pods.Items) != 1 || pods.Items[0].DeletionTimestamp != nil {
		t.Errorf("the orphaned pod is not there: %v, %v", pods, err)
	}
}

func uninstallCascades(t *testing.T, h *harness.Helm) {
	h.MustRun("install", "rel", charts.ThreeLayers(t, "x"), "--wait=ordered")
	manifest, _ := h.Uninstall(t, "--cascade", "foreground")
	h.CheckUninstallOrder(t, manifest)
	found := deletePropagation(t, h)
	if len(found) != 3 {
		t.Errorf("deleted were %v", found)
	}
	for id, policy := range found {
		if policy != "Foreground" {
			t.Errorf("%s was deleted with %s", id, policy)
		}
	}
}

func uninstallKeepsHistory(t *testing.T, h *harness.Helm) {
	h.MustRun("install", "rel", charts.ThreeLayers(t, "1"), "--wait=ordered")
	h.MustRun("upgrade", "rel", charts.ThreeLayers(t, "2"), "--wait=ordered")
	manifest, _ := h.Uninstall(t, "--keep-history", "--description", "no longer needed")
	h.CheckUninstallOrder(t, manifest)
	h.ExpectObjects(t, "rel")
	h.ExpectStatuses(t, "rel", "superseded uninstalled")
	if description := h.LastRevision(t, "rel").Info.Description; description != "no longer needed" {
		t.Errorf("the description is %q", description)
	}
	h.ExpectFailure(t, []string{"uninstall", "rel", "--keep-history"}, "already deleted")
	h.MustRun("uninstall", "rel")
	h.ExpectEmptyNamespace(t)
}

func uninstallWaits(t *testing.T, h *harness.Helm) {
	parts := append(charts.ThreeLayerObjects("x"), charts.Object{Kind: "Pod", Name: "slow", Layer: "slow", DependsOn: "last", PodAnnotations: []string{"devcluster/stop-after: 2s"}},
		charts.Object{Kind: "Pod", Name: "leaf", PodAnnotations: []string{"devcluster/stop-after: 2s"}})
	h.MustRun("install", "rel", charts.Write(t, parts...), "--wait=ordered")
	// --wait waits until the objects and pods of the release are deleted, not for orphaned
	// objects.
	manifest, _ := h.Uninstall(t, "--wait")
	h.ExpectObjects(t, "rel")
	h.CheckUninstallOrder(t, manifest)
}

func uninstallDryRun(t *testing.T, h *harness.Helm) {
	h.MustRun("install", "rel", charts.ThreeLayers(t, "x"), "--wait=ordered")
	before := h.LastRevision(t, "rel")
	_, _ = h.Uninstall(t, "--dry-run")
	if list := h.ReadTrace(t).Since(h.Started).WrittenByHelm(); len(list) > 0 {
		t.Errorf("these were written: %q", list)
	}
	if after := h.LastRevision(t, "rel"); after.Info.Status != before.Info.Status || after.Info.Description != before.Info.Description {
		t.Errorf("the release was changed: %+v", after.Info)
	}
	h.ExpectManifestObjects(t, "rel")
}

func uninstallWhatIsGone(t *testing.T, h *harness.Helm) {
	h.MustRun("install", "rel", charts.ThreeLayers(t, "x"), "--wait=ordered")
	h.Delete(t, "Deployment/app")
	_, _ = h.Uninstall(t)
	h.ExpectObjects(t, "rel")
	h.ExpectEmptyNamespace(t)
}

// uninstallReplacedObject checks that an uninstall does not delete an object that does not
// belong to the release, but has replaced one of its objects under the same name.
func uninstallReplacedObject(t *testing.T, h *harness.Helm) {
	h.MustRun("install", "rel", charts.ThreeLayers(t, "x"), "--wait=ordered")
	h.Delete(t, "ConfigMap/last")
	h.Apply(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: last}\n")
	manifest, _ := h.Uninstall(t)
	h.CheckUninstallOrder(t, manifest)
}

// uninstallChangedObjects checks that an uninstall considers changes that others make after it
// has read the objects: it keeps an object that another release has taken over.
func uninstallChangedObjects(t *testing.T, h *harness.Helm) {
	dir := charts.ThreeLayers(t, "x")
	charts.AddFinalizer(t, dir, "last")
	h.MustRun("install", "rel", dir, "--wait=ordered")
	r := h.MustRunWhile(t, "app:last ConfigMap/last: Terminating", func() {
		h.Patch(t, "ConfigMap/first", `{"metadata":{"annotations":{"meta.helm.sh/release-name":"other"}}}`)
		h.Patch(t, "Deployment/app", `{"metadata":{"labels":{"changed":"yes"}}}`)
		h.RemoveFinalizers(t, "ConfigMap/last")
	}, "uninstall", "rel")
	harness.ExpectContains(t, r.Stderr, "WARNING: ", "first", "is not deleted: ")
	h.ExpectObjects(t, "rel")
	h.ExpectObjects(t, "other", "ConfigMap/first")
}

// uninstallHangs checks an uninstall that times out because an object is not deleted: its
// error names the object, the stored release and its progress remain, and a repeated uninstall
// succeeds.
func uninstallHangs(t *testing.T, h *harness.Helm) {
	dir := charts.ThreeLayers(t, "x", charts.Object{Name: "top", Layer: "top", DependsOn: "last"})
	charts.AddFinalizer(t, dir, "last")
	h.MustRun("install", "rel", dir, "--wait=ordered")
	h.Started = harness.Now()
	h.ExpectFailure(t, []string{"uninstall", "rel", "--timeout", "10s"}, "ConfigMap/last", "ordered.example/hold", "--timeout")
	h.ExpectObjects(t, "rel", "ConfigMap/first", "Deployment/app", "ConfigMap/last")
	rel := h.LastRevision(t, "rel")
	if rel.Info.Status != "failed" {
		t.Errorf("the release is recorded as %s", rel.Info.Status)
	}
	harness.ExpectContains(t, rel.Info.Description, "Uninstall failed", "/last still existed when the operation timed out after", "ordered.example/hold")
	harness.ExpectContains(t, h.MustRun("status", "rel").Stdout, "1 of 4 nodes deleted")
	h.RemoveFinalizers(t, "ConfigMap/last")
	h.MustRun("uninstall", "rel")
	h.ExpectObjects(t, "rel")
	h.ExpectEmptyNamespace(t)
}

func uninstallTakesTooLong(t *testing.T, h *harness.Helm) {
	parts := charts.ThreeLayerObjects("x")
	parts[1].PodAnnotations = []string{"devcluster/stop-after: 5s"}
	h.MustRun("install", "rel", charts.Write(t, parts...), "--wait=ordered")
	h.Started = harness.Now()
	h.ExpectFailure(t, []string{"uninstall", "rel", "--readiness-timeout", "1s"}, "still existed after 1s", "--readiness-timeout", "Pod/app-")
	if deleted, _ := h.ReadTrace(t).Since(h.Started).Deleted("ConfigMap/first"); !deleted.IsZero() {
		t.Error("what the slow pod depends on was deleted")
	}
	h.MustRun("uninstall", "rel", "--readiness-timeout", "1m")
	expectDeletedAfterPods(t, h, "app", "ConfigMap/first")
	h.ExpectObjects(t, "rel")
	h.ExpectEmptyNamespace(t)
	h.ExpectFailure(t, []string{"uninstall", "rel", "--readiness-timeout", "-1s"}, "--readiness-timeout")
}

func uninstallStopsAtHook(t *testing.T, h *harness.Helm) {
	h.MustRun("install", "rel", charts.ThreeLayers(t, "x", charts.Object{Kind: "Job", Name: "hook", Annotations: []string{"helm.sh/hook: pre-delete"}, PodAnnotations: []string{"devcluster/pod: fail"}}), "--wait=ordered")
	h.Started = harness.Now()
	h.ExpectFailure(t, []string{"uninstall", "rel"}, "hook")
	if list := h.ReadTrace(t).Since(h.Started).WrittenByHelm("delete"); len(list) > 0 {
		t.Errorf("these were deleted: %q", list)
	}
	h.ExpectManifestObjects(t, "rel")
	_, _ = h.Uninstall(t, "--no-hooks")
	h.ExpectObjects(t, "rel")
}

// uninstallPendingRelease checks the uninstall of a release whose upgrade was killed.
func uninstallPendingRelease(t *testing.T, h *harness.Helm) {
	h.MustRun("install", "rel", charts.ThreeLayers(t, "1"), "--wait=ordered")
	h.KillAt(t, "app:app applied", "upgrade", "rel", charts.Write(t, charts.UnreadyObjects("2", charts.Object{Name: "extra", Layer: "first"})...), "--wait=ordered")
	h.ExpectStatuses(t, "rel", "deployed pending-upgrade")
	h.ExpectFailure(t, []string{"uninstall", "rel", "--takeover=never"}, "revision 2 of release rel is pending-upgrade; locked by helm upgrade on ")
	manifest, _ := h.Uninstall(t)
	h.CheckUninstallOrder(t, manifest)
	h.ExpectObjects(t, "rel")
	h.ExpectEmptyNamespace(t)
}

// uninstallKilled checks that an uninstall continues another one that was killed.
func uninstallKilled(t *testing.T, h *harness.Helm) {
	dir := charts.ThreeLayers(t, "1")
	charts.AddFinalizer(t, dir, "last")
	h.MustRun("install", "rel", dir, "--wait=ordered")
	h.KillAt(t, "app:last ConfigMap/last: Terminating", "uninstall", "rel")
	h.ExpectStatuses(t, "rel", "uninstalling")
	h.RemoveFinalizers(t, "ConfigMap/last")
	manifest, _ := h.Uninstall(t)
	h.CheckUninstallOrder(t, manifest, "ConfigMap/last")
	h.ExpectObjects(t, "rel")
	h.ExpectEmptyNamespace(t)
}

func uninstallOfFailed(t *testing.T, h *harness.Helm) {
	h.MustRun("install", "rel", firstRevision(t, "1"), "--wait=ordered")
	h.ExpectFailure(t, []string{"upgrade", "rel", charts.Write(t, charts.FailingObjects("2")...), "--wait=ordered"}, "Deployment/app")
	manifest, _ := h.Uninstall(t)
	h.CheckUninstallOrder(t, manifest)
	h.ExpectObjects(t, "rel")
	h.ExpectEmptyNamespace(t)
}

func uninstallAwaitsPods(t *testing.T, h *harness.Helm) {
	slow := []string{"devcluster/stop-after: 1s"}
	parts := charts.ThreeLayerObjects("x")
	parts[1].PodAnnotations = slow
	parts = append(parts, charts.Object{Kind: "Pod", Name: "pod", Layer: "pod", DependsOn: "last", PodAnnotations: slow},
		charts.Object{Kind: "Job", Name: "job", Layer: "job", DependsOn: "pod", Annotations: charts.LongTimeout})
	h.MustRun("install", "rel", charts.Write(t, parts...), "--wait=ordered")
	manifest, _ := h.Uninstall(t)
	h.CheckUninstallOrder(t, manifest)
	expectDeletedAfterPods(t, h, "app", "ConfigMap/first")
}

// expectDeletedAfterPods checks that an object was deleted only after the pods of a Deployment
// no longer existed.
func expectDeletedAfterPods(tb testing.TB, h *harness.Helm, deployment, id string) {
	tb.Helper()
	err := wait.PollUntilContextTimeout(tb.Context(), 50*time.Millisecond, harness.Timeout, true, func(ctx context.Context) (bool, error) {
		pods, err := h.Cluster.Client().CoreV1().Pods(h.Namespace).List(ctx, metav1.ListOptions{})
		return err == nil && len(pods.Items) == 0, err
	})
	harness.NoError(tb, err)
	recorded := h.ReadTrace(tb)
	deleted, _ := recorded.Deleted(id)
	if pods := recorded.PodsGone(harness.OrderedObject{Kind: "Deployment", Name: deployment}); pods.IsZero() || deleted.Before(pods) {
		tb.Errorf("%s was deleted at %s, the pods before it were gone at %s", id, deleted, pods)
	}
}

// uninstallWithoutPodAccess checks that an uninstall by an account that is not allowed to list
// pods prints a warning, and does not wait for pods.
func uninstallWithoutPodAccess(t *testing.T, h *harness.Helm) {
	parts := charts.ThreeLayerObjects("x")
	h.MustRun("install", "rel", charts.Write(t, parts...), "--wait=ordered")
	as := h.GrantRules(t, rbacv1.PolicyRule{Verbs: []string{"get", "delete", "update", "watch"}, APIGroups: []string{"*"}, Resources: []string{"*"}},
		rbacv1.PolicyRule{Verbs: []string{"list"}, APIGroups: []string{""}, Resources: []string{"secrets"}})
	r := h.MustRun(append(as, "uninstall", "rel")...)
	harness.ExpectContains(t, r.Stderr, "WARNING: no permission to list pods in namespace "+h.Namespace+": not waiting for the pods of deleted resources")
	if n := strings.Count(r.Stderr, "no permission to list pods"); n != 1 {
		t.Errorf("that was said %d times:\n%s", n, r.Stderr)
	}
	h.ExpectObjects(t, "rel")
}

// uninstallStockRelease checks that an uninstall deletes all objects at the same time, without
// ordering, if stock Helm deployed the last revision.
func uninstallStockRelease(t *testing.T, h *harness.Helm) {
	h.MustRun("install", "rel", charts.ThreeLayers(t, "1"), "--wait=ordered")
	h.MustRunStock(t, "upgrade", "rel", charts.ThreeLayers(t, "2"))
	_, _ = h.Uninstall(t)
	h.ExpectObjects(t, "rel")
	h.ExpectEmptyNamespace(t)
}

func uninstallSeveral(t *testing.T, h *harness.Helm) {
	one, two := charts.Write(t, charts.Object{Name: "a", Layer: "a"}), charts.Write(t, charts.Object{Name: "b", Layer: "b"})
	h.MustRun("install", "one", one, "--wait=ordered")
	h.MustRun("install", "two", two, "--wait=ordered")
	h.ExpectFailure(t, []string{"uninstall", "none"}, "Release not loaded: none: release: not found")
	h.MustRun("uninstall", "one", "none", "two", "--ignore-not-found")
	h.ExpectEmptyNamespace(t)
}
