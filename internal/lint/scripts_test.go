// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lint_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/internal/chartscripts"
	"github.com/ordered-helm/helm/internal/lifecycle"
	"github.com/ordered-helm/helm/internal/lint"
	"github.com/ordered-helm/helm/internal/luasandbox"
)

// withScripts is a flat chart whose scripts run.
const withScripts = "apiVersion: v2\nname: shop\nversion: 1.0.0\nicon: https://example.com/i.png\nannotations: {helm.sh/scripts: enabled, helm.sh/sequencing: enabled}\n"

// overlay returns a script with a handler of post-render for the document with a name.
func overlay(name, change string) string {
	return fmt.Sprintf("events.on('post-render', 0, function(name, namespace, chart, values, manifest)\n  for i, doc in ipairs(manifest) do\n    if doc.metadata.name == '%s' then\n      %s\n    end\n  end\nend)\n", name, change)
}

// layered is a template of two documents. Both of them are in a layer, unless a script changes that.
const layered = "{{- /* a comment */}}\n" + `apiVersion: v1
kind: ConfigMap
metadata:
  name: first
  annotations: {helm.sh/layer: first}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: second
  annotations:
    depends-on.helm.sh/layers: {{ .Values.after | default "first" }}
`

// TestScripts checks that the rules see what handlers have changed.
func TestScripts(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  []string
		// says contains a part of each message.
		says []string
	}{
		{name: "without scripts", files: map[string]string{"templates/a.yaml": layered}},
		{
			name:  "post-render changes a layer",
			files: map[string]string{"templates/a.yaml": layered, "ext/lua/a.lua": overlay("first", "doc.metadata.annotations['helm.sh/layer'] = 'other'")},
			want:  []string{"warning unknown-layer templates/a.yaml:13:5"}, says: []string{`depends on the unknown layer "first"`},
		},
		{
			name:  "post-render adds an annotation",
			files: map[string]string{"templates/a.yaml": layered, "ext/lua/a.lua": overlay("second", "doc.metadata.annotations['helm.sh/layer'] = 'a b'")},
			want:  []string{"error invalid-layer-name templates/a.yaml"}, says: []string{`"a b"`},
		},
		{
			name:  "post-render removes the document of a layer",
			files: map[string]string{"templates/a.yaml": layered, "ext/lua/a.lua": overlay("first", "table.remove(manifest, i)")},
			want:  []string{"warning unknown-layer templates/a.yaml:13:5"}, says: []string{"ConfigMap/second depends on"},
		},
		{
			name: "post-render corrects what the template declares",
			files: map[string]string{
				"templates/a.yaml": layered, "values.yaml": "after: frist\n",
				"ext/lua/a.lua": overlay("second", "doc.metadata.annotations['depends-on.helm.sh/layers'] = 'first'"),
			},
		},
		{
			name: "post-render of a subchart adds a document",
			files: map[string]string{
				"charts/db/Chart.yaml":    strings.Replace(withScripts, "shop", "db", 1),
				"charts/db/ext/lua/b.lua": "events.on('post-render', 0, function(name, namespace, chart, values, manifest)\n  table.insert(manifest, {apiVersion = 'v1', kind = 'ConfigMap', metadata = {name = 'x', annotations = {['depends-on.helm.sh/layers'] = 'y'}}})\nend)\n",
			},
			want: []string{"warning unknown-layer charts/db/ext/lua/b.lua"}, says: []string{`ConfigMap/x depends on the unknown layer "y"`},
		},
		{
			name: "a chart that enables no order and has no order keywords",
			files: map[string]string{
				"Chart.yaml":       strings.Replace(withScripts, ", helm.sh/sequencing: enabled", "", 1),
				"templates/a.yaml": configMap("a"), "ext/lua/a.lua": overlay("a", "doc.metadata.annotations = {['helm.sh/layer'] = 'a'}"),
			},
			want: []string{"error sequencing-not-enabled Chart.yaml:1:1"}, says: []string{"declares an order that is ignored"},
		},
		{
			name: "pre-render changes values",
			files: map[string]string{
				"templates/a.yaml": layered, "ext/lua/a.lua": "events.on('pre-render', 0, function(name, namespace, chart, values) values.after = 'last' end)",
			},
			want: []string{"warning unknown-layer templates/a.yaml:13:5"}, says: []string{`the unknown layer "last"`},
		},
		{
			name: "a hook keeps its rules",
			files: map[string]string{
				"templates/a.yaml": layered + "---\n" + configMap("hook", "helm.sh/hook: pre-install", "helm.sh/hook-delete-timeout: 5m") + "---\n" + configMap("hook"),
				"ext/lua/a.lua":    overlay("hook", "assert(doc.metadata.annotations == nil, 'a hook') doc.data = {x = 'y'}"),
			},
			want: []string{"error invalid-hook templates/a.yaml:21:5"}, says: []string{"helm.sh/hook-delete-timeout"},
		},
		{
			name:  "chart-loaded fails",
			files: map[string]string{"ext/lua/a.lua": "events.on('chart-loaded', 0, function(chart)\n  error(chart.name .. ' is not supported')\nend)"},
			want:  []string{"error failed-script-handler ext/lua/a.lua:2"}, says: []string{"a handler of chart-loaded failed: shop is not supported\nstack traceback:\n    ext/lua/a.lua:2: in function"},
		},
		{
			name: "post-render of a subchart with an alias fails",
			files: map[string]string{
				"Chart.yaml":           withScripts + "dependencies:\n- {name: db, version: 1.0.0, alias: store}\n",
				"charts/db/Chart.yaml": strings.Replace(withScripts, "shop", "db", 1), "charts/db/ext/lua/a.lua": "events.on('post-render', 0, function() return 7 end)",
			},
			want: []string{"error failed-script-handler charts/db/ext/lua/a.lua:1"}, says: []string{"must return nothing"},
		},
		{
			name: "post-render fails with the content of a Secret",
			files: map[string]string{
				"templates/a.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: db}\nstringData: {password: {{ .Values.password }}}\n", "values.yaml": "password: open-sesame\n",
				"ext/lua/a.lua": overlay("db", "error('weak: ' .. doc.stringData.password)"),
			},
			want: []string{"error failed-script-handler ext/lua/a.lua:4"}, says: []string{"a handler of post-render failed: weak: ******\n"},
		},
		{
			name:  "post-render makes something invalid",
			files: map[string]string{"templates/a.yaml": layered, "ext/lua/a.lua": overlay("second", "doc.kind = nil")},
			want:  []string{"error failed-script-handler templates/a.yaml"}, says: []string{"not an object with a kind and a name"},
		},
		{
			name:  "post-render defines an object twice",
			files: map[string]string{"templates/a.yaml": layered, "ext/lua/a.lua": overlay("second", "manifest[i + 1] = {apiVersion = 'v1', kind = 'ConfigMap', metadata = {name = 'first'}} return")},
			want:  []string{"error failed-script-handler ext/lua/a.lua"}, says: []string{"shop/templates/a.yaml defines the same object, ConfigMap first"},
		},
		{
			name:  "a script uses a permission while it is loaded",
			files: map[string]string{"ext/lua/a.lua": "x = 1\nlocal home = os.getenv('HOME')\n"},
			want:  []string{"error invalid-script ext/lua/a.lua:2", "warning script-permission-not-requested ext/lua/a.lua:2"}, says: []string{"getenv", "environment"},
		},
		{
			name:  "a script that cannot be loaded is not run again",
			files: map[string]string{"ext/lua/a.lua": "error('never')"},
			want:  []string{"error invalid-script ext/lua/a.lua:1"}, says: []string{"never"},
		},
		{
			name: "scripts that are not enabled do not run",
			files: map[string]string{
				"Chart.yaml": strings.Replace(withScripts, "helm.sh/scripts: enabled", "helm.sh/scripts: disabled", 1), "ext/lua/a.lua": "events.on('chart-loaded', 0, error)",
			},
		},
		{
			name: "scripts of a subchart that is disabled do not run",
			files: map[string]string{
				"Chart.yaml": withScripts + "dependencies:\n- {name: db, version: 1.0.0, condition: db.enabled}\n", "values.yaml": "db: {enabled: false}\n",
				"charts/db/Chart.yaml": strings.Replace(withScripts, "shop", "db", 1), "charts/db/ext/lua/a.lua": "events.on('chart-loaded', 0, error)",
			},
		},
		{
			name:  "templates that cannot be rendered",
			files: map[string]string{"templates/a.yaml": "{{ fail }}", "ext/lua/a.lua": "events.on('post-render', 0, error)"},
		},
		{
			name:  "documents that are no YAML",
			files: map[string]string{"templates/a.yaml": "a: [", "ext/lua/a.lua": "events.on('post-render', 0, error)"},
		},
		{
			name:  "the annotation is invalid and there are no scripts",
			files: map[string]string{"Chart.yaml": strings.Replace(withScripts, "helm.sh/scripts: enabled", "helm.sh/scripts: on", 1)},
			want:  []string{"error invalid-script Chart.yaml:5:32"}, says: []string{`must be "enabled" or "disabled"`},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.files["Chart.yaml"] == "" {
				c.files["Chart.yaml"] = withScripts
			}
			places, all := found(t, c.files, lint.RenderOptions{Namespace: "default"})
			if !slices.Equal(places, c.want) {
				t.Fatalf("found:\n%s\nwant:\n%s\n%v", strings.Join(places, "\n"), strings.Join(c.want, "\n"), all)
			}
			for i, says := range c.says {
				if !strings.Contains(all[i].Message, says) {
					t.Errorf("it says %q, want %q", all[i].Message, says)
				}
			}
		})
	}
}

