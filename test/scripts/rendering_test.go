// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package scripts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	helmloader "helm.sh/helm/v3/pkg/chart/loader"

	"github.com/ordered-helm/helm/test/charts"
)

// TestRendering checks what scripts see and change while a chart is rendered.
func TestRendering(t *testing.T) {
	t.Parallel()
	const setting = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: setting}\ndata: {team: {{ quote .Values.team }}, sub: {{ quote .Values.sub.size }}}\n"
	sub := map[string]string{
		"Chart.yaml":                  metadata + "dependencies: [{name: sub, version: 0.1.0, condition: sub.enabled}]\n",
		"values.yaml":                 "team: none\nsub: {size: 1, enabled: true}\nglobal: {region: north}\n",
		"templates/setting.yaml":      setting,
		"charts/sub/Chart.yaml":       "apiVersion: v2\nname: sub\nversion: 0.1.0\n",
		"charts/sub/templates/s.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: of-sub}\ndata: {size: {{ quote .Values.size }}, region: {{ .Values.global.region }}}\n",
	}
	with := func(files map[string]string, more ...string) map[string]string {
		all := map[string]string{}
		for name, text := range files {
			all[name] = text
		}
		for i := 0; i < len(more); i += 2 {
			all[more[i]] = more[i+1]
		}
		return all
	}
	appender := filepath.Join(t.TempDir(), "appender")
	if err := os.WriteFile(appender, []byte("#!/bin/sh\nsed 's/by: script/by: post-renderer after script/'\n"), 0o700); err != nil { //nolint:gosec // it is a program
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, script string
		files        map[string]string
		args         []string
		want         []string // on stdout and stderr
		without      string   // what is not there
	}{
		{name: "the argument of chart-loaded", script: `events.on("chart-loaded", 0, function(...) local chart = ... println(select("#", ...), chart.name, chart.version, chart.path) end)`, want: []string{"app: 1 app 0.1.0 app"}},
		{name: "values", script: on("pre-render", `values.team = name .. " in " .. namespace values.sub.size = values.sub.size + 1`), files: sub, args: []string{"--namespace", "here"},
			want: []string{`team: "rel in here", sub: "2"`, `size: "2"`}},
		{name: "values of a subchart", files: with(sub, "charts/sub/Chart.yaml", strings.Replace(metadata, "app", "sub", 1), "charts/sub/ext/lua/s.lua", on("pre-render", "values.size = 7 values.team = 'sub'")),
			want: []string{`team: "none", sub: "7"`, `size: "7"`}},
		{name: "global values of a subchart", script: on("pre-render", "println('region is ' .. values.global.region)"), files: with(sub, "charts/sub/Chart.yaml", strings.Replace(metadata, "app", "sub", 1), "charts/sub/ext/lua/s.lua", on("pre-render", "values.global.region = 'south'")),
			want: []string{"app: region is north", "region: south"}},
		{name: "a condition", script: on("pre-render", "values.sub.enabled = false"), files: sub, want: []string{"name: of-sub"}},
		{name: "another condition", script: on("pre-render", "values.sub.enabled = true"), files: sub, args: []string{"--set", "sub.enabled=false"}, without: "name: of-sub"},
		{name: "a schema after the handlers", script: on("pre-render", "values.replicas = tonumber(values.replicas)"), args: []string{"--set-string", "replicas=2"},
			files: map[string]string{"values.schema.json": `{"properties": {"replicas": {"type": "integer"}}}`}, want: []string{"name: app"}},
		{name: "the documents of a chart and its subcharts", script: on("post-render", "local names = {} for i, d in ipairs(manifest) do names[i] = d.metadata.name end table.sort(names) println(table.concat(names, ' '))"),
			files: with(sub, "templates/hook.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hook, annotations: {helm.sh/hook: pre-install}}\n", "crds/crd.yaml", "kind: CustomResourceDefinition\nmetadata: {name: crd}\n"),
			args:  []string{"--include-crds"}, want: []string{"app: app of-sub setting", "name: hook", "name: crd"}},
		{name: "the documents of a subchart", files: with(sub, "charts/sub/Chart.yaml", strings.Replace(metadata, "app", "sub", 1), "charts/sub/ext/lua/s.lua", on("post-render", "println(#manifest, manifest[1].metadata.name)")),
			want: []string{"app/charts/sub: 1 of-sub"}},
		{name: "before the post-renderer", script: on("post-render", "manifest[1].metadata.labels = {by = 'script'}"), args: []string{"--post-renderer", appender}, want: []string{"by: post-renderer after script"}},
		{name: "no other events", script: on("pre-validate", "error('pre-validate')") + on("pre-install", "error('pre-install')") + on("wait", "error('wait')") + on("ready", "error('ready')"), want: []string{"name: app"}},
		{name: "a dry run", script: on("post-render", "manifest[1].metadata.labels = {by = 'script'}"), args: []string{"--dry-run"}, want: []string{"by: script"}},
		{name: "a cluster where lookup finds nothing", script: on("post-render", "println(tostring(cluster.get('v1', 'Namespace', '', 'default')), #cluster.list('v1', 'Namespace', ''))"),
			files: map[string]string{"ext/permissions.yaml": "lua: [cluster]\n"}, args: []string{"--accept-perms", "cluster"}, want: []string{"app: nil 0"}},
		{name: "a chart without the annotation", script: "error('runs')", files: map[string]string{"Chart.yaml": "apiVersion: v2\nname: app\nversion: 0.1.0\n"}, want: []string{"name: app"}},
		{name: "a chart of the format helm.sh/v3", script: "println('runs')", files: map[string]string{"Chart.yaml": "apiVersion: helm.sh/v3\nkind: Chart\nmetadata:\n  name: app\n  labels: {version: 0.1.0}\n"}, want: []string{"app: runs"}},
		{name: "the order of files", script: "", files: map[string]string{"ext/lua/b.lua": "println(order .. ' b')", "ext/lua/a.lua": "order = 'a'", "ext/lua/more/c.lua": "error('c')", "ext/other.lua": "error('other')"}, want: []string{"app: a b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := runHelm(t, append([]string{"template", "rel", writeChart(t, c.script, c.files)}, c.args...)...)
			r.expect(t)
			for _, want := range c.want {
				if !strings.Contains(r.stdout+r.stderr, want) {
					t.Errorf("%q is missing in\n%s%s", want, r.stdout, r.stderr)
				}
			}
			if c.without != "" && strings.Contains(r.stdout, c.without) {
				t.Errorf("stdout is\n%s", r.stdout)
			}
		})
	}
}

