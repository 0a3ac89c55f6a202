// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package ordering

import (
	"path/filepath"
	"testing"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// TestFormatLifecycle installs, upgrades, rolls back and uninstalls a chart of the format helm.sh/v3,
// as a directory and as an archive, with a subchart of the format and a flat one. Nothing in the charts
// enables the order: charts of the format are deployed in order.
func TestFormatLifecycle(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	chart := formatChart(t)
	h.MustRun("package", chart, "--destination", filepath.Dir(chart))
	archive := filepath.Join(filepath.Dir(chart), "app-1.10.0.tgz")
	order := func(o *harness.Order) {
		o.OwnAfter = [][2]string{{"app", "app/db"}}
		o.SubtreeAfter = [][2]string{{"app/cache", "app/db"}}
	}

	h.Started = harness.Now()
	h.MustRun("install", "rel", chart, "--wait=ordered")
	h.CheckOrder(t, "rel", h.ReadTrace(t), order)

	plan := h.Run("plan", "rel", archive, "--wait=ordered", "--set", "global.value=b")
	harness.ExpectContains(t, plan.Stdout, "4 to change", "~ change Deployment/db", "~ change ConfigMap/conf")
	h.Started = harness.Now()
	h.MustRun("upgrade", "rel", archive, "--wait=ordered", "--set", "global.value=b")
	h.CheckOrder(t, "rel", h.ReadTrace(t).Since(h.Started), order)
	h.ExpectManifestObjects(t, "rel")

	h.Started = harness.Now()
	h.MustRun("rollback", "rel", "1")
	h.CheckOrder(t, "rel", h.ReadTrace(t).Since(h.Started), order)
	h.ExpectStatuses(t, "rel", "superseded superseded deployed")

	manifest, _ := h.Uninstall(t)
	h.CheckUninstallOrder(t, manifest)
	h.ExpectEmptyNamespace(t)

	// Other versions of Helm read the archive.
	for _, out := range []string{h.MustRunStock(t, "install", "rel", archive, "--dry-run=client"), h.MustRunHelm4(t, "install", "rel", archive, "--dry-run=client")} {
		harness.ExpectContains(t, out, "name: db", "name: cache", "name: web")
	}
}

// formatChart writes the chart of TestFormatLifecycle.
func formatChart(t *testing.T) string {
	t.Helper()
	deployment := func(name, layer, dependsOn string) charts.Object {
		return charts.Object{Kind: "Deployment", Name: name, Layer: layer, DependsOn: dependsOn, Value: "{{ .Values.global.value }}", Annotations: charts.LongTimeout}
	}
	const head = "apiVersion: helm.sh/v3\nkind: Chart\nmetadata:\n"
	return charts.WriteFiles(t, map[string]string{
		"Chart.yaml": head + "  name: app\n  labels: {version: 1.10.0}\n  annotations: {depends-on.helm.sh/subcharts: [db]}\n",
		"requirements.yaml": "requirements:\n- {name: db, version: 1.10.0, repository: ''}\n" +
			"- {name: cache, version: 1.0.0, repository: '', depends-on: [db]}\n",
		"values.yaml":                     "global: {value: a}\n",
		"templates/all.yaml":              charts.Manifests(deployment("web", "web", "conf"), charts.Object{Name: "conf", Layer: "conf", Value: "{{ .Values.global.value }}"}),
		"charts/db/Chart.yaml":            head + "  name: db\n  labels: {version: 1.10.0}\n",
		"charts/db/templates/all.yaml":    charts.Manifests(deployment("db", "", "")),
		"charts/cache/Chart.yaml":         "apiVersion: v2\nname: cache\nversion: 1.0.0\n",
		"charts/cache/templates/all.yaml": charts.Manifests(deployment("cache", "", "")),
	})
}
