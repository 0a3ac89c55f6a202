// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hookscope

import (
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// chain makes db depend on base, and app on db.
const chain = "dependencies:\n- {name: base, version: 0.1.0}\n- {name: db, version: 0.1.0, depends-on: [base]}\n- {name: app, version: 0.1.0, depends-on: [db]}\n"

// hooksOf returns a hook before and after an installation, whose names contain a name.
func hooksOf(name string) []charts.Object {
	return []charts.Object{{Kind: "Job", Name: "before-" + name, Hook: "pre-install"}, {Kind: "Job", Name: "after-" + name, Hook: "post-install"}}
}

// chainOf returns a chart with the subcharts base, db and app. db is a chart with this metadata, and has these objects and
// subcharts.
func chainOf(metadata string, objects []charts.Object, subcharts ...charts.Chart) charts.Chart {
	return charts.Chart{Name: "shop", Metadata: chain, Subcharts: []charts.Chart{
		{Name: "base", Objects: []charts.Object{{Kind: "Deployment", Name: "base"}}},
		{Name: "db", Metadata: metadata, Objects: objects, Subcharts: subcharts},
		{Name: "app", Objects: []charts.Object{{Kind: "Deployment", Name: "app"}}},
	}}
}

// withStore returns chainOf with a subchart of db, store. Both have hooks.
func withStore(ofDB, ofStore string) charts.Chart {
	return chainOf(ofDB, append(hooksOf("db"), charts.Object{Kind: "Deployment", Name: "db"}),
		charts.Chart{Name: "store", Metadata: ofStore, Objects: append(hooksOf("store"), charts.Object{Kind: "Deployment", Name: "store"})})
}

// TestPlace checks in which place of the order the hooks of a chart and its subcharts run.
//   - "the hooks of a chart and its subcharts run in the place of the chart in the order"
//   - "Everything is ready on which the chart as a whole depends, including its external dependencies"
//   - "Its pre- hooks run"
//   - "The nodes of the chart and its subcharts are deployed"
//   - "When all of them are ready, its post- hooks run"
//   - "What depends on the chart is deployed"
//   - "A chart that sets hookScope decides for its subcharts, too, unless they set it themselves"
//   - "A chart without resources runs its hooks where its nodes would be"
func TestPlace(t *testing.T) {
	t.Parallel()
	const external = scopeOfChart + "annotations: {depends-on.helm.sh/external: Secret/registry}\n"
	harness.RunCases(t, map[string]func(*testing.T, *harness.Helm){
		"a chart with a subchart": func(t *testing.T, h *harness.Helm) {
			h.MustRunWhile(t, "external dependencies", func() { h.Apply(t, charts.Object{Kind: "Secret", Name: "registry"}.Manifest()) },
				"install", "rel", withStore(external, "").Write(t), "--wait=ordered", "--progress=plain")
			tr := trace{h.ReadTrace(t)}
			for _, one := range []string{"db", "store"} {
				for _, other := range []string{"db", "store"} {
					expectSequence(t, one+" and "+other, tr.ready("Deployment/base"), tr.ready("Secret/registry"), tr.written("Job/before-"+one), tr.ready("Job/before-"+one),
						tr.written("Deployment/"+other), tr.ready("Deployment/"+other), tr.written("Job/after-"+one), tr.ready("Job/after-"+one), tr.written("Deployment/app"))
				}
			}
		},
		"a subchart with a scope of its own": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", withStore(scopeOfChart, scopeOfChart).Write(t), "--wait=ordered")
			tr := trace{h.ReadTrace(t)}
			expectSequence(t, "store", tr.ready("Deployment/base"), tr.written("Job/before-db"), tr.ready("Job/before-db"), tr.written("Job/before-store"), tr.ready("Job/before-store"),
				tr.written("Deployment/store"), tr.ready("Deployment/store"), tr.written("Job/after-store"), tr.ready("Job/after-store"), tr.written("Job/after-db"), tr.ready("Job/after-db"), tr.written("Deployment/app"))
			expectSequence(t, "db", tr.ready("Job/before-db"), tr.written("Deployment/db"), tr.ready("Deployment/db"), tr.written("Job/after-db"))
			if deployed := tr.written("Deployment/db").at; deployed.After(tr.ready("Job/after-store").at) {
				t.Error("db has waited for the hooks of its subchart")
			}
		},
		"a subchart with the scope of the release": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", withStore(scopeOfChart, "hookScope: release\n").Write(t), "--wait=ordered")
			tr := trace{h.ReadTrace(t)}
			expectSequence(t, "store", tr.ready("Job/before-store"), tr.written("Deployment/base"), tr.ready("Deployment/base"), tr.written("Job/before-db"), tr.ready("Job/before-db"),
				tr.written("Deployment/store"), tr.ready("Deployment/store"), tr.written("Job/after-db"), tr.ready("Job/after-db"), tr.written("Deployment/app"), tr.ready("Deployment/app"), tr.written("Job/after-store"))
		},
		"a chart without resources": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", chainOf(scopeOfChart, hooksOf("db")).Write(t), "--wait=ordered")
			tr := trace{h.ReadTrace(t)}
			expectSequence(t, "install", tr.ready("Deployment/base"), tr.written("Job/before-db"), tr.ready("Job/before-db"), tr.written("Job/after-db"), tr.ready("Job/after-db"), tr.written("Deployment/app"))
		},
	})
}

