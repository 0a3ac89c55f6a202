// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"net/http"
	"slices"
	"testing"

	"helm.sh/helm/v3/pkg/release"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/fault"
	"github.com/ordered-helm/helm/test/harness"
)

// TestLockIsHeldDuringCleanup checks that no operation can start on a release while a failed
// upgrade with --cleanup-on-fail deletes objects.
func TestLockIsHeldDuringCleanup(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	h.MustRun("install", "rel", charts.ThreeLayers(t, "1"), "--wait=ordered")
	dir := charts.Write(t, append(charts.FailingObjects("y"), charts.Object{Name: "held", Layer: "held", DependsOn: "extra"})...)
	charts.Edit(t, dir, "templates/all.yaml", "first, over", "first, over, held")
	charts.AddFinalizer(t, dir, "held")
	p := h.Start(t, "upgrade", "rel", dir, "--wait=ordered", "--cleanup-on-fail")
	p.AwaitLine(t, "deleting created resources")
	h.ExpectFailure(t, []string{"upgrade", "rel", charts.ThreeLayers(t, "3")}, "revision 2 of release rel is pending-upgrade; locked by helm upgrade on ")
	h.RemoveFinalizers(t, "ConfigMap/held")
	p.ExpectExit(t, 1, "--cleanup-on-fail: deleting the resources created by failed revision")
	h.ExpectStatuses(t, "rel", "deployed failed")
	h.MustRun("upgrade", "rel", charts.ThreeLayers(t, "3"), "--wait=ordered")
	h.ExpectDeployed(t)
}

// TestLockHolderWithoutReadPermission checks that an operation whose account is allowed to
// create and update stored releases, but not to read them, keeps its lock for longer than a
// lease lasts.
func TestLockHolderWithoutReadPermission(t *testing.T) {
	t.Parallel()
	harness.RequireSecrets(t, "with releases as objects, no operation works without permission to read them")
	h := harness.New(t)
	parts := charts.ThreeLayerObjects("1")
	parts[1].PodAnnotations, parts[1].Annotations = []string{"devcluster/after: 50s"}, []string{"helm.sh/readiness-timeout: 4m"}
	as := h.GrantRules(t,
		rbacv1.PolicyRule{Verbs: []string{"create", "update"}, APIGroups: []string{""}, Resources: []string{"secrets"}},
		rbacv1.PolicyRule{Verbs: []string{"get", "create"}, APIGroups: []string{"", "apps"}, Resources: []string{"configmaps", "deployments"}},
	)
	h.MustRun(append([]string{"install", "rel", charts.Write(t, parts...), "--wait=ordered"}, as...)...)
	h.ExpectDeployed(t)
}

// TestHookResultIsStoredBeforeDeletion checks that an uninstall stores that a hook has started
// before it creates the hook, and that the hook has succeeded before it deletes the hook. An
// operation that takes over the uninstall then does not run the hook again.
func TestHookResultIsStoredBeforeDeletion(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	h.MustRun("install", "rel", charts.Write(t, append(charts.ThreeLayerObjects("1"), charts.Object{
		Kind: "Job", Name: "farewell", Annotations: []string{"helm.sh/hook: pre-delete", "helm.sh/hook-delete-policy: hook-succeeded"},
	})...), "--wait=ordered")
	phases := make(chan release.HookPhase, 10)
	h.UseProxy(t).Intercept(func(_ http.ResponseWriter, _ *http.Request, what fault.Request) bool {
		if what.Verb == "create" && what.Resource == "jobs" || what.Verb == "delete" && what.Name == "farewell" {
			phases <- h.LastRevision(t, "rel").Hooks[0].LastRun.Phase
		}
		return false
	})
	h.MustRun("uninstall", "rel")
	close(phases)
	var seen []release.HookPhase
	for phase := range phases {
		seen = append(seen, phase)
	}
	if !slices.Equal(seen, []release.HookPhase{release.HookPhaseRunning, release.HookPhaseSucceeded}) {
		t.Errorf("when it was created and deleted it was stored as %q", seen)
	}
}

// TestHooksOfTwoTerminatedOperations kills an upgrade while its hook runs, and then a second
// upgrade, which has taken over the release and waits for that hook. It checks that a third
// upgrade waits for the hook too.
func TestHooksOfTwoTerminatedOperations(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	migrates := charts.Object{
		Kind: "Job", Name: "migrate-{{ .Release.Revision }}", Annotations: []string{"helm.sh/hook: pre-upgrade"},
		PodAnnotations: []string{"devcluster/after: {{ if eq .Release.Revision 2 }}20s{{ else }}100ms{{ end }}"},
	}
	chart := func(value string) string {
		return charts.Write(t, append(charts.ThreeLayerObjects(value), migrates)...)
	}
	h.MustRun("install", "rel", chart("1"), "--wait=ordered")
	// The hook is created and stored as running in parallel.
	isStored := func() bool {
		return h.LastRevision(t, "rel").Hooks[0].LastRun.Phase == release.HookPhaseRunning && h.Get(t, "Job/migrate-2") != nil
	}
	h.KillWhen(t, "Job/migrate-2", isStored, "upgrade", "rel", chart("2"), "--wait=ordered")
	const waits = "hook Job/migrate-2 (app/templates/all.yaml) was running when its operation terminated unexpectedly"
	h.KillAt(t, waits, "upgrade", "rel", chart("2"), "--wait=ordered")
	harness.ExpectContains(t, h.MustRun("upgrade", "rel", chart("2"), "--wait=ordered").Stderr, waits)
	h.ExpectStatuses(t, "rel", "superseded failed failed deployed")
	jobs := h.Cluster.Client().BatchV1().Jobs(h.Namespace)
	first, err := jobs.Get(t.Context(), "migrate-2", metav1.GetOptions{})
	harness.NoError(t, err)
	second, err := jobs.Get(t.Context(), "migrate-4", metav1.GetOptions{})
	harness.NoError(t, err)
	if end := first.Status.CompletionTime; end == nil || second.CreationTimestamp.Before(end) {
		t.Errorf("the next hook was created at %s, and the one before ended at %v", second.CreationTimestamp, end)
	}
	if phase := h.History(t, "rel")[1].Hooks[0].LastRun.Phase; phase != release.HookPhaseSucceeded {
		t.Errorf("the hook that was waited for is stored as %s", phase)
	}
}
