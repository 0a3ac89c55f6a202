// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// TestLifecycleRollback checks rollbacks between revisions that were deployed in order,
// deployed without an order, deployed by stock Helm, or that failed.
func TestLifecycleRollback(t *testing.T) {
	t.Parallel()
	harness.RunCases(t, map[string]func(*testing.T, *harness.Helm){
		"to a revision of stock Helm":   rollBackToStock,
		"to a copy of stock Helm's":     rollBackToRevisionCopiedByStock,
		"from a revision of stock Helm": rollBackFromStock,
		"after a failed upgrade":        rollBackAfterFailure,
		"after a failed rollback":       rollBackAgain,
		"after an uninstall":            rollBackAnUninstall,
		"of an install that failed":     rollBackToFailed,
		"after a rollback was killed":   rollBackPending,
		"without the order":             rollBackWithoutOrder,
		"to what is not there":          rollBackToNothing,
		"dry run":                       rollBackDryRun,
		"cleanup-on-fail":               rollBackAndCleanUp,
		"keep policy":                   rollBackKeeps,
		"with Jobs that have ended":     rollBackWithEndedJobs,
	})
}

func rollBackToStock(t *testing.T, h *harness.Helm) {
	h.MustRunStock(t, "install", "rel", charts.ThreeLayers(t, "1"), "--wait")
	h.MustRun("upgrade", "rel", charts.Write(t, charts.OddObjects("2")...), "--wait=ordered")
	before, odd := h.ReleaseObjects(t, "rel"), &harness.Order{}
	odd.AddManifest(t, h.LastRevision(t, "rel").Manifest)
	h.Started = harness.Now()
	r := h.MustRun("rollback", "rel", "1", "--wait=ordered")
	harness.ExpectContains(t, r.Stderr, "revision 1 of release rel was not deployed in order")
	// Objects that only the second revision contains are deleted in the reverse of its order.
	if pairs := odd.CheckDeletions(t, h.ReadTrace(t).Since(h.Started), func(o harness.OrderedObject) bool { return strings.HasPrefix(o.Name, "odd") }); pairs != 1 {
		t.Errorf("%d pairs of deleted objects had an order, want 1", pairs)
	}
	h.ExpectManifestObjects(t, "rel")
	h.ExpectValues(t, "1")
	harness.ExpectSameObjects(t, before, h.ReleaseObjects(t, "rel"), "ConfigMap/first", "Deployment/app", "ConfigMap/last")
	h.ExpectStatuses(t, "rel", "superseded superseded deployed")
	h.MustRun("upgrade", "rel", charts.ThreeLayers(t, "4"), "--wait=ordered")
	h.ExpectValues(t, "4")
}

// rollBackToRevisionCopiedByStock checks that a revision that stock Helm has copied from an
// ordered one, with its order record, can be rolled back to and uninstalled in order.
func rollBackToRevisionCopiedByStock(t *testing.T, h *harness.Helm) {
	h.MustRun("install", "rel", charts.ThreeLayers(t, "1"), "--wait=ordered")
	h.MustRun("upgrade", "rel", charts.ThreeLayers(t, "2"), "--wait=ordered")
	h.MustRunStock(t, "rollback", "rel", "1", "--wait")
	h.MustRun("upgrade", "rel", charts.ThreeLayers(t, "4"), "--wait=ordered")
	h.Started = harness.Now()
	h.MustRun("rollback", "rel", "3")
	h.CheckOrder(t, "rel", h.ReadTrace(t))
	h.ExpectValues(t, "1")
	h.MustRunStock(t, "rollback", "rel", "4", "--wait")
	harness.ExpectContains(t, h.MustRun("status", "rel").Stdout, "ORDER: ignored (rolled back by another program; uninstalled in reverse order)")
	harness.ExpectContains(t, h.MustRun("history", "rel").Stdout, "Rollback to 4   \tignored")
	manifest, _ := h.Uninstall(t)
	h.CheckUninstallOrder(t, manifest)
}