// TestLeafTimeout checks how long the post hooks of a chart wait for a Deployment on which nothing else depends, and which makes
// no progress for more than ten seconds.
//   - "Nodes without dependents are waited for until --timeout, as without hookScope"
func TestLeafTimeout(t *testing.T) {
	t.Parallel()
	slow := charts.Object{Kind: "Deployment", Name: "slow", PodAnnotations: []string{"devcluster/after: 14s"}}
	harness.RunCases(t, map[string]func(*testing.T, *harness.Helm){
		"nothing depends on it": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", charts.Chart{Metadata: scopeOfChart, Objects: append(hooksOf("app"), slow)}.Write(t), "--wait=ordered")
			tr := trace{h.ReadTrace(t)}
			expectSequence(t, "install", tr.ready("Job/before-app"), tr.written("Deployment/slow"), tr.ready("Deployment/slow"), tr.written("Job/after-app"))
		},
		"a layer depends on it": func(t *testing.T, h *harness.Helm) {
			layered := slow
			layered.Layer = "slow"
			chart := charts.Chart{Metadata: scopeOfChart, Objects: append(hooksOf("app"), layered, charts.Last("slow"))}
			h.ExpectFailure(t, []string{"install", "rel", chart.Write(t), "--wait=ordered"}, "Deployment/slow")
		},
		"it is not ready before the timeout": func(t *testing.T, h *harness.Helm) {
			never := charts.Object{Kind: "Deployment", Name: "slow", PodAnnotations: charts.NeverReady}
			chart := charts.Chart{Metadata: scopeOfChart, Objects: append(hooksOf("app"), never)}
			h.ExpectFailure(t, []string{"install", "rel", chart.Write(t), "--wait=ordered", "--timeout", "12s"}, "Deployment/slow", "timed out after 12s")
			if created := h.ReadTrace(t).Created("Job/after-app"); !created.IsZero() {
				t.Error("the hook was created")
			}
		},
	})
}