// TestLayersOfScripts checks that dag shows the order that scripts declare.
func TestLayersOfScripts(t *testing.T) {
	t.Parallel()
	chart := writeChart(t, on("post-render", `for _, d in ipairs(manifest) do
  if d.metadata.name == "app" then d.metadata.annotations = {["helm.sh/layer"] = "late", ["depends-on.helm.sh/layers"] = "early"} end
  if d.metadata.name == "base" then d.metadata.annotations = {["helm.sh/layer"] = "early"} end
end`), map[string]string{
		"Chart.yaml":          "apiVersion: v2\nname: app\nversion: 0.1.0\nannotations: {helm.sh/scripts: enabled, helm.sh/sequencing: enabled}\n",
		"templates/base.yaml": strings.Replace(template, "name: app", "name: base", 1),
	})
	r := runHelm(t, "dag", chart)
	r.expect(t)
	if early, late := strings.Index(r.stdout, "ConfigMap/base"), strings.Index(r.stdout, "ConfigMap/app"); early < 0 || late < early || !strings.Contains(r.stdout, "batch 2") {
		t.Errorf("the graph is\n%s", r.stdout)
	}
}

// TestScriptsOfPackages checks that scripts run only after the archive of their chart was verified, and
// that archives of the format helm.sh/v3 keep running them.
func TestScriptsOfPackages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	chart := charts.WriteFiles(t, map[string]string{
		"Chart.yaml":         "apiVersion: helm.sh/v3\nkind: Chart\nmetadata:\n  name: app\n  labels: {version: 0.1.0}\n",
		"templates/app.yaml": template, "ext/lua/script.lua": "println('runs')\n",
	})
	runHelm(t, "package", chart, "--destination", dir).expect(t)
	archive := filepath.Join(dir, "app-0.1.0.tgz")
	r := runHelm(t, "template", "rel", archive)
	r.expect(t)
	if !strings.Contains(r.stderr, "app: runs") {
		t.Errorf("the script has not run:\n%s", r.stderr)
	}
	packaged, err := helmloader.Load(archive)
	if err != nil {
		t.Fatal(err)
	}
	if value := packaged.Metadata.Annotations["helm.sh/scripts"]; value != "enabled" {
		t.Errorf("the annotation in the archive is %q", value)
	}
	r = runHelm(t, "template", "rel", archive, "--verify")
	r.expect(t, "Error: ")
	if strings.Contains(r.stderr, "runs") {
		t.Errorf("the script of a chart that cannot be verified has run:\n%s", r.stderr)
	}
}