func rollBackFromStock(t *testing.T, h *harness.Helm) {
	h.MustRun("install", "rel", charts.ThreeLayers(t, "1"), "--wait=ordered")
	h.MustRunStock(t, "upgrade", "rel", charts.Write(t, charts.OddObjects("2")...), "--wait")
	h.Started = harness.Now()
	h.MustRun("rollback", "rel", "1", "--timeout", "1m")
	recorded := h.ReadTrace(t)
	h.CheckOrder(t, "rel", recorded)
	late := recorded.Since(h.Started)
	if got := late.WrittenByHelm("delete"); !slices.Equal(got, []string{"ConfigMap/odd", "ConfigMap/odder"}) {
		t.Errorf("deleted were %q", got)
	}
	h.ExpectManifestObjects(t, "rel")
	h.ExpectValues(t, "1")
}

func rollBackAfterFailure(t *testing.T, h *harness.Helm) {
	h.MustRun("install", "rel", charts.ThreeLayers(t, "1"), "--wait=ordered")
	parts := charts.OddObjects("2")
	parts[1].PodAnnotations, parts[1].Annotations, parts[1].DependsOn = charts.NeverReady, charts.ShortTimeout, "first, beside"
	parts[2].DependsOn, parts[3].DependsOn = "", ""
	parts = append(parts, charts.Object{Name: "beside", Layer: "beside", DependsOn: "odder"})
	h.ExpectFailure(t, []string{"upgrade", "rel", charts.Write(t, parts...), "--wait=ordered"}, "Deployment/app")
	failed := h.LastRevision(t, "rel").Manifest
	h.Started = harness.Now()
	h.MustRun("rollback", "rel", "--timeout", "1m")
	recorded := h.ReadTrace(t)
	h.CheckOrder(t, "rel", recorded)
	h.CheckOddObjectsDeleted(t, failed, recorded)
	h.ExpectManifestObjects(t, "rel")
	h.ExpectValues(t, "1")
	h.ExpectStatuses(t, "rel", "superseded failed deployed")
}

// rollBackAgain checks that a rollback that failed, because an object that it needs was
// deleted, can be repeated.
func rollBackAgain(t *testing.T, h *harness.Helm) {
	h.Apply(t, charts.MissingConfigMap)
	h.MustRun("install", "rel", charts.WithMissingConfigMap(t, "1"), "--wait=ordered")
	h.MustRun("upgrade", "rel", charts.Write(t, charts.OddObjects("2")...), "--wait=ordered")
	odd := h.LastRevision(t, "rel").Manifest
	h.Delete(t, "ConfigMap/outside")
	h.Started = harness.Now()
	h.ExpectFailure(t, []string{"rollback", "rel", "1", "--timeout", "1m"}, "Deployment/app was not ready within 3s", "outside", "skipped (blocked by this failure)", "app:last")
	if got := h.ReadTrace(t).Since(h.Started).WrittenByHelm("delete"); len(got) > 0 {
		t.Errorf("though it failed, these were deleted: %q", got)
	}
	h.ExpectStatuses(t, "rel", "superseded deployed failed")
	harness.ExpectContains(t, h.LastRevision(t, "rel").Info.Description, `Rollback "rel" failed: Deployment/app was not ready within 3s`)

	h.Apply(t, charts.MissingConfigMap)
	h.Started = harness.Now()
	h.MustRun("rollback", "rel", "1", "--timeout", "1m")
	recorded := h.ReadTrace(t)
	h.CheckOddObjectsDeleted(t, odd, recorded)
	h.ExpectManifestObjects(t, "rel")
	h.ExpectValues(t, "1")
	h.ExpectStatuses(t, "rel", "superseded superseded failed deployed")
}

// rollBackPending checks that a rollback takes over a release whose rollback was killed.
func rollBackPending(t *testing.T, h *harness.Helm) {
	h.Apply(t, charts.MissingConfigMap)
	dir := charts.WithMissingConfigMap(t, "1")
	charts.Edit(t, dir, "templates/all.yaml", "readiness-timeout: 3s", "readiness-timeout: 4m")
	h.MustRun("install", "rel", dir, "--wait=ordered")
	h.MustRun("upgrade", "rel", charts.Write(t, charts.OddObjects("2")...), "--wait=ordered")
	odd := h.LastRevision(t, "rel").Manifest
	h.Delete(t, "ConfigMap/outside")
	h.KillAt(t, "app:app applied", "rollback", "rel", "1")
	h.ExpectStatuses(t, "rel", "superseded deployed pending-rollback")
	h.ExpectFailure(t, []string{"upgrade", "rel", charts.ThreeLayers(t, "3"), "--wait=ordered", "--takeover=never"}, "another operation (install/upgrade/rollback) is in progress")
	h.Apply(t, charts.MissingConfigMap)
	h.Started = harness.Now()
	h.MustRun("rollback", "rel", "1")
	h.CheckOddObjectsDeleted(t, odd, h.ReadTrace(t))
	h.ExpectManifestObjects(t, "rel")
	h.ExpectValues(t, "1")
}

