// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// scriptsMetadata is the Chart.yaml of a chart whose scripts run.
const scriptsMetadata = "apiVersion: v2\nname: app\nversion: 0.1.0\nannotations: {helm.sh/scripts: enabled}\n"

// scriptChart writes a chart with an object and a script, and other files. It returns its directory.
func scriptChart(tb testing.TB, script string, files map[string]string) string {
	tb.Helper()
	all := map[string]string{
		"Chart.yaml": scriptsMetadata, "values.yaml": "replicas: 1\n", "ext/lua/script.lua": script,
		"templates/app.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\n",
	}
	for name, text := range files {
		all[name] = text
	}
	return charts.WriteFiles(tb, all)
}

// handler returns a script with a handler of an event.
func handler(event, body string) string {
	return `events.on("` + event + `", 0.5, function(name, namespace, chart, values, manifest) ` + body + " end)\n"
}

// TestInvalidScripts checks that nothing is changed in the cluster if scripts are invalid, refuse the
// installation, or ask for permissions that are not accepted.
func TestInvalidScripts(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	for _, c := range []struct {
		name, script string
		files        map[string]string
		want         string
	}{
		{"syntax error", "if", nil, `chart "app": ext/lua/script.lua:1: syntax error`},
		{"unknown event", "events.on('pre-instal', 0, function() end)", nil, `ext/lua/script.lua:1: there is no event "pre-instal": did you mean "pre-install"?`},
		{"loop", handler("chart-loaded", "while true do end"), nil, "ext/lua/script.lua:1: the script takes too long"},
		{"permission", "", map[string]string{"ext/permissions.yaml": "lua: [network]"}, "--accept-perms network"},
		{"unknown permission", "", map[string]string{"ext/permissions.yaml": "lua: [disk]"}, "app/ext/permissions.yaml:1: there is no permission"},
		{"values that the schema refuses", handler("pre-render", "values.replicas = 'two'"), map[string]string{
			"values.schema.json": `{"properties": {"replicas": {"type": "integer"}}}`,
		}, "values don't meet the specifications of the schema(s)"},
		{"document without a kind", handler("post-render", "manifest[1].kind = nil"), nil, "not an object with a kind and a name"},
		{"document without a name", handler("post-render", "manifest[1].metadata.name = nil"), nil, "name"},
		{"two documents with one name", handler("post-render", "manifest[2] = {apiVersion = 'v1', kind = 'ConfigMap', metadata = {name = 'app'}}"), nil, "define"},
		{"refusal before validation", handler("pre-validate", "error('not on Fridays')"), nil, `a handler of pre-validate failed: chart "app": ext/lua/script.lua:1: not on Fridays`},
		{"refusal after validation", handler("post-validate", "error('not on Fridays')"), nil, `a handler of post-validate failed: chart "app": ext/lua/script.lua:1: not on Fridays`},
	} {
		t.Run(c.name, func(t *testing.T) {
			h.ExpectRejected(t, h.Run("install", "rel", scriptChart(t, c.script, c.files), "--wait"), c.want)
		})
	}
	h.ExpectNoReleases(t)
}

// TestFailingScripts checks operations whose scripts fail after the release was recorded.
func TestFailingScripts(t *testing.T) {
	t.Parallel()
	harness.RunCases(t, map[string]func(*testing.T, *harness.Helm){
		"a wait that never ends": func(t *testing.T, h *harness.Helm) {
			h.ExpectFailure(t, []string{"install", "rel", scriptChart(t, handler("wait", "while true do pcall(function() while true do end end) end"), nil), "--wait"},
				`INSTALLATION FAILED: a handler of wait failed: chart "app": ext/lua/script.lua:1: the script takes too long`)
			h.ExpectStatuses(t, "rel", "failed")
			h.MustRun("uninstall", "rel")
			h.ExpectEmptyNamespace(t)
		},
		"a wait without a result": func(t *testing.T, h *harness.Helm) {
			h.ExpectFailure(t, []string{"install", "rel", scriptChart(t, handler("wait", "return 'later'"), nil), "--wait"},
				`chart "app": ext/lua/script.lua:1: the handler of wait must return true or false`)
		},
		"an uninstall that never ends": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", scriptChart(t, handler("pre-delete", "while true do end"), nil))
			h.ExpectFailure(t, []string{"uninstall", "rel"}, "a handler of pre-delete failed", "ext/lua/script.lua:1: the script takes too long")
			h.ExpectObjects(t, "rel", "ConfigMap/app")
			h.MustRun("uninstall", "rel", "--no-scripts")
			h.ExpectEmptyNamespace(t)
		},
	})
}

