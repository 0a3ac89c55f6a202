// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/cluster"
)

// TestLifecycleUninstall removes releases with every option.
func TestLifecycleUninstall(t *testing.T) {
	t.Parallel()
	runLifecycle(t, map[string]func(*testing.T, *helm){
		"keep policy":                   uninstallKeeps,
		"cascade orphan":                uninstallOrphans,
		"cascade foreground":            uninstallCascades,
		"keep history":                  uninstallKeepsHistory,
		"wait":                          uninstallWaits,
		"dry run":                       uninstallInThought,
		"what somebody deleted":         uninstallWhatIsGone,
		"what somebody replaced":        uninstallWhatWasReplaced,
		"hanging finalizer":             uninstallHangs,
		"readiness timeout":             uninstallTakesTooLong,
		"pods that may not be listed":   uninstallBlindly,
		"hook before it fails":          uninstallStopsAtHook,
		"interrupted for good":          uninstallOfPending,
		"killed, and repeated":          uninstallKilled,
		"upgrade that failed":           uninstallOfFailed,
		"pods that take their time":     uninstallAwaitsPods,
		"stock Helm upgraded it":        uninstallOfStocks,
		"several, one of which is gone": uninstallSeveral,
	})
}

// proveReverse proves that all of a revision was deleted in reverse order, but for
// what is named.
func (h *helm) proveReverse(tb testing.TB, manifest string, but ...string) {
	tb.Helper()
	o := &oracle{}
	o.readObjects(tb, manifest)
	isGone := func(o object) bool { return !slices.Contains(but, o.String()) }
	if pairs := o.proveRemoved(tb, h.readTrace(tb).since(h.from), isGone); pairs == 0 {
		tb.Error("no two objects had an order: the proof is empty")
	}
}

// uninstalled runs the uninstall and returns what the release consisted of.
func (h *helm) uninstalled(tb testing.TB, args ...string) (manifest string, r result) {
	tb.Helper()
	manifest = h.last(tb, "rel").Manifest
	h.from = mark()
	return manifest, h.ok(append([]string{"uninstall", "rel"}, args...)...)
}

func uninstallKeeps(t *testing.T, h *helm) {
	policies := map[string]string{"exact": "keep", "upper": "Keep", "spaces": " keep ", "shouted": "KEEP", "other": "retain", "silent": "delete"}
	parts := threeParts("x")
	var kept []string
	for name, policy := range policies {
		parts = append(parts, charts.Object{Name: name, Layer: "kept", DependsOn: "app", Annotations: []string{`helm.sh/resource-policy: "` + policy + `"`}})
		if name != "silent" {
			kept = append(kept, "ConfigMap/"+name)
		}
	}
	parts = append(parts, charts.Object{Name: "top", Layer: "top", DependsOn: "kept"})
	h.ok("install", "rel", charts.Write(t, parts...), "--wait=ordered")
	manifest, r := h.uninstalled(t)
	for _, id := range kept {
		expectSaid(t, r.stdout, "[ConfigMap] "+strings.TrimPrefix(id, "ConfigMap/")+"\n")
	}
	h.proveReverse(t, manifest, kept...)
	h.expectOnly(t, "rel", kept...)
}

// propagations are the policies that the binary named when it deleted, by object.
func (h *helm) propagations(tb testing.TB) map[string]string {
	tb.Helper()
	found := map[string]string{}
	for _, e := range h.cluster.Audit(tb) {
		if e.Namespace != h.namespace || e.Verb != "delete" || e.Stage != cluster.StageComplete || !strings.HasPrefix(e.UserAgent, "Helm/") || e.Resource == "secrets" {
			continue
		}
		var options metav1.DeleteOptions
		if err := json.Unmarshal(e.Request, &options); err != nil || options.PropagationPolicy == nil {
			tb.Errorf("%s says %s", e.URI, e.Request)
			continue
		}
		found[kinds[e.Resource]+"/"+e.Name] = string(*options.PropagationPolicy)
	}
	return found
}

