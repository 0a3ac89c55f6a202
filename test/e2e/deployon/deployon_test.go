// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package deployon

import (
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// migrating returns a chart whose Job migrate, in the layer migration, takes part only in some operations. The
// Deployment app depends on it.
func migrating(value, operations string) charts.Chart {
	return charts.Chart{Objects: []charts.Object{
		{Kind: "Job", Name: "migrate-" + value, Layer: "migration", Value: value, Annotations: []string{`helm.sh/deploy-on: "` + operations + `"`}},
		{Kind: "Deployment", Name: "app", Layer: "app", DependsOn: "migration", Value: value},
		{Name: "last", Layer: "last", DependsOn: "app", Value: value},
	}}
}

// expectCreated checks whether an object was created since h.Started.
func expectCreated(t *testing.T, h *harness.Helm, id string, want bool) {
	t.Helper()
	if created := h.ReadTrace(t).Since(h.Started).Created(id); created.IsZero() == want {
		t.Errorf("%s: created at %s, want %t", id, created, want)
	}
}

// TestDeployOn checks in which operations resources are created and changed.
//   - "The annotation helm.sh/deploy-on of a resource lists operations"
//   - "In an ordered operation that it does not list, the resource is neither created nor changed"
//   - "and its own external dependencies are not waited for"
//   - "it is deleted when a later revision does not contain it, and when the release is uninstalled"
//   - "As long as no revision was deployed, an upgrade counts as an installation"
//   - "When --atomic undoes an upgrade, this is a rollback"
//   - "helm template, helm dag and dry runs show all resources"
func TestDeployOn(t *testing.T) {
	t.Parallel()
	harness.RunCases(t, map[string]func(*testing.T, *harness.Helm){
		"install and upgrade, not rollback": func(t *testing.T, h *harness.Helm) {
			h.Started = harness.Now()
			h.MustRun("install", "rel", migrating("1", "install,upgrade").Write(t), "--wait=ordered")
			h.ExpectReadyBefore(t, harness.Result{}, "Job/migrate-1", "Deployment/app")
			h.MustRun("upgrade", "rel", migrating("2", "install,upgrade").Write(t), "--wait=ordered")
			expectCreated(t, h, "Job/migrate-2", true)
			h.Started = harness.Now()
			h.MustRun("rollback", "rel", "1")
			expectCreated(t, h, "Job/migrate-1", false)
			if first, _ := h.ReadTrace(t).Since(h.Started).Deleted("Job/migrate-2"); first.IsZero() {
				t.Error("the obsolete Job was not deleted")
			}
			h.ExpectStatuses(t, "rel", "superseded superseded deployed")
		},
		"upgrade alone": func(t *testing.T, h *harness.Helm) {
			h.Started = harness.Now()
			h.MustRun("install", "rel", migrating("1", "upgrade").Write(t), "--wait=ordered")
			expectCreated(t, h, "Job/migrate-1", false)
			h.MustRun("upgrade", "rel", migrating("1", "upgrade").Write(t), "--wait=ordered")
			expectCreated(t, h, "Job/migrate-1", true)
			h.MustRun("upgrade", "rel", migrating("1", "install").Write(t), "--wait=ordered") // it stays: it is part of the revision
			if first, _ := h.ReadTrace(t).Since(h.Started).Deleted("Job/migrate-1"); !first.IsZero() {
				t.Error("a resource that takes no part was deleted")
			}
			h.MustRun("uninstall", "rel")
			if first, _ := h.ReadTrace(t).Since(h.Started).Deleted("Job/migrate-1"); first.IsZero() {
				t.Error("the uninstall did not delete it")
			}
		},
		"an upgrade after a failed installation counts as one": func(t *testing.T, h *harness.Helm) {
			failing := migrating("1", "install")
			failing.Objects = append(failing.Objects, charts.Object{Kind: "Pod", Name: "broken", Layer: "broken", Annotations: append(charts.NeverReady, charts.ShortTimeout...)}, charts.Object{Name: "end", Layer: "end", DependsOn: "broken"})
			if r := h.Run("install", "rel", failing.Write(t), "--wait=ordered"); r.ExitCode == 0 {
				t.Fatal("the installation succeeded")
			}
			h.Started = harness.Now()
			h.MustRun("upgrade", "rel", migrating("2", "install").Write(t), "--wait=ordered")
			expectCreated(t, h, "Job/migrate-2", true)
		},
		"undoing is a rollback": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", migrating("1", "install,upgrade").Write(t), "--wait=ordered")
			h.Delete(t, "Job/migrate-1")
			h.Started = harness.Now()
			failing := migrating("2", "install,upgrade")
			failing.Objects = append(failing.Objects, charts.Object{Kind: "Pod", Name: "broken", Layer: "broken", Annotations: append(charts.NeverReady, charts.ShortTimeout...)}, charts.Object{Name: "end", Layer: "end", DependsOn: "broken"})
			r := h.Run("upgrade", "rel", failing.Write(t), "--wait=ordered", "--atomic")
			harness.ExpectContains(t, r.Stderr, "has been rolled back due to atomic being set")
			expectCreated(t, h, "Job/migrate-1", false)
		},
		"it is not changed": func(t *testing.T, h *harness.Helm) {
			chart := func(value string) string {
				return charts.Write(t, charts.Object{Name: "once", Layer: "once", Value: value, Annotations: []string{"helm.sh/deploy-on: [install, rollback]"}},
					charts.Object{Name: "last", Layer: "last", DependsOn: "once", Value: value})
			}
			h.MustRun("install", "rel", chart("1"), "--wait=ordered")
			h.Started = harness.Now()
			h.MustRun("upgrade", "rel", chart("2"), "--wait=ordered")
			if writes := h.ReadTrace(t).Since(h.Started).HelmWrites("ConfigMap/once", harness.ChangeVerbs...); len(writes) > 0 || harness.ValueOf(h.Get(t, "ConfigMap/last")) != "2" {
				t.Errorf("got the writes %v", writes)
			}
			h.MustRun("rollback", "rel", "2")
			if value := harness.ValueOf(h.Get(t, "ConfigMap/once")); value != "2" {
				t.Errorf("after the rollback, the value is %q", value)
			}
		},
		"its external dependencies are not waited for": func(t *testing.T, h *harness.Helm) {
			chart := migrating("1", "upgrade")
			chart.Objects[0].Annotations = append(chart.Objects[0].Annotations, "depends-on.helm.sh/external: Secret/missing", "helm.sh/external-timeout: 2s")
			h.MustRun("install", "rel", chart.Write(t), "--wait=ordered")
			h.ExpectFailure(t, []string{"upgrade", "rel", chart.Write(t), "--wait=ordered"}, "Secret/missing")
		},
		"it is deleted when the chart does not contain it any more": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", migrating("1", "install").Write(t), "--wait=ordered")
			h.Started = harness.Now()
			without := migrating("1", "install")
			without.Objects = without.Objects[1:]
			h.MustRun("upgrade", "rel", without.Write(t), "--wait=ordered")
			if first, _ := h.ReadTrace(t).Since(h.Started).Deleted("Job/migrate-1"); first.IsZero() {
				t.Error("the Job was not deleted")
			}
		},
		"it is shown": func(t *testing.T, h *harness.Helm) {
			dir := migrating("1", "upgrade").Write(t)
			for _, args := range [][]string{{"template", dir}, {"dag", dir}, {"install", "rel", dir, "--wait=ordered", "--dry-run"}, {"install", "rel", dir, "--wait=ordered", "--dry-run=server"}} {
				if r := h.MustRun(args...); !strings.Contains(r.Stdout, "migrate-1") {
					t.Errorf("helm %s: got\n%s", args[0], r.Stdout)
				}
			}
			h.MustRun("install", "rel", dir, "--wait=ordered")
			if r := h.MustRun("get", "manifest", "rel"); !strings.Contains(r.Stdout, "migrate-1") {
				t.Errorf("the manifest is\n%s", r.Stdout)
			}
			if r := h.MustRun("dag", "rel"); !strings.Contains(r.Stdout, "migrate-1") {
				t.Errorf("the graph is\n%s", r.Stdout)
			}
		},
		"without an order it takes part in all": func(t *testing.T, h *harness.Helm) {
			h.Started = harness.Now()
			h.MustRun("install", "rel", migrating("1", "upgrade").Write(t), "--wait")
			expectCreated(t, h, "Job/migrate-1", true)
		},
		"what took no part is checked when it does": func(t *testing.T, h *harness.Helm) {
			foreign := charts.Object{Name: "shared", Value: "theirs"}
			h.Apply(t, foreign.Manifest())
			declared := charts.Object{Name: "shared", Value: "ours", Annotations: []string{"helm.sh/deploy-on: upgrade"}}
			chart := charts.Chart{Objects: []charts.Object{declared, {Name: "own"}}}.Write(t)
			h.MustRun("install", "rel", chart, "--wait=ordered")
			h.ExpectFailure(t, []string{"upgrade", "rel", chart, "--wait=ordered"}, `ConfigMap "shared"`, "cannot be imported into the current release")
			if got := h.Get(t, "ConfigMap/shared"); got.GetAnnotations()["meta.helm.sh/release-name"] != "" {
				t.Error("the object of somebody else was changed")
			}
			h.MustRun("uninstall", "rel")
			if h.Get(t, "ConfigMap/shared") == nil {
				t.Error("the object of somebody else was deleted")
			}
		},
		"an invalid value": func(t *testing.T, h *harness.Helm) {
			r := h.Run("install", "rel", migrating("1", "delete").Write(t), "--wait=ordered")
			harness.ExpectContains(t, r.Stderr, "helm.sh/deploy-on", `"delete" is no operation: list any of install, upgrade and rollback`)
			h.ExpectNoReleases(t)
		},
	})
}
