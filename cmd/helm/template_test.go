// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// orderedFiles returns the files of a chart that depends on its subchart, and has CRDs, a List
// whose items belong to two layers, and hooks.
func orderedFiles() map[string]string {
	const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: "
	return map[string]string{
		"Chart.yaml":                 "apiVersion: v3\nname: shop\nversion: 1.0.0\nannotations: {helm.sh/depends-on/subcharts: db}\ndependencies:\n- {name: db, version: 1.0.0}\n",
		"crds/things.yaml":           "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: things.example.com\n",
		"charts/db/Chart.yaml":       "apiVersion: v3\nname: db\nversion: 1.0.0\n",
		"templates/web.yaml":         configMap + "web\n  annotations:\n    helm.sh/layer: web\n    helm.sh/depends-on/layers: [api]\n",
		"templates/api.yaml":         "---\n" + configMap + "api\n  annotations:\n    helm.sh/layer: api\n---\n" + configMap + "another\n  annotations:\n    helm.sh/layer: api\n",
		"templates/rest.yaml":        configMap + "rest\n",
		"templates/single.yaml":      configMap + "single\n  annotations:\n    helm.sh/depends-on/layers: api\n",
		"templates/hook.yaml":        "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: migrate\n  annotations:\n    helm.sh/hook: pre-install,pre-upgrade\n    helm.sh/hook-delete-policy: hook-succeeded\n",
		"templates/test.yaml":        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: check\n  annotations:\n    helm.sh/hook: test\n",
		"templates/both.yaml":        "apiVersion: v1\nkind: List\nitems:\n- " + indented(configMap+"early\n  annotations:\n    helm.sh/layer: api\n") + "- " + indented(configMap+"late\n  annotations:\n    helm.sh/layer: web\n"),
		"charts/db/templates/d.yaml": configMap + "database\n  annotations:\n    helm.sh/layer: database\n",
	}
}

// indented formats a YAML document as an item of a list.
func indented(text string) string {
	return strings.TrimSuffix(strings.ReplaceAll(text, "\n", "\n  "), "  ")
}

func TestTemplateInOrder(t *testing.T) {
	chart := writeChart(t, orderedFiles())
	const (
		database = "## START layer: shop/db database\n# Source: shop/charts/db/templates/d.yaml\n"
		api      = "## START layer: shop api\n"
	)
	tests := []struct {
		name, flags string
		stdout      []string // in this order
		absent      []string
	}{
		{
			name: "whole", flags: "--wait=ordered",
			stdout: []string{
				"---\n" + database, "name: database\n", "## END layer: shop/db database\n---\n" + api, "name: another\n", "name: api\n", "name: early\n",
				"## END layer: shop api\n---\n## START layer: shop web\n", "name: late\n", "name: web\n",
				"## END layer: shop web\n---\n# Source: shop/templates/single.yaml\n", "name: single\n", "---\n# Source: shop/templates/rest.yaml\n", "name: rest\n", "name: check\n", "name: migrate\n",
			},
			absent: []string{"things.example.com", "kind: List"},
		},
		{name: "with definitions", flags: "--wait=ordered --include-crds", stdout: []string{"---\n# Source: shop/crds/things.yaml\n", "things.example.com", database}},
		{name: "without hooks", flags: "--wait=ordered --no-hooks", stdout: []string{database, "name: rest\n"}, absent: []string{"migrate"}},
		{
			name: "some", flags: "--wait=ordered -s templates/api.yaml -s templates/hook.yaml -s charts/db/templates/*",
			stdout: []string{"---\n# Source: shop/templates/api.yaml\n", "name: another\n", "name: api\n", "name: migrate\n", "name: database\n"}, absent: []string{"##"},
		},
		{
			name: "with a post-renderer", flags: "--wait=ordered --post-renderer sed --post-renderer-args /Source/d",
			stdout: []string{"## START layer: shop/db database\napiVersion", "## END layer: shop/db database\n", api, "name: rest\n"},
		},
		{name: "as in Helm", flags: "", stdout: []string{"name: database\n", "name: api\n", "name: rest\n", "kind: List\n"}, absent: []string{"##", "argocd"}},
		{name: "as in Helm, waiting", flags: "--wait", stdout: []string{"name: database\n"}, absent: []string{"##", "argocd"}},
		{
			name: "for Argo CD", flags: "--sequence-as argocd --include-crds",
			stdout: []string{
				"sync-wave: '-1'", "name: things.example.com\n", "name: database\n", "sync-wave: '0'\n", "name: another\n", "sync-wave: '1'\n", "name: web\n", "sync-wave: '2'\n",
				"name: single\n", "sync-wave: '2'\n", "sync-wave: '3'", "name: rest\n", "name: check\n", "argocd.argoproj.io/hook: 'Skip'\n",
				"name: migrate\n", "argocd.argoproj.io/hook: 'PreSync'\n", "sync-wave: '0'\n", "hook-delete-policy: 'HookSucceeded'\n",
			},
			absent: []string{"##"},
		},
		{
			name: "for Argo CD, with a post-renderer", flags: "--sequence-as argocd --post-renderer sed --post-renderer-args /Source/d",
			stdout: []string{"name: database\n", "sync-wave: '0'\n", "sync-wave: '3'", "name: rest\n"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := runHelm(t, strings.Fields("template "+chart+" "+tt.flags)...)
			if got.code != 0 {
				t.Fatal(got.stderr)
			}
			if !containsInOrder(got.stdout, tt.stdout) {
				t.Errorf("stdout:\n%s\nhas not, in this order: %q", got.stdout, tt.stdout)
			}
			for _, absent := range tt.absent {
				if strings.Contains(got.stdout, absent) {
					t.Errorf("stdout:\n%s\nhas %q", got.stdout, absent)
				}
			}
		})
	}
	if got := runHelm(t, "template", chart, "--sequence-as", "flux"); got.code != 1 || got.stderr != "Error: invalid --sequence-as \"flux\": must be \"argocd\"\n" {
		t.Errorf("%+v", got)
	}
}