func uninstallOrphans(t *testing.T, h *helm) {
	h.ok("install", "rel", three(t, "x"), "--wait=ordered")
	manifest, _ := h.uninstalled(t, "--cascade", "orphan", "--timeout", "30s")
	h.proveReverse(t, manifest)
	h.expectOnly(t, "rel")
	for id, policy := range h.propagations(t) {
		if policy != "Orphan" {
			t.Errorf("%s was deleted with %s", id, policy)
		}
	}
	pods, err := h.cluster.Client().CoreV1().Pods(h.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=app"})
	if err != nil || len(pods.Items) != 1 || pods.Items[0].DeletionTimestamp != nil {
		t.Errorf("the orphaned pod is not there: %v, %v", pods, err)
	}
}

func uninstallCascades(t *testing.T, h *helm) {
	h.ok("install", "rel", three(t, "x"), "--wait=ordered")
	manifest, _ := h.uninstalled(t, "--cascade", "foreground")
	h.proveReverse(t, manifest)
	found := h.propagations(t)
	if len(found) != 3 {
		t.Errorf("deleted were %v", found)
	}
	for id, policy := range found {
		if policy != "Foreground" {
			t.Errorf("%s was deleted with %s", id, policy)
		}
	}
}

func uninstallKeepsHistory(t *testing.T, h *helm) {
	h.ok("install", "rel", three(t, "1"), "--wait=ordered")
	h.ok("upgrade", "rel", three(t, "2"), "--wait=ordered")
	manifest, _ := h.uninstalled(t, "--keep-history", "--description", "no longer needed")
	h.proveReverse(t, manifest)
	h.expectOnly(t, "rel")
	h.expectStatuses(t, "rel", "superseded uninstalled")
	if description := h.last(t, "rel").Info.Description; description != "no longer needed" {
		t.Errorf("the description is %q", description)
	}
	h.fails(t, []string{"uninstall", "rel", "--keep-history"}, "already deleted")
	h.ok("uninstall", "rel")
	h.empty(t)
}

func uninstallWaits(t *testing.T, h *helm) {
	parts := append(threeParts("x"), charts.Object{Kind: "Pod", Name: "slow", Layer: "slow", DependsOn: "last", PodAnnotations: []string{"devcluster/stop-after: 2s"}},
		charts.Object{Kind: "Pod", Name: "leaf", PodAnnotations: []string{"devcluster/stop-after: 2s"}})
	h.ok("install", "rel", charts.Write(t, parts...), "--wait=ordered")
	// What is orphaned is not waited for; only the pods of the release are.
	manifest, _ := h.uninstalled(t, "--wait")
	h.expectOnly(t, "rel")
	h.proveReverse(t, manifest)
}

func uninstallInThought(t *testing.T, h *helm) {
	h.ok("install", "rel", three(t, "x"), "--wait=ordered")
	before := h.last(t, "rel")
	_, _ = h.uninstalled(t, "--dry-run")
	if list := h.readTrace(t).since(h.from).touched(); len(list) > 0 {
		t.Errorf("these were written: %q", list)
	}
	if after := h.last(t, "rel"); after.Info.Status != before.Info.Status || after.Info.Description != before.Info.Description {
		t.Errorf("the release was changed: %+v", after.Info)
	}
	h.expectObjects(t, "rel")
}

func uninstallWhatIsGone(t *testing.T, h *helm) {
	h.ok("install", "rel", three(t, "x"), "--wait=ordered")
	h.delete(t, "Deployment/app")
	_, _ = h.uninstalled(t)
	h.expectOnly(t, "rel")
	h.empty(t)
}

// uninstallWhatWasReplaced removes a release of which somebody replaced an object
// by one of the same name, which bears the release's marks no longer.
func uninstallWhatWasReplaced(t *testing.T, h *helm) {
	h.ok("install", "rel", three(t, "x"), "--wait=ordered")
	h.delete(t, "ConfigMap/last")
	h.apply(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: last}\n")
	manifest, _ := h.uninstalled(t)
	h.proveReverse(t, manifest)
}

// uninstallHangs names what does not go, keeps the record, says how far it came,
// and finishes when it is repeated.
func uninstallHangs(t *testing.T, h *helm) {
	dir := three(t, "x", charts.Object{Name: "top", Layer: "top", DependsOn: "last"})
	charts.Edit(t, dir, "templates/all.yaml", "{name: last,", "{name: last, finalizers: [ordered.example/hold],")
	h.ok("install", "rel", dir, "--wait=ordered")
	h.from = mark()
	h.fails(t, []string{"uninstall", "rel", "--timeout", "2s"}, "ConfigMap/last", "ordered.example/hold", "--timeout")
	h.expectOnly(t, "rel", "ConfigMap/first", "Deployment/app", "ConfigMap/last")
	rel := h.last(t, "rel")
	if rel.Info.Status != "failed" {
		t.Errorf("the release is recorded as %s", rel.Info.Status)
	}
	expectSaid(t, rel.Info.Description, "Uninstall failed", "/last was not gone when the operation's time of", "ordered.example/hold")
	expectSaid(t, h.ok("status", "rel").stdout, "1 of 4 nodes removed")
	h.patch(t, "ConfigMap/last", `{"metadata":{"finalizers":null}}`)
	h.ok("uninstall", "rel")
	h.expectOnly(t, "rel")
	h.empty(t)
}

func uninstallTakesTooLong(t *testing.T, h *helm) {
	parts := threeParts("x")
	parts[1].PodAnnotations = []string{"devcluster/stop-after: 5s"}
	h.ok("install", "rel", charts.Write(t, parts...), "--wait=ordered")
	h.from = mark()
	h.fails(t, []string{"uninstall", "rel", "--readiness-timeout", "1s"}, "not gone within 1s", "--readiness-timeout", "Pod/app-")
	if deleted, _ := h.readTrace(t).since(h.from).deleted("ConfigMap/first"); !deleted.IsZero() {
		t.Error("what the slow pod depends on was deleted")
	}
	h.ok("uninstall", "rel", "--readiness-timeout", "1m")
	h.expectPodsBefore(t, "app", "ConfigMap/first")
	h.expectOnly(t, "rel")
	h.empty(t)
	h.fails(t, []string{"uninstall", "rel", "--readiness-timeout", "-1s"}, "--readiness-timeout")
}

func uninstallStopsAtHook(t *testing.T, h *helm) {
	h.ok("install", "rel", three(t, "x", charts.Object{Kind: "Job", Name: "hook", Annotations: []string{"helm.sh/hook: pre-delete"}, PodAnnotations: []string{"devcluster/pod: fail"}}), "--wait=ordered")
	h.from = mark()
	h.fails(t, []string{"uninstall", "rel"}, "hook")
	if list := h.readTrace(t).since(h.from).touched("delete"); len(list) > 0 {
		t.Errorf("these were deleted: %q", list)
	}
	h.expectObjects(t, "rel")
	_, _ = h.uninstalled(t, "--no-hooks")
	h.expectOnly(t, "rel")
}

// uninstallOfPending removes a release of which an upgrade was killed.
func uninstallOfPending(t *testing.T, h *helm) {
	h.ok("install", "rel", three(t, "1"), "--wait=ordered")
	h.kill(t, "app:app applied", "upgrade", "rel", charts.Write(t, slowParts("2", charts.Object{Name: "extra", Layer: "first"})...), "--wait=ordered")
	h.expectStatuses(t, "rel", "deployed pending-upgrade")
	h.fails(t, []string{"uninstall", "rel", "--takeover=never"}, "revision 2 of release rel is pending-upgrade, by helm upgrade on ")
	manifest, _ := h.uninstalled(t)
	h.proveReverse(t, manifest)
	h.expectOnly(t, "rel")
	h.empty(t)
}

// uninstallKilled kills an uninstall: the next one finishes.
func uninstallKilled(t *testing.T, h *helm) {
	dir := three(t, "1")
	charts.Edit(t, dir, "templates/all.yaml", "{name: last,", "{name: last, finalizers: [ordered.example/hold],")
	h.ok("install", "rel", dir, "--wait=ordered")
	h.kill(t, "app:last ConfigMap/last: Terminating", "uninstall", "rel")
	h.expectStatuses(t, "rel", "uninstalling")
	h.patch(t, "ConfigMap/last", `{"metadata":{"finalizers":null}}`)
	manifest, _ := h.uninstalled(t)
	h.proveReverse(t, manifest, "ConfigMap/last")
	h.expectOnly(t, "rel")
	h.empty(t)
}

func uninstallOfFailed(t *testing.T, h *helm) {
	h.ok("install", "rel", firstRevision(t, "1"), "--wait=ordered")
	h.fails(t, []string{"upgrade", "rel", charts.Write(t, failingParts("2")...), "--wait=ordered"}, "Deployment/app")
	manifest, _ := h.uninstalled(t)
	h.proveReverse(t, manifest)
	h.expectOnly(t, "rel")
	h.empty(t)
}

func uninstallAwaitsPods(t *testing.T, h *helm) {
	slow := []string{"devcluster/stop-after: 1s"}
	parts := threeParts("x")
	parts[1].PodAnnotations = slow
	parts = append(parts, charts.Object{Kind: "Pod", Name: "pod", Layer: "pod", DependsOn: "last", PodAnnotations: slow},
		charts.Object{Kind: "Job", Name: "job", Layer: "job", DependsOn: "pod", Annotations: charts.LongTimeout})
	h.ok("install", "rel", charts.Write(t, parts...), "--wait=ordered")
	manifest, _ := h.uninstalled(t)
	h.proveReverse(t, manifest)
	h.expectPodsBefore(t, "app", "ConfigMap/first")
}

// expectPodsBefore expects that an object was deleted after the pods of a
// Deployment were gone.
func (h *helm) expectPodsBefore(tb testing.TB, deployment, id string) {
	tb.Helper()
	err := wait.PollUntilContextTimeout(tb.Context(), 50*time.Millisecond, tooLong, true, func(ctx context.Context) (bool, error) {
		pods, err := h.cluster.Client().CoreV1().Pods(h.namespace).List(ctx, metav1.ListOptions{})
		return err == nil && len(pods.Items) == 0, err
	})
	if err != nil {
		tb.Fatal(err)
	}
	recorded := h.readTrace(tb)
	deleted, _ := recorded.deleted(id)
	if pods := recorded.podsGone(object{kind: "Deployment", name: deployment}); pods.IsZero() || deleted.Before(pods) {
		tb.Errorf("%s was deleted at %s, the pods before it were gone at %s", id, deleted, pods)
	}
}

// uninstallBlindly removes a release by an account that may not look for pods: it
// says so, and does not wait for them.
func uninstallBlindly(t *testing.T, h *helm) {
	parts := threeParts("x")
	h.ok("install", "rel", charts.Write(t, parts...), "--wait=ordered")
	as := h.grantRules(t, rbacv1.PolicyRule{Verbs: []string{"get", "delete", "update", "watch"}, APIGroups: []string{"*"}, Resources: []string{"*"}},
		rbacv1.PolicyRule{Verbs: []string{"list"}, APIGroups: []string{""}, Resources: []string{"secrets"}})
	r := h.ok(append(as, "uninstall", "rel")...)
	expectSaid(t, r.stderr, "WARNING: pods in namespace "+h.namespace+" may not be listed: pods of what is deleted are not waited for")
	if n := strings.Count(r.stderr, "may not be listed"); n != 1 {
		t.Errorf("that was said %d times:\n%s", n, r.stderr)
	}
	h.expectOnly(t, "rel")
}

// uninstallOfStocks removes at once, as its last revision says, what was in order
// before.
func uninstallOfStocks(t *testing.T, h *helm) {
	h.ok("install", "rel", three(t, "1"), "--wait=ordered")
	h.stock(t, "upgrade", "rel", three(t, "2"))
	_, _ = h.uninstalled(t)
	h.expectOnly(t, "rel")
	h.empty(t)
}

func uninstallSeveral(t *testing.T, h *helm) {
	one, two := charts.Write(t, charts.Object{Name: "a", Layer: "a"}), charts.Write(t, charts.Object{Name: "b", Layer: "b"})
	h.ok("install", "one", one, "--wait=ordered")
	h.ok("install", "two", two, "--wait=ordered")
	h.fails(t, []string{"uninstall", "none"}, "Release not loaded: none: release: not found")
	h.ok("uninstall", "one", "none", "two", "--ignore-not-found")
	h.empty(t)
}
