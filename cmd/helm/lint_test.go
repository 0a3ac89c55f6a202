// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/internal/testutil/golden"
)

// lintCharts writes three charts: one with errors that our rules and Helm's rules find, one
// without errors, and one with a subchart.
func lintCharts(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"my shop/Chart.yaml":                     "apiVersion: v3\nname: shop\nversion: 1.0.0\nrunHooksInParallel: maybe\ndependencies:\n- {name: db, version: 1.0.0, depends-on: [queue]}\n",
		"my shop/values.yaml":                    "a: 1\n",
		"my shop/values.schema.json":             `{"properties": {"a": {"type": "string"}}}`,
		"my shop/templates/web.yaml":             "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: Web\n  annotations:\n    helm.sh/layer: web\n    depends-on.helm.sh/layers: wbe\n",
		"my shop/charts/db/Chart.yaml":           "apiVersion: v2\nname: db\nversion: 1.0.0\nicon: https://example.com/i.png\n",
		"my shop/charts/db/values.yaml":          "",
		"my shop/charts/db/templates/claim.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: db\n  annotations:\n    helm.sh/depends-on/layers: x\n",
		"right/Chart.yaml":                       "apiVersion: v3\nname: right\nversion: 1.0.0\nicon: https://example.com/i.png\n",
		"right/values.yaml":                      "",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLintOutput checks the output of lint in each format.
func TestLintOutput(t *testing.T) {
	goldens, err := filepath.Abs("testdata/lint")
	if err != nil {
		t.Fatal(err)
	}
	const failed = "Error: 4 chart(s) linted, 2 chart(s) failed\n"
	for _, tt := range []struct {
		golden, args, stderr string
		code                 int
	}{
		{"text.txt", "--with-subcharts", failed, 1},
		{"quiet.txt", "--with-subcharts --quiet -o text", failed, 1},
		{"report.json", "--with-subcharts -o json", failed, 1},
		{"quiet.json", "--with-subcharts --quiet --output=json", failed, 1},
		{"report.sarif", "--with-subcharts -o sarif", failed, 1},
		{"strict.json", "--with-subcharts --strict --quiet -o json", "Error: 4 chart(s) linted, 3 chart(s) failed\n", 1},
	} {
		t.Run(tt.args, func(t *testing.T) {
			lintCharts(t)
			got := runHelm(t, append([]string{"lint", "my shop", "right", "nowhere"}, strings.Fields(tt.args)...)...)
			if got.stderr != tt.stderr || got.code != tt.code {
				t.Errorf("exit code %d, %q", got.code, got.stderr)
			}
			golden.Assert(t, got.stdout, filepath.Join(goldens, tt.golden))
			if strings.HasPrefix(got.stdout, "{") && !json.Valid([]byte(got.stdout)) {
				t.Error("it is no JSON")
			}
		})
	}
}

// TestLintOfAValidChart checks the output for a chart without errors in each format.
func TestLintOfAValidChart(t *testing.T) {
	lintCharts(t)
	for format, want := range map[string]string{
		"text": "==> Linting right\n\n1 chart(s) linted, 0 chart(s) failed\n",
		"json": "{\n  \"charts\": [\n    {\n      \"path\": \"right\",\n      \"findings\": []\n    }\n  ]\n}\n",
	} {
		if got := runHelm(t, "lint", "right", "-o", format); got.code != 0 || got.stdout != want || got.stderr != "" {
			t.Errorf("%s: %+v", format, got)
		}
	}
	if got := runHelm(t, "lint", "right", "-o", "sarif", "--quiet"); got.code != 0 || !strings.Contains(got.stdout, `"results": []`) {
		t.Errorf("%+v", got)
	}
	if got := runHelm(t, "lint", "right", "-o", "xml"); got.code == 0 || !strings.Contains(got.stderr, "must be one of: text, json, sarif") {
		t.Errorf("%+v", got)
	}
}

// TestLintLogsOnce checks that rendering logs each message only once, as in Helm, although
// lint renders a chart more than once.
func TestLintLogsOnce(t *testing.T) {
	var logged bytes.Buffer
	out := log.Writer()
	log.SetOutput(&logged)
	defer log.SetOutput(out)
	dir := writeChart(t, map[string]string{
		"Chart.yaml": "apiVersion: v3\nname: shop\nversion: 1.0.0\n", "values.yaml": "",
		"templates/a.yaml": "kind: ConfigMap\nmetadata:\n  name: a\n  annotations:\n    helm.sh/layer: a b\ndata: {v: {{ required \"give one\" .Values.v }}}\n",
	})
	got := runHelm(t, "lint", dir)
	if !strings.Contains(got.stdout, "templates/a.yaml:5: ") || strings.Count(logged.String(), "give one") != 1 {
		t.Errorf("%+v, logged:\n%s", got, logged.String())
	}
}

// TestLintScripts checks that lint runs scripts only with the permissions that were accepted, and what it prints
// about a handler that fails.
func TestLintScripts(t *testing.T) {
	dir := writeChart(t, map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\nicon: https://example.com/i.png\nannotations: {helm.sh/scripts: enabled}\n", "values.yaml": "",
		"templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", "ext/permissions.yaml": "lua: [cluster]\n",
		"ext/lua/a.lua": "events.on('pre-render', 0, function(name, namespace)\n  println('printed')\n  if cluster.get('v1', 'ConfigMap', namespace, 'a') == nil then error('no a') end\nend)\n",
	})
	const failed = "[ERROR] ext/lua/a.lua:3: a handler of pre-render failed: no a (failed-script-handler)\n" +
		"stack traceback:\n    ext/lua/a.lua:3: in function <ext/lua/a.lua:1>\n\n"
	const notRun = "[INFO] ext/permissions.yaml: no scripts ran, because those of chart \"shop\" ask for permissions that were not accepted: cluster (scripts-not-run)\n\n1 chart(s) linted, 0 chart(s) failed\n"
	for _, tt := range []struct {
		name, flags    string
		stdout, stderr string
	}{
		{"without flags", "", notRun, ""},
		{"another permission", "--accept-perms=network", notRun, ""},
		{"all permissions", "--yes", failed, "Error: 1 chart(s) linted, 1 chart(s) failed\n"},
		{"the permission", "--accept-perms=cluster", failed, "Error: 1 chart(s) linted, 1 chart(s) failed\n"},
		{"an unknown permission", "--accept-perms=clustr", "Error there is no permission \"clustr\": did you mean \"cluster\"?\n\n", "Error: 1 chart(s) linted, 1 chart(s) failed\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := runHelm(t, append([]string{"lint", dir}, strings.Fields(tt.flags)...)...)
			if want := "==> Linting " + dir + "\n" + tt.stdout; got.stdout != want || got.stderr != tt.stderr {
				t.Errorf("got\n%s%s\nwant\n%s%s", got.stdout, got.stderr, want, tt.stderr)
			}
		})
	}
}