// TestScriptsAndSchema checks that the values are validated once, after handlers have changed them.
func TestScriptsAndSchema(t *testing.T) {
	const jsonSchema, yamlSchema = `{"properties": {"port": {"type": "integer"}}, "required": ["port"]}`, "properties: {port: {type: integer}}\nrequired: [port]\n"
	script := func(value string) string {
		return "events.on('pre-render', 0, function(name, namespace, chart, values) values.port = " + value + " end)"
	}
	for _, c := range []struct {
		name, script string
		skip         bool
		want         string // part of the message, which is an error
	}{
		{name: "valid after the handler", script: script("80")},
		{name: "invalid after the handler", script: script("'http'"), want: "port"},
		{name: "invalid and skipped", script: script("'http'"), skip: true},
		{name: "without a handler", script: "x = 1", want: "port"},
	} {
		for _, schema := range []string{"values.schema.json", "values.schema.yaml"} {
			t.Run(c.name+", "+schema, func(t *testing.T) {
				files := map[string]string{
					"Chart.yaml": withScripts, "values.yaml": "a: 1\n", "templates/a.yaml": configMap("a"), "ext/lua/a.lua": c.script, schema: jsonSchema,
				}
				if schema == "values.schema.yaml" {
					files[schema] = yamlSchema
				}
				report, err := lint.Check(t.Context(), write(t, files), lint.RenderOptions{SkipSchemaValidation: c.skip})
				if err != nil {
					t.Fatal(err)
				}
				messages := texts(report.Helm)
				isAboutPort := func(m string) bool {
					return strings.HasPrefix(m, "[ERROR] values.yaml: ") && strings.Contains(m, c.want)
				}
				switch {
				case c.want == "" && len(messages) > 0:
					t.Errorf("got %q", messages)
				case c.want != "" && !slices.ContainsFunc(messages, isAboutPort):
					t.Errorf("got %q, want %s", messages, c.want)
				}
			})
		}
	}
}