// TestExchangedScripts checks operations on stored releases whose scripts somebody has exchanged who can
// write the releases: they ask for permissions as any others, whatever was recorded as accepted.
func TestExchangedScripts(t *testing.T) {
	t.Parallel()
	const permissions = "lua: [filesystem, network]\n"
	for _, c := range []struct {
		name, chart string // the path of the chart whose scripts are exchanged
		exchange    func(tb testing.TB, rel *release.Release, script string)
	}{
		{"of the chart", "app", func(_ testing.TB, rel *release.Release, script string) {
			for _, f := range rel.Chart.Files {
				if f.Name == "ext/lua/script.lua" {
					f.Data = []byte(script)
				}
			}
			rel.Chart.Files = append(rel.Chart.Files, &chart.File{Name: "ext/permissions.yaml", Data: []byte(permissions)})
		}},
		{"of a subchart", "app/charts/sub", func(tb testing.TB, rel *release.Release, script string) {
			tb.Helper()
			for _, f := range rel.Chart.Files {
				if f.Name != ".ordered-helm/scripts.json" {
					continue
				}
				var record map[string]any
				harness.NoError(tb, json.Unmarshal(f.Data, &record))
				sub := record["charts"].([]any)[0].(map[string]any)
				sub["files"] = []any{
					map[string]any{"name": "ext/lua/script.lua", "data": []byte(script)},
					map[string]any{"name": "ext/permissions.yaml", "data": []byte(permissions)},
				}
				record["accepted"] = map[string]any{"app": []string{"filesystem", "network"}, "app/charts/sub": []string{"filesystem", "network"}}
				var err error
				f.Data, err = json.Marshal(record)
				harness.NoError(tb, err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			harmless := handler("pre-delete", "println('goodbye')")
			path := scriptChart(t, harmless, map[string]string{
				"charts/sub/Chart.yaml": strings.Replace(scriptsMetadata, "app", "sub", 1), "charts/sub/ext/lua/script.lua": harmless,
			})
			h.MustRun("install", "rel", path)
			h.MustRun("upgrade", "rel", path)
			reached := filepath.Join(t.TempDir(), "reached")
			write := `io.open("` + reached + `", "w"):close()`
			for _, rel := range h.History(t, "rel") {
				c.exchange(t, rel, write+"\n"+handler("pre-delete", write)+handler("pre-rollback", write))
				harness.NoError(t, h.Storage().Update(rel))
			}
			h.Started = harness.Now()
			refused := `the scripts of chart "` + c.chart + `" ask for permissions that were not accepted: `
			for _, operation := range [][]string{{"rollback", "rel", "1"}, {"uninstall", "rel"}} {
				h.ExpectFailure(t, operation, refused+"filesystem, network", "--accept-perms filesystem,network")
				h.ExpectFailure(t, append(operation, "--accept-perms", "network"), refused+"filesystem", "--accept-perms filesystem")
			}
			harness.ExpectContains(t, h.MustRun("get", "scripts", "rel").Stdout, "-- Chart: "+c.chart+"\n-- Permissions: filesystem, network", write)
			if list := h.ReadTrace(t).Since(h.Started).WrittenByHelm(); len(list) > 0 {
				t.Errorf("helm has written %v", list)
			}
			h.ExpectStatuses(t, "rel", "superseded deployed")
			h.MustRun("rollback", "rel", "1", "--no-scripts")
			h.MustRun("uninstall", "rel", "--no-scripts")
			h.ExpectEmptyNamespace(t)
			if _, err := os.Stat(reached); err == nil {
				t.Error("the exchanged script has run")
			}
		})
	}
}