func rollBackAnUninstall(t *testing.T, h *harness.Helm) {
	h.MustRun("install", "rel", charts.ThreeLayers(t, "1"), "--wait=ordered")
	h.MustRun("uninstall", "rel", "--keep-history")
	h.ExpectObjects(t, "rel")
	h.Started = harness.Now()
	h.MustRun("rollback", "rel", "1", "--timeout", "1m")
	h.CheckOrder(t, "rel", h.ReadTrace(t))
	h.ExpectManifestObjects(t, "rel")
}

func rollBackToFailed(t *testing.T, h *harness.Helm) {
	parts := charts.ThreeLayerObjects("1")
	parts[1].PodAnnotations, parts[1].Annotations = []string{"devcluster/after: 4s"}, charts.ShortTimeout
	h.ExpectFailure(t, []string{"install", "rel", charts.Write(t, parts...), "--wait=ordered"}, "Deployment/app")
	h.MustRun("upgrade", "rel", charts.ThreeLayers(t, "2"), "--wait=ordered")
	h.ExpectManifestObjects(t, "rel")
	h.ExpectFailure(t, []string{"rollback", "rel", "1", "--timeout", "1m"}, "Deployment/app")
	h.MustRun("rollback", "rel", "2", "--timeout", "1m")
	h.ExpectValues(t, "2")
	h.ExpectManifestObjects(t, "rel")
}

// rollBackWithoutOrder checks that a rollback with --wait=false does not wait for a slow
// Deployment.
func rollBackWithoutOrder(t *testing.T, h *harness.Helm) {
	parts := charts.ThreeLayerObjects("1")
	parts[1].PodAnnotations = []string{"devcluster/after: 3s"}
	h.MustRun("install", "rel", charts.Write(t, parts...), "--wait=ordered")
	h.MustRun("upgrade", "rel", charts.ThreeLayers(t, "2"), "--wait=ordered")
	h.Started = harness.Now()
	h.MustRun("rollback", "rel", "1", "--wait=false")
	recorded := h.ReadTrace(t)
	changed := recorded.Since(h.Started).HelmWrites("ConfigMap/last", harness.ChangeVerbs...)
	if len(changed) != 1 {
		t.Fatalf("ConfigMap/last was written %d times", len(changed))
	}
	if recorded.NotReadyReason(harness.OrderedObject{Kind: "Deployment", Name: "app"}, changed[0].Received) == "" {
		t.Error("it was waited until Deployment/app was ready, though the order was to be ignored")
	}
	h.ExpectManifestObjects(t, "rel")
	h.ExpectValues(t, "1")
	h.MustRun("upgrade", "rel", charts.Write(t, charts.OddObjects("4")...), "--wait=ordered")
	h.ExpectManifestObjects(t, "rel")
}

func rollBackToNothing(t *testing.T, h *harness.Helm) {
	h.ExpectFailure(t, []string{"rollback", "rel"}, "release: not found")
	h.MustRun("install", "rel", charts.ThreeLayers(t, "1"), "--wait=ordered")
	h.Started = harness.Now()
	h.ExpectFailure(t, []string{"rollback", "rel", "5"}, "release has no 5 version")
	h.ExpectFailure(t, []string{"rollback", "rel"}, "release has no 0 version")
	h.ExpectFailure(t, []string{"rollback", "rel", "1", "--readiness-timeout", "10m"}, "--readiness-timeout")
	if list := h.ReadTrace(t).Since(h.Started).WrittenByHelm(); len(list) > 0 || len(h.History(t, "rel")) != 1 {
		t.Errorf("something was changed all the same: %q, %s", list, h.Statuses(t, "rel"))
	}
}