// TestScriptPermissions checks that scripts run only with the permissions that were accepted.
func TestScriptPermissions(t *testing.T) {
	dir := write(t, map[string]string{
		"Chart.yaml": withScripts, "templates/a.yaml": layered, "ext/permissions.yaml": "lua: [cluster]\n",
		"ext/lua/a.lua": overlay("first", "assert(#cluster.list('v1', 'Pod', '') == 0)\n      doc.metadata.annotations['helm.sh/layer'] = 'other'"),
	})
	none := func(context.Context, []any) ([]any, error) { return []any{[]any{}}, nil }
	for _, c := range []struct {
		name       string
		acceptance chartscripts.Acceptance
		want       string
	}{
		{name: "none", want: "[scripts-not-run]"},
		{"another one", chartscripts.Acceptance{Accepted: []string{"network"}}, "[scripts-not-run]"},
		{"accepted", chartscripts.Acceptance{Accepted: []string{"cluster"}}, "[unknown-layer]"},
		{"asked", chartscripts.Acceptance{Ask: func(context.Context, chartscripts.PermissionRequest) (bool, error) { return true, nil }}, "[unknown-layer]"},
		{"unknown", chartscripts.Acceptance{Accepted: []string{"clustr"}}, `there is no permission "clustr": did you mean "cluster"?`},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := lint.RenderOptions{}
			o.Handlers.Acceptance, o.Handlers.Cluster = c.acceptance, map[string]luasandbox.GoFunction{"get": none, "list": none}
			report, err := lint.Check(t.Context(), dir, o)
			got := fmt.Sprint(err)
			if err == nil {
				var rules []string
				for _, f := range report.Findings {
					rules = append(rules, f.Rule)
				}
				got = fmt.Sprint(rules)
			}
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// TestHandlersOfPrograms checks that lint calls the handlers of Go programs, also for charts without scripts.
func TestHandlersOfPrograms(t *testing.T) {
	var o lint.RenderOptions
	o.Handlers.Emitter = &lifecycle.Emitter{}
	if err := o.Handlers.Emitter.On(lifecycle.PostRender, 0, func(_ context.Context, r *lifecycle.Request) error {
		return fmt.Errorf("%d documents are too few", len(r.Manifest.Documents))
	}); err != nil {
		t.Fatal(err)
	}
	places, all := found(t, map[string]string{"Chart.yaml": subchart, "templates/a.yaml": configMap("a")}, o)
	if !slices.Equal(places, []string{"error failed-script-handler "}) || all[0].Message != "a handler of post-render failed: 1 documents are too few" {
		t.Errorf("got %v, %v", places, all)
	}
}

// TestCanceledCheck checks that a script ends with the context.
func TestCanceledCheck(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	var o lint.RenderOptions
	o.Handlers.Print = func(string) { cancel(context.Canceled) }
	dir := write(t, map[string]string{"Chart.yaml": withScripts, "ext/lua/a.lua": "events.on('chart-loaded', 0, function() println('started') while true do end end)"})
	if report, err := lint.Check(ctx, dir, o); err == nil || report != nil {
		t.Errorf("got %v, %v", report, err)
	}
}
