// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hookscope

import (
	"strings"
	"testing"
	"time"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// operations are those that have hooks.
var operations = []string{"install", "upgrade", "rollback", "delete"}

// databaseChart returns a chart whose subchart app depends on the subchart db. The subchart db has a hook before and
// after each operation. metadata contains additional lines for the Chart.yaml of both charts.
func databaseChart(value, ofRoot, ofDatabase string) charts.Chart {
	db := charts.Chart{Name: "db", Metadata: ofDatabase, Objects: []charts.Object{{Kind: "Deployment", Name: "db", Value: value}}}
	for _, operation := range operations {
		for _, when := range []string{"pre-", "post-"} {
			db.Objects = append(db.Objects, charts.Object{Kind: "Job", Name: when + operation, Hook: when + operation})
		}
	}
	return charts.Chart{
		Name: "shop", Metadata: ofRoot,
		Subcharts: []charts.Chart{db, {Name: "app", Objects: []charts.Object{{Kind: "Deployment", Name: "app", Value: value}}}},
	}
}

const (
	// dependencies makes app depend on db.
	dependencies = "dependencies:\n- {name: db, version: 0.1.0}\n- {name: app, version: 0.1.0, depends-on: [db]}\n"
	// scopeOfDependency also sets the hook scope of db.
	scopeOfDependency = "dependencies:\n- {name: db, version: 0.1.0, hookScope: chart}\n- {name: app, version: 0.1.0, depends-on: [db]}\n"
	scopeOfChart      = "hookScope: chart\n"
	scopeAnnotation   = "annotations: {helm.sh/hook-scope: chart}\n"
)

// expectSequence checks that each of the times is set and not before the previous one.
func expectSequence(t *testing.T, what string, times ...moment) {
	t.Helper()
	for i, m := range times {
		switch {
		case m.at.IsZero():
			t.Errorf("%s: %s did not happen", what, m.name)
		case i > 0 && m.at.Before(times[i-1].at):
			t.Errorf("%s: %s at %s, before %s at %s", what, m.name, m.at, times[i-1].name, times[i-1].at)
		}
	}
}

// moment is the time at which something happened; zero if it did not happen.
type moment struct {
	name string
	at   time.Time
}

// trace provides the moments of a trace.
type trace struct{ harness.Trace }

func (tr trace) ready(id string) moment { return moment{id + " ready", tr.Ready(id)} }

// written is when Helm wrote an object.
func (tr trace) written(id string) moment {
	m := moment{name: id + " written"}
	if writes := tr.HelmWrites(id, harness.ChangeVerbs...); len(writes) > 0 {
		m.at = writes[0].Received
	}
	return m
}

func (tr trace) deleted(id string) moment {
	first, _ := tr.Deleted(id)
	return moment{id + " deleted", first}
}

func (tr trace) gone(id string) moment {
	_, gone := tr.Deleted(id)
	return moment{id + " gone", gone}
}

// expectDeployment checks the order of an operation that deploys databaseChart: the hooks of db run before and after
// its Deployment, and before that of app.
func expectDeployment(t *testing.T, h *harness.Helm, operation string) {
	t.Helper()
	tr := trace{h.ReadTrace(t).Since(h.Started)}
	before, after := "Job/pre-"+operation, "Job/post-"+operation
	expectSequence(t, operation, tr.written(before), tr.ready(before), tr.written("Deployment/db"), tr.ready("Deployment/db"),
		tr.written(after), tr.ready(after), tr.written("Deployment/app"))
}

// TestHookScopeOperations checks that the hooks of a chart with the hook scope "chart" run in its place in the order,
// in every operation, wherever the scope is declared.
//   - "Its pre- hooks run"
//   - "When all of them are ready, its post- hooks run"
//   - "What depends on the chart is deployed"
//   - "the pre-delete hooks run before the resources of the chart are deleted, and after what depends on the chart is gone"
//   - "Its post-delete hooks run when the resources are gone"
//   - "The field stands in Chart.yaml (in the format helm.sh/v3, in data)"
func TestHookScopeOperations(t *testing.T) {
	t.Parallel()
	harness.RunCases(t, map[string]func(*testing.T, *harness.Helm){
		"declared by a field": func(t *testing.T, h *harness.Helm) { runOperations(t, h, dependencies, scopeOfChart, "") },
		"declared by an annotation": func(t *testing.T, h *harness.Helm) {
			runOperations(t, h, dependencies, scopeAnnotation, "")
		},
		"declared by the parent": func(t *testing.T, h *harness.Helm) {
			runOperations(t, h, scopeOfDependency, "", "")
		},
		"declared in the format helm.sh/v3": func(t *testing.T, h *harness.Helm) {
			runOperations(t, h, dependencies, "", "apiVersion: helm.sh/v3\nkind: Chart\nmetadata: {name: db, labels: {version: 0.1.0}}\ndata: {hookScope: chart}\n")
		},
	})
}

// runOperations checks the order of all operations. The parameters are lines for the Chart.yaml of both charts, and the whole
// Chart.yaml of db, if it is not empty.
func runOperations(t *testing.T, h *harness.Helm, ofRoot, ofDatabase, chartOfDatabase string) {
	write := func(value string) string {
		dir := databaseChart(value, ofRoot, ofDatabase).Write(t)
		if chartOfDatabase != "" {
			charts.AddFile(t, dir, "charts/db/Chart.yaml", chartOfDatabase)
		}
		return dir
	}
	h.Started = harness.Now()
	h.MustRun("install", "rel", write("1"), "--wait=ordered")
	expectDeployment(t, h, "install")
	h.Started = harness.Now()
	h.MustRun("upgrade", "rel", write("2"), "--wait=ordered")
	expectDeployment(t, h, "upgrade")
	h.Started = harness.Now()
	h.MustRun("rollback", "rel", "1")
	expectDeployment(t, h, "rollback")
	h.Started = harness.Now()
	h.MustRun("uninstall", "rel")
	tr := trace{h.ReadTrace(t).Since(h.Started)}
	expectSequence(t, "uninstall", tr.deleted("Deployment/app"), tr.gone("Deployment/app"), tr.written("Job/pre-delete"), tr.ready("Job/pre-delete"),
		tr.deleted("Deployment/db"), tr.gone("Deployment/db"), tr.written("Job/post-delete"), tr.ready("Job/post-delete"))
}

// TestHookScopeRelease checks that without a hook scope, or if the release is not deployed in order, hooks run before
// and after everything else.
//   - "The default, release, runs hooks before and after everything else in the release"
//   - "In an operation without an order, all hooks run as in stock Helm"
//   - "run only after all resources of the release, even those of charts that depend on the subchart"
func TestHookScopeRelease(t *testing.T) {
	t.Parallel()
	harness.RunCases(t, map[string]func(*testing.T, *harness.Helm){
		"without a hook scope": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", databaseChart("1", dependencies, "").Write(t), "--wait=ordered")
			expectLast(t, h)
		},
		"without an order": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", databaseChart("1", dependencies, scopeOfChart).Write(t), "--wait")
			expectLast(t, h)
		},
		"a chart that is not ordered": func(t *testing.T, h *harness.Helm) {
			chart := databaseChart("1", dependencies, scopeOfChart)
			chart.Subcharts[0].APIVersion = "v2"
			dir := chart.Write(t)
			r := h.MustRun("install", "rel", dir, "--wait=ordered")
			harness.ExpectContains(t, r.Stderr, "chart shop/db declares an order that is ignored")
			expectLast(t, h)
			harness.ExpectContains(t, h.MustRun("lint", dir).Stdout, "chart shop/db declares an order that is ignored")
			h.ExpectFailure(t, []string{"lint", dir, "--strict"})
		},
	})
}

