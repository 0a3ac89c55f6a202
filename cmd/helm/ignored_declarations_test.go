// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/ordered-helm/helm/pkg/action"
)

// declaringFiles returns the files of a chart with a subchart. root and sub are appended to
// their Chart.yaml files, rootAnnotations and subAnnotations are those of their resources.
func declaringFiles(root, rootAnnotations, sub, subAnnotations string) map[string]string {
	configMap := func(name, annotations string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n  annotations: {" + annotations + "}\n"
	}
	return map[string]string{
		"Chart.yaml":                 "name: shop\nversion: 1.0.0\n" + root,
		"templates/a.yaml":           configMap("a", rootAnnotations),
		"charts/db/Chart.yaml":       "name: db\nversion: 1.0.0\n" + sub,
		"charts/db/templates/b.yaml": configMap("b", subAnnotations),
	}
}

const ignoredOrderOfShop = "chart shop declares an order that is ignored, because ordering is not enabled: " +
	"add the annotation helm.sh/sequencing: enabled to shop/Chart.yaml"

// TestIgnoredDeclarations checks that declarations that have no effect are an error in the
// root chart if the order is needed, and one warning for each subchart.
func TestIgnoredDeclarations(t *testing.T) {
	const v2, v3 = "apiVersion: v2\n", "apiVersion: v3\n"
	tests := []struct {
		name     string
		files    map[string]string
		fails    string   // part of the error; empty if there is none
		warnings []string // parts of the warnings, one each
		// unordered is part of the error without --wait=ordered.
		unordered string
	}{
		{"v2 chart with layers", declaringFiles(v2, "helm.sh/layer: a", v2, ""), ignoredOrderOfShop, nil, ""},
		{"v2 chart with depends-on", declaringFiles(v2+"dependencies: [{name: db, version: 1.0.0, depends-on: [db]}]\n", "", v2, ""), ignoredOrderOfShop, nil, ""},
		{"v2 chart with an invalid helm.sh/sequencing", declaringFiles(v2+"annotations: {helm.sh/sequencing: true}\n", "helm.sh/layer: a", v2, ""),
			`shop/Chart.yaml: helm.sh/sequencing: true: must be "enabled" or "disabled"`, nil, ""},
		{"v2 chart that is enabled", declaringFiles(v2+"annotations: {helm.sh/sequencing: enabled}\n", "helm.sh/layer: a", v2, ""), "", nil, ""},
		{"v2 chart that is disabled", declaringFiles(v2+"annotations: {helm.sh/sequencing: disabled}\n", "helm.sh/layer: a", v2, ""), "", nil, ""},
		{"v3 chart that is disabled, but not its subchart", declaringFiles(v3+"annotations: {helm.sh/sequencing: disabled}\n", "helm.sh/layer: a", v2, "helm.sh/layer: b"),
			"", []string{"chart shop/db declares an order that is ignored"}, ""},
		{"v2 chart without declarations", declaringFiles(v2, "helm.sh/resource-policy: keep", v2, ""), "", nil, ""},
		{"dependsOn", declaringFiles(v3+"dependencies: [{name: db, version: 1.0.0, dependsOn: [db]}]\n", "", v2, ""),
			`shop/Chart.yaml: dependency "db": dependsOn: ["db"]: unknown key: did you mean depends-on?`, nil, "did you mean depends-on?"},
		{"dependsOn in a v2 chart", declaringFiles(v2+"dependencies: [{name: db, version: 1.0.0, dependsOn: [db]}]\n", "", v2, ""), "did you mean depends-on?", nil, ""},
		{"helm.sh/depends-on/subchart", declaringFiles(v3+"annotations: {helm.sh/depends-on/subchart: db}\n", "", v2, ""),
			`shop/Chart.yaml: helm.sh/depends-on/subchart: "db": unknown key: did you mean depends-on.helm.sh/subcharts?`, nil, "did you mean"},
		{"key in a template", declaringFiles(v3, "helm.sh/layers: a", v2, ""), `shop/templates/a.yaml: ConfigMap/a: helm.sh/layers: "a": unknown key: did you mean helm.sh/layer?`, nil, "did you mean"},
		{"subchart of v2 with layers", declaringFiles(v3, "", v2, "helm.sh/layer: b"), "", []string{
			"chart shop/db declares an order that is ignored, because ordering is not enabled: add the annotation helm.sh/sequencing: enabled " +
				"to shop/charts/db/Chart.yaml; if the chart is not yours, its parent can still order it as a whole, with depends-on in shop/Chart.yaml",
		}, ""},
		{"one warning for all of a subchart", declaringFiles(v3, "", v2+"dependsOn: [a]\n", "helm.sh/layers: b, helm.sh/layer: b"), "", []string{
			"chart shop/db has 3 declarations that are ignored: shop/charts/db/templates/b.yaml: ConfigMap/b: helm.sh/layers",
		}, ""},
		{"unknown layer with a similar name", declaringFiles(v3, "helm.sh/layer: database, depends-on.helm.sh/layers: datebase", v2, ""), "",
			[]string{`the unknown layer "datebase" of chart shop: the dependency is ignored; did you mean "database"?`}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			chart := writeChart(t, tt.files)
			got := runHelm(t, "template", chart, "--wait=ordered")
			if (got.code != 0) != (tt.fails != "") || !strings.Contains(got.stderr, tt.fails) || strings.Contains(got.stderr, "omit --wait=ordered") != (tt.fails != "") {
				t.Errorf("with --wait=ordered: %+v", got)
			}
			if tt.fails == "" {
				wantWarnings(t, got.stderr, tt.warnings)
			}
			if got := runHelm(t, "dag", chart); got.code != 0 || !strings.Contains(got.stderr, tt.fails) {
				t.Errorf("dag: %+v", got)
			}
			got = runHelm(t, "template", chart)
			if (got.code != 0) != (tt.unordered != "") || !strings.Contains(got.stderr, tt.unordered) || strings.Contains(got.stderr, "--wait=ordered") {
				t.Errorf("without an order: %+v", got)
			}
		})
	}
}