// TestFailedPostDelete checks that an uninstall goes on after a post-delete hook has failed: with what db depends on.
//   - "A failed post-delete hook does not stop an uninstall, as without hookScope"
func TestFailedPostDelete(t *testing.T) {
	t.Parallel()
	failing := charts.Object{Kind: "Job", Name: "clean", Hook: "post-delete", PodAnnotations: []string{"devcluster/pod: fail"}, Spec: []string{"backoffLimit: 0"}}
	for name, metadata := range map[string]string{"with the scope of the chart": scopeOfChart, "without hookScope": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			h.MustRun("install", "rel", chainOf(metadata, []charts.Object{{Kind: "Deployment", Name: "db"}, failing}).Write(t), "--wait=ordered")
			h.ExpectFailure(t, []string{"uninstall", "rel"}, "Job/clean")
			tr := trace{h.ReadTrace(t)}
			if metadata != "" {
				expectSequence(t, "uninstall", tr.gone("Deployment/app"), tr.gone("Deployment/db"), tr.written("Job/clean"), tr.deleted("Deployment/base"), tr.gone("Deployment/base"))
			} else {
				expectSequence(t, "uninstall", tr.gone("Deployment/app"), tr.gone("Deployment/db"), tr.gone("Deployment/base"), tr.written("Job/clean"))
			}
			h.ExpectNoReleases(t)
		})
	}
}

// TestOtherHooks checks that tests and crd-install hooks of a chart with the scope "chart" do not run in its place.
//   - "Tests and crd-install hooks are not affected"
func TestOtherHooks(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	definition := charts.Definition(h.Namespace+".example", "Widget")
	definition.Hook = "crd-install"
	h.DeleteAfter(t, harness.ParseManifest(t, definition.Manifest()))
	check := charts.Object{Kind: "Job", Name: "check", Hook: "test"}
	h.MustRun("install", "rel", chainOf(scopeOfChart, []charts.Object{definition, check, {Kind: "Deployment", Name: "db"}}).Write(t), "--wait=ordered")
	tr := trace{h.ReadTrace(t)}
	base := tr.written("Deployment/base")
	defined := false
	for _, e := range h.Cluster.Audit(t) {
		defined = defined || e.Resource == "customresourcedefinitions" && e.Verb == "create" && strings.Contains(e.Name, h.Namespace) && e.Received.Before(base.at)
	}
	if !defined {
		t.Error("the definition was not created before everything else")
	}
	if created := tr.Created("Job/check"); !created.IsZero() {
		t.Error("the installation has run the test")
	}
	h.MustRun("test", "rel")
	if created := h.ReadTrace(t).Created("Job/check"); created.IsZero() {
		t.Error("the test did not run")
	}
}

// TestRejectedHookScopes checks hook scopes that are refused before anything is changed.
//   - "Values for one chart that differ are an error that names both"
func TestRejectedHookScopes(t *testing.T) {
	t.Parallel()
	cyclic := strings.Replace(scopeOfDependency, "hookScope: chart", "hookScope: chart, depends-on: [app]", 1)
	for name, c := range map[string]struct{ ofRoot, ofDatabase, want string }{
		"an unknown value":        {dependencies, "hookScope: subchart\n", `shop/charts/db/Chart.yaml: hookScope: "subchart": must be chart or release`},
		"two values":              {scopeOfDependency, "hookScope: release\n", `shop/charts/db/Chart.yaml: hookScope: "release" conflicts with hookScope of dependency db: "chart" in shop/Chart.yaml, for chart shop/db`},
		"a field and annotation":  {dependencies, scopeOfChart + "annotations: {helm.sh/hook-scope: release}\n", `conflicts with hookScope: "chart"`},
		"a cycle":                 {cyclic, "", "subchart app depends on subchart db (shop/Chart.yaml: depends-on of dependency app)"},
		"a cycle with a Secret":   {cyclic, "annotations: {depends-on.helm.sh/external: Secret/s}\n", "subchart db depends on subchart app (shop/Chart.yaml: depends-on of dependency db)"},
		"a resource of the chart": {dependencies, scopeOfChart + "annotations: {depends-on.helm.sh/external: Deployment/db}\n", "is part of the same release (shop/charts/db/templates/all.yaml)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			h.ExpectRejected(t, h.Run("install", "rel", databaseChart("1", c.ofRoot, c.ofDatabase).Write(t), "--wait=ordered"), c.want)
		})
	}
}