// TestLintWithAnOrderFile checks the output of lint about a chart of subcharts, with an order file in the chart and with
// another one that is given.
func TestLintWithAnOrderFile(t *testing.T) {
	goldens, err := filepath.Abs("testdata/lint")
	if err != nil {
		t.Fatal(err)
	}
	const given = "apiVersion: helm.sh/v1alpha1\nkind: Order\n" +
		"charts:\n- path: app\n  external: ['release:data/kafka']\n- path: ap\n  hookScope: chart\nresources:\n- match: {kind: ConfigMap, name: db}\n  external: [Secret/shared/other]\n"
	for _, tt := range []struct {
		name, golden, args string
		code               int
	}{
		{"without another file", "order-none.txt", "shop", 0},
		{"text", "order.txt", "shop --order given.yaml", 0},
		{"with subcharts", "order-subcharts.txt", "shop --order given.yaml --with-subcharts", 0},
		{"json", "order.json", "shop --order given.yaml --quiet -o json", 0},
		{"sarif", "order.sarif", "shop --order given.yaml --quiet -o sarif", 0},
		{"strict", "order-strict.txt", "shop --order given.yaml --strict", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			chart := writeChart(t, chartWithLateHook())
			t.Chdir(filepath.Dir(chart))
			for name, text := range map[string]string{
				"chart/order.yaml":  "apiVersion: helm.sh/v1alpha1\nkind: Order\nresources:\n- match: {chart: db}\n  external: [Secret/shared/registry]\n- match: {chart: db, kind: Secret}\n  layer: secrets\n",
				"chart/values.yaml": "", "given.yaml": given,
			} {
				if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Rename("chart", "shop"); err != nil {
				t.Fatal(err)
			}
			got := runHelm(t, append([]string{"lint"}, strings.Fields(tt.args)...)...)
			if got.code != tt.code || (got.stderr != "") != (tt.code != 0) {
				t.Errorf("exit code %d, %q", got.code, got.stderr)
			}
			stdout := got.stdout
			if _, results, is := strings.Cut(stdout, `"results": `); is { // before it are the rules
				stdout = results
			}
			golden.Assert(t, stdout, filepath.Join(goldens, tt.golden))
		})
	}
}

// TestLintWithAnInvalidOrderFile checks that lint checks no chart with an invalid order file.
func TestLintWithAnInvalidOrderFile(t *testing.T) {
	lintCharts(t)
	for text, want := range map[string]string{
		"apiVersion: helm.sh/v1alpha1\nkind: Order\ncharts: [{pth: db}]\n": "given.yaml:3: charts[0].pth: unknown field: did you mean path?",
		"a: b\n": "it must have the apiVersion helm.sh/v1alpha1 and the kind Order",
	} {
		if err := os.WriteFile("given.yaml", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := runHelm(t, "lint", "right", "--order", "given.yaml"); got.code != 1 || !strings.Contains(got.stdout, want) || got.stderr != "Error: 1 chart(s) linted, 1 chart(s) failed\n" {
			t.Errorf("got %+v, want %q", got, want)
		}
	}
	if got := runHelm(t, "lint", "right", "--order", "nowhere.yaml"); got.code != 1 || !strings.Contains(got.stderr, "open nowhere.yaml") {
		t.Errorf("%+v", got)
	}
}