func expectLast(t *testing.T, h *harness.Helm) {
	t.Helper()
	tr := trace{h.ReadTrace(t)}
	expectSequence(t, "install", tr.ready("Job/pre-install"), tr.written("Deployment/app"), tr.ready("Deployment/app"), tr.written("Job/post-install"))
}

// TestHookScopeFailures checks what happens after a hook of a chart fails.
//   - "If a hook fails, what depends on the chart is not deployed, and the error names the chart"
func TestHookScopeFailures(t *testing.T) {
	t.Parallel()
	failing := charts.Object{Kind: "Job", Name: "migrate", Hook: "post-install,post-upgrade", PodAnnotations: []string{"devcluster/pod: fail"}, Spec: []string{"backoffLimit: 0"}}
	chart := func(value string, hooks ...charts.Object) charts.Chart {
		c := databaseChart(value, dependencies, scopeOfChart)
		c.Subcharts[0].Objects = append([]charts.Object{{Kind: "Deployment", Name: "db", Value: value}}, hooks...)
		return c
	}
	harness.RunCases(t, map[string]func(*testing.T, *harness.Helm){
		"dependents are skipped": func(t *testing.T, h *harness.Helm) {
			r := h.Run("install", "rel", chart("1", failing).Write(t), "--wait=ordered")
			harness.ExpectContains(t, r.Stderr, "post-install hooks of chart shop/db", "Job/migrate", "skipped (blocked by this failure): shop/app")
			h.ExpectStatuses(t, "rel", "failed")
			if created := h.ReadTrace(t).Created("Deployment/app"); !created.IsZero() {
				t.Error("the dependent was created")
			}
		},
		"atomic": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", chart("1").Write(t), "--wait=ordered")
			before := h.ReleaseObjects(t, "rel")
			r := h.Run("upgrade", "rel", chart("2", failing).Write(t), "--wait=ordered", "--atomic")
			harness.ExpectContains(t, r.Stderr, "has been rolled back due to atomic being set")
			harness.ExpectSameContent(t, before, h.ReleaseObjects(t, "rel"))
		},
		"a timeout of the operation": func(t *testing.T, h *harness.Helm) {
			waiting := charts.Object{Kind: "Job", Name: "migrate", Hook: "pre-install", PodAnnotations: []string{"devcluster/after: 1m"}}
			r := h.ExpectFailure(t, []string{"install", "rel", chart("1", waiting).Write(t), "--wait=ordered", "--timeout", "8s"})
			harness.ExpectContains(t, r.Stderr[strings.LastIndex(r.Stderr, "Error:"):], "pre-install hooks of chart shop/db", "Job/migrate",
				"before the operation timed out after 8s")
		},
		"without hooks": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", chart("1", failing).Write(t), "--wait=ordered", "--no-hooks")
			if created := h.ReadTrace(t).Created("Job/migrate"); !created.IsZero() {
				t.Error("the hook was created")
			}
		},
	})
}