// TestTemplateIntoFilesInOrder checks that the files of --output-dir contain no comments that
// mark layers.
func TestTemplateIntoFilesInOrder(t *testing.T) {
	chart := writeChart(t, orderedFiles())
	for flag, want := range map[string]string{
		"--wait=ordered":       "---\n# Source: shop/templates/api.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: another\n",
		"--sequence-as=argocd": "    argocd.argoproj.io/sync-wave: '1'\n",
	} {
		dir := t.TempDir()
		got := runHelm(t, "template", chart, "--output-dir", dir, flag)
		if got.code != 0 {
			t.Fatal(got.stderr)
		}
		text, err := os.ReadFile(filepath.Join(dir, "shop", "templates", "api.yaml"))
		if err != nil || !strings.Contains(string(text), want) || strings.Contains(string(text), "##") || strings.Count(string(text), "# Source") != 2 {
			t.Errorf("%s: %v\n%s", flag, err, text)
		}
		for _, name := range []string{"charts/db/templates/d.yaml", "templates/hook.yaml", "templates/both.yaml"} {
			if _, err := os.Stat(filepath.Join(dir, "shop", name)); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestTemplateForArgoCDOfJobsNamedByRevision checks that a warning names Jobs whose names
// contain the revision of the release, which Argo CD could run only once.
func TestTemplateForArgoCDOfJobsNamedByRevision(t *testing.T) {
	const named = "name: migrate-{{ .Release.Revision }}"
	job := func(name, more string) string {
		return "apiVersion: batch/v1\nkind: Job\nmetadata: {" + name + more + "}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: \"i:1\"}]}}}\n"
	}
	for _, tt := range []struct {
		name, template string
		warns          bool
	}{
		{"revision", job(named, ""), true},
		{"in the middle of the name", job("name: m1-r{{ .Release.Revision }}-1", ""), true},
		{"digest", job(`name: migrate-{{ print "i:1" | sha256sum | trunc 8 }}`, ""), false},
		{"constant", job("name: migrate-1", ""), false},
		{"random", job("name: migrate-{{ randNumeric 9 }}", ""), false},
		{"hook, which Argo CD deletes before each sync", job(named, `, annotations: {helm.sh/hook: "pre-install,pre-upgrade"}`), false},
		{"another kind", "apiVersion: v1\nkind: ConfigMap\nmetadata: {" + named + "}\n", false},
		{"chart that renders only for revision 1", `{{ if gt .Release.Revision 1 }}{{ fail "no" }}{{ end }}` + job("name: a", ""), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			chart := writeChart(t, map[string]string{"Chart.yaml": "apiVersion: v3\nname: shop\nversion: 1.0.0\n", "templates/all.yaml": tt.template})
			got := runHelm(t, "template", chart, "--sequence-as", "argocd")
			const warning = "WARNING: shop/templates/all.yaml: Job/m"
			if got.code != 0 || strings.Contains(got.stderr, warning) != tt.warns || strings.Contains(got.stderr, "its name contains the revision") != tt.warns {
				t.Errorf("%+v", got)
			}
			if tt.warns && !strings.Contains(got.stderr, `{{ printf "%s %s" .Values.image .Values.command | sha256sum | trunc 8 }}`) {
				t.Errorf("got %s", got.stderr)
			}
			if got := runHelm(t, "template", chart, "--wait=ordered"); got.code != 0 || got.stderr != "" {
				t.Errorf("%+v", got)
			}
		})
	}
}