func rollBackDryRun(t *testing.T, h *harness.Helm) {
	h.MustRun("install", "rel", charts.ThreeLayers(t, "1"), "--wait=ordered")
	h.MustRun("upgrade", "rel", charts.Write(t, charts.OddObjects("2")...), "--wait=ordered")
	h.Started = harness.Now()
	h.MustRun("rollback", "rel", "1", "--dry-run")
	if list := h.ReadTrace(t).Since(h.Started).WrittenByHelm(); len(list) > 0 || len(h.History(t, "rel")) != 2 {
		t.Errorf("something was changed all the same: %q, %s", list, h.Statuses(t, "rel"))
	}
}

// rollBackAndCleanUp checks that a failed rollback with --cleanup-on-fail deletes the objects
// that it has created.
func rollBackAndCleanUp(t *testing.T, h *harness.Helm) {
	h.Apply(t, charts.MissingConfigMap)
	dir := charts.WithMissingConfigMap(t, "1")
	charts.AddFile(t, dir, "templates/only.yaml", charts.Object{Name: "only", Layer: "first"}.Manifest())
	h.MustRun("install", "rel", dir, "--wait=ordered")
	h.MustRun("upgrade", "rel", charts.ThreeLayers(t, "2"), "--wait=ordered")
	h.Delete(t, "ConfigMap/outside")
	h.Started = harness.Now()
	h.ExpectFailure(t, []string{"rollback", "rel", "1", "--timeout", "1m", "--cleanup-on-fail"}, "Deployment/app was not ready within 3s")
	late := h.ReadTrace(t).Since(h.Started)
	if created, deleted := late.WrittenByHelm("create"), late.WrittenByHelm("delete"); !slices.Equal(created, []string{"ConfigMap/only"}) || !slices.Equal(created, deleted) {
		t.Errorf("created were %q, deleted %q", created, deleted)
	}
}

func rollBackKeeps(t *testing.T, h *harness.Helm) {
	h.MustRun("install", "rel", charts.ThreeLayers(t, "1"), "--wait=ordered")
	h.MustRun("upgrade", "rel", charts.ThreeLayers(t, "2", charts.Object{Name: "kept", Layer: "kept", Annotations: []string{`helm.sh/resource-policy: " Keep "`}}), "--wait=ordered")
	h.MustRun("rollback", "rel", "1", "--timeout", "1m")
	h.ExpectManifestObjects(t, "rel", "ConfigMap/kept")
}

// rollBackWithEndedJobs checks that a rollback does not wait for unchanged Jobs that have
// failed, or that no longer exist and are created again. Here, the Job that is created again
// cannot start. By default, it does not wait for any Job without dependents if the earlier
// revision was deployed with --wait-for-jobs=false. The Job that never starts is deleted by the
// upgrade, because no container of it runs.
func rollBackWithEndedJobs(t *testing.T, h *harness.Helm) {
	h.Apply(t, charts.MissingConfigMap)
	jobs := []charts.Object{
		{Kind: "Job", Name: "gone", Layer: "work", Gate: "outside"},
		{Kind: "Job", Name: "failed", Layer: "work", PodAnnotations: []string{"devcluster/pod: fail"}},
	}
	stuck := charts.Object{Kind: "Job", Name: "stuck", Layer: "stuck", Gate: "never"}
	h.MustRun("install", "rel", charts.ThreeLayers(t, "1", append(jobs, stuck)...), "--wait=ordered", "--wait-for-jobs=false")
	h.MustRun("upgrade", "rel", charts.ThreeLayers(t, "2", jobs...), "--wait=ordered", "--wait-for-jobs=false")
	harness.Eventually(t, "Job/failed has failed", func() bool { return harness.HasCondition("Failed", "True", "")(h.Get(t, "Job/failed")) })
	harness.Eventually(t, "Job/gone is complete", func() bool { return harness.HasCondition("Complete", "True", "")(h.Get(t, "Job/gone")) })
	h.Delete(t, "Job/gone")
	h.Delete(t, "ConfigMap/outside")

	h.MustRun("rollback", "rel", "1", "--timeout", "1m")
	h.ExpectManifestObjects(t, "rel")
	h.ExpectValues(t, "1")
	h.Delete(t, "Job/gone")
	h.MustRun("rollback", "rel", "2", "--timeout", "1m", "--wait-for-jobs")
	h.ExpectValues(t, "2")
	h.ExpectFailure(t, []string{"rollback", "rel", "1", "--timeout", "3s", "--wait-for-jobs"}, "Job/stuck (app/templates/all.yaml) was not ready when the operation timed out after 3s")
}
