// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"
)

// libraryFiles returns a chart that uses the library names. more contains additional files.
func libraryFiles(more map[string]string) map[string]string {
	files := map[string]string{
		"Chart.yaml":                 "apiVersion: helm.sh/v3\nkind: Chart\nmetadata: {name: shop, labels: {version: 1.0.0}}\ndata:\n  icon: https://example.com/icon.svg\n  libraries: [{name: names, version: ^1}]\n",
		"templates/a.yaml":           "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ include \"names.full\" . }}}\ndata: {files: '{{ range $name, $_ := .Files }}{{ $name }} {{ end }}'}\n",
		"values.yaml":                "a: 1\n",
		"library/names/Chart.yaml":   "apiVersion: helm.sh/v3\nkind: Chart\nmetadata: {name: names, labels: {version: 1.0.0}}\ndata: {type: library}\n",
		"library/names/templates/_a": `{{ define "names.full" }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end }}`,
	}
	maps.Copy(files, more)
	return files
}

// TestLibraries runs commands with charts that use a library.
func TestLibraries(t *testing.T) {
	application := map[string]string{"library/names/Chart.yaml": "apiVersion: v2\nname: names\nversion: 1.0.0\n", "library/names/templates/job.yaml": "kind: Job\n"}
	missing := map[string]string{"library/names/Chart.yaml": "apiVersion: v2\nname: another\nversion: 1.0.0\n"}
	for _, c := range []struct {
		name           string
		args           []string
		more           map[string]string
		stdout, stderr string
		code           int
	}{
		{"template", []string{"template", "r", "CHART"}, nil, "name: r-shop}\ndata: {files: ''}\n", "", 0},
		{"template in order", []string{"template", "r", "CHART", "--wait=ordered"}, nil, "name: r-shop}", "", 0},
		{"dag", []string{"dag", "CHART"}, nil, "ConfigMap/release-name-shop", "", 0},
		{"lint", []string{"lint", "CHART"}, nil, "==> Linting CHART\n\n1 chart(s) linted, 0 chart(s) failed\n", "", 0},
		{"show", []string{"show", "chart", "CHART"}, nil, "libraries: [{name: names, version: ^1}]", "", 0},
		{"dependency list", []string{"dependency", "list", "CHART"}, nil, "names\t^1     \t          \tunpacked", "", 0},
		{"an application chart", []string{"template", "r", "CHART"}, application, "name: r-shop}", "WARNING: shop uses names as a library, which is not a library chart: only its named templates are used\n", 0},
		{"package with an application chart", []string{"package", "CHART", "-d", "CHART"}, application, "Successfully packaged", "WARNING: shop uses names as a library", 0},
		{"a library that is installed", []string{"template", "r", "CHART/library/names"}, nil, "", "library charts are not installable", 1},
		{"a missing library", []string{"template", "r", "CHART"}, missing, "", "found in Chart.yaml, but missing in library/ directory: names", 1},
		{"package without a library", []string{"package", "CHART", "-d", "CHART"}, missing, "", "found in Chart.yaml, but missing in library/ directory: names", 1},
		{"lint without a library", []string{"lint", "CHART"}, missing, "chart directory is missing these dependencies: names", "1 chart(s) failed", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			chart := writeChart(t, libraryFiles(c.more))
			for i, arg := range c.args {
				c.args[i] = strings.ReplaceAll(arg, "CHART", chart)
			}
			got := runHelm(t, c.args...)
			if got.code != c.code || !strings.Contains(strings.ReplaceAll(got.stdout, chart, "CHART"), c.stdout) || !strings.Contains(got.stderr, c.stderr) || c.stderr == "" && got.stderr != "" {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// TestLibraryConflict checks that no command renders a chart whose libraries cannot be used together.
func TestLibraryConflict(t *testing.T) {
	chart := writeChart(t, libraryFiles(map[string]string{
		"charts/db/Chart.yaml":               "apiVersion: helm.sh/v3\nkind: Chart\nmetadata: {name: db, labels: {version: 1.0.0}}\ndata:\n  libraries: [{name: names, version: ^2}]\n",
		"charts/db/library/names/Chart.yaml": "apiVersion: helm.sh/v3\nkind: Chart\nmetadata: {name: names, labels: {version: 2.0.0}}\ndata: {type: library}\n",
	}))
	const conflict = "no version of the library names satisfies all charts that use it:\n  shop asks for ^1 (Chart.yaml:6)\n  shop/charts/db asks for ^2 (Chart.yaml:5)"
	for _, command := range [][]string{{"template"}, {"install", "r"}, {"upgrade", "r"}, {"dag"}, {"package"}} {
		if got := runHelm(t, append(command, chart)...); got.code == 0 || !strings.Contains(got.stderr, conflict) {
			t.Errorf("%s: got %+v", command[0], got)
		}
	}
	if got := runHelm(t, "lint", chart); got.code != 1 || !strings.Contains(got.stdout, conflict) {
		t.Errorf("lint: got %+v", got)
	}
	if got := runHelm(t, "dependency", "list", chart); got.code != 0 {
		t.Errorf("dependency list: got %+v", got)
	}
}

// TestPackagedLibraries packs a chart with a library, lists what is in it, and renders it.
func TestPackagedLibraries(t *testing.T) {
	chart, dir := writeChart(t, libraryFiles(nil)), t.TempDir()
	if got := runHelm(t, "package", chart, "-d", dir); got.code != 0 {
		t.Fatalf("got %+v", got)
	}
	packed := filepath.Join(dir, "shop-1.0.0.tgz")
	if got := runHelm(t, "dependency", "list", packed); got.code != 0 || !strings.Contains(got.stdout, "names\t^1     \t          \tunpacked") {
		t.Errorf("dependency list: got %+v", got)
	}
	if got := runHelm(t, "template", "r", packed); got.code != 0 || !strings.Contains(got.stdout, "name: r-shop}\ndata: {files: ''}\n") {
		t.Errorf("template: got %+v", got)
	}
}