// wantWarnings checks that stderr consists of one warning for each element of parts.
func wantWarnings(t *testing.T, stderr string, parts []string) {
	t.Helper()
	if strings.Count(stderr, "WARNING: ") != len(parts) {
		t.Errorf("got %q, want %d warnings", stderr, len(parts))
	}
	for _, part := range parts {
		if !strings.Contains(stderr, part) {
			t.Errorf("got %q, want %q", stderr, part)
		}
	}
}

// TestIgnoredDeclarationsInOperations checks that all operations that use a chart reject
// declarations that have no effect, and that those that use the stored order do not.
func TestIgnoredDeclarationsInOperations(t *testing.T) {
	t.Setenv("HELM_DRIVER", "memory")
	server := startMinimalServer(t)
	chart := writeChart(t, declaringFiles("apiVersion: v2\n", "helm.sh/layer: a", "apiVersion: v2\n", ""))
	for _, line := range []string{"install new", "install new --dry-run=server", "upgrade shop", "upgrade shop --dry-run=server", "upgrade --install new", "plan shop"} {
		for _, strategy := range []string{"--wait=ordered", "--wait"} {
			t.Setenv("HELM_MEMORY_DRIVER_DATA", store(t, revision(t, 1, action.WaitStrategyOrdered)))
			got := runHelmAt(t, server, append(strings.Fields(line), chart, strategy)...)
			if rejected := strings.Contains(got.stderr, ignoredOrderOfShop); rejected != (strategy == "--wait=ordered") {
				t.Errorf("%s %s: %+v", line, strategy, got)
			}
		}
	}
}

// TestIgnoredDeclarationsWithWaitFromEnvironment checks that declarations that have no effect are
// not an error if $HELM_WAIT, and not the command line, demands the order.
func TestIgnoredDeclarationsWithWaitFromEnvironment(t *testing.T) {
	t.Setenv("HELM_DRIVER", "memory")
	server := startMinimalServer(t)
	const v2 = "apiVersion: v2\n"
	chart := writeChart(t, declaringFiles(v2, "helm.sh/layer: a", v2+"annotations: {helm.sh/sequencing: enabled}\n", "helm.sh/layer: b"))
	for _, line := range []string{"install new --dry-run=server", "upgrade shop --dry-run=server", "upgrade --install new --dry-run=server", "plan shop"} {
		for _, env := range []string{"ordered", ""} {
			t.Setenv("HELM_WAIT", env)
			t.Setenv("HELM_MEMORY_DRIVER_DATA", store(t, revision(t, 1, action.WaitStrategyOrdered)))
			wait := map[string]string{"ordered": "--wait", "": "--wait=ordered"}[env]
			got := runHelmAt(t, server, append(strings.Fields(line), chart, wait)...)
			warns, fails := strings.Contains(got.stderr, "WARNING: "+ignoredOrderOfShop), strings.Contains(got.stderr, "omit --wait=ordered")
			if fromEnv := env != ""; warns != fromEnv || fails == fromEnv {
				t.Errorf("%s %s with HELM_WAIT=%s: %+v", line, wait, env, got)
			}
		}
	}
}
