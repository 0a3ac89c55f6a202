// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package scripts

import (
	"fmt"
	"strings"
	"testing"
)

// manyScripts returns the files of a folder with this number of scripts.
func manyScripts(count int) map[string]string {
	files := map[string]string{}
	for i := range count {
		files[fmt.Sprintf("ext/lua/%05d.lua", i)] = "-- nothing\n"
	}
	return files
}

// TestBadInput checks the errors about invalid scripts and permission files: they name the chart, the file
// and the line, and say what is wrong. Nothing is printed on stdout.
func TestBadInput(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		script string
		files  map[string]string
		args   []string
		want   string
	}{
		{name: "syntax error", script: "local x = 1\nif x then", want: `Error: chart "app": ext/lua/script.lua:2: syntax error at the end of the file`},
		{name: "syntax error in a subchart", files: map[string]string{
			"charts/sub/Chart.yaml": strings.Replace(metadata, "app", "sub", 1), "charts/sub/ext/lua/s.lua": "x = = 1",
		}, want: `Error: chart "app/charts/sub": ext/lua/s.lua:1: syntax error near '='`},
		{name: "unknown variable", script: "\nevent.on('wait', 0, function() end)", want: `chart "app": ext/lua/script.lua:2: attempt to index a non-table object(nil) with key 'on'`},
		{name: "misspelled event", script: "\nevents.on('post-rendr', 0, function() end)", want: `chart "app": ext/lua/script.lua:2: there is no event "post-rendr": did you mean "post-render"?`},
		{name: "unknown event", script: "events.on('sunrise', 0, function() end)", want: `ext/lua/script.lua:1: there is no event "sunrise": must be one of chart-loaded, pre-render, `},
		{name: "event of Go programs", script: "events.on('post-list', 0, function() end)", want: "ext/lua/script.lua:1: scripts cannot handle post-list: no chart belongs to it"},
		{name: "weight that is too large", script: "events.on('wait', 2, function() end)", want: "ext/lua/script.lua:1: the weight of a handler of wait is 2: must be a number from 0 to 1"},
		{name: "weight that is negative", script: "events.on('wait', -0.5, function() end)", want: "ext/lua/script.lua:1: the weight of a handler of wait is -0.5: must be a number from 0 to 1"},
		{name: "weight that is text", script: "events.on('wait', 'first', function() end)", want: "ext/lua/script.lua:1: the second argument of events.on must be the weight, a number from 0 to 1"},
		{name: "handler that is missing", script: "events.on('wait', 0)", want: "ext/lua/script.lua:1: events.on needs 3 arguments, but has 2: the event, the weight and the handler"},
		{name: "handler that is no function", script: "events.on('wait', 0, {})", want: "ext/lua/script.lua:1: the third argument of events.on must be a function"},
		{name: "registration in a handler", script: "\n" + on("pre-render", "events.on('wait', 0, function() end)"), want: `a handler of pre-render failed: chart "app": ext/lua/script.lua:2: events.on can be called only while the scripts are loaded, not in a handler`},
		{name: "handler with a result", script: on("post-render", "return manifest"), want: `chart "app": ext/lua/script.lua:1: the handler of post-render must return nothing: change the arguments in place`},
		{name: "values that become a list", script: on("pre-render", "values[1] = 2"), want: `chart "app": ext/lua/script.lua:1: the handler of pre-render has changed the values to a`},
		{name: "values that the schema refuses", script: on("pre-render", "values.replicas = 'two'"), files: map[string]string{
			"values.schema.json": `{"properties": {"replicas": {"type": "integer"}}}`, "values.yaml": "replicas: 1\n",
		}, want: "values don't meet the specifications of the schema(s) in the following chart(s):\napp:\n"},
		{name: "manifest that is a map", script: on("post-render", "manifest.x = 1"), want: `chart "app": ext/lua/script.lua:1: the handler of post-render has changed the manifest to something that is not a list of documents: a table is neither a list nor a map`},
		{name: "manifest with a hole", script: on("post-render", "manifest[1] = nil manifest[2] = {}"), want: `chart "app": ext/lua/script.lua:1: the handler of post-render has changed the manifest to something that is not a list of documents`},
		{name: "document that is text", script: on("post-render", "manifest[2] = 'kind: A'"), want: `chart "app": ext/lua/script.lua:1: the handler of post-render has made element 2 of the manifest something that is not an object with a kind and a name`},
		{name: "document without a kind", script: on("post-render", "manifest[1].kind = nil"), want: "app/templates/app.yaml: a handler of post-render has changed it to something that is not an object with a kind and a name: remove it from the manifest instead"},
		{name: "document that is a hook", script: on("post-render", `manifest[1].metadata.annotations = {["helm.sh/hook"] = "pre-install"}`), want: "a handler of post-render has made a hook of ConfigMap"},
		{name: "two documents with one name", script: on("post-render", "table.insert(manifest, {apiVersion = 'v1', kind = 'ConfigMap', metadata = {name = 'app'}})"), want: "define"},
		{name: "permissions that are not YAML", files: map[string]string{"ext/permissions.yaml": "lua: [network"}, want: "app/ext/permissions.yaml"},
		{name: "permissions that are a list", files: map[string]string{"ext/permissions.yaml": "- network\n"}, want: `Error: app/ext/permissions.yaml:1: must contain a list of permissions, as in "lua: [network]"`},
		{name: "permissions for another language", files: map[string]string{"ext/permissions.yaml": "lua: [network]\njs: [network]\n"}, want: `app/ext/permissions.yaml:2: unknown field "js": the permissions of scripts are in the list "lua"`},
		{name: "permissions that are text", files: map[string]string{"ext/permissions.yaml": "lua: network\n"}, want: `app/ext/permissions.yaml:1: must be a list of permissions, as in "lua: [network]"`},
		{name: "unknown permission", files: map[string]string{"ext/permissions.yaml": "lua:\n- network\n- filesytem\n"}, args: []string{"--yes"}, want: `Error: app/ext/permissions.yaml:3: there is no permission "filesytem": did you mean "filesystem"?`},
		{name: "unknown accepted permission", args: []string{"--accept-perms", "networks"}, want: `there is no permission "networks": did you mean "network"?`},
		{name: "permissions that are accepted in two ways", args: []string{"--yes", "--accept-perms", "network"}, want: "[accept-perms yes]"},
		{name: "permissions that are not accepted", files: map[string]string{"ext/permissions.yaml": "lua: [network, cluster]\n"}, args: []string{"--accept-perms", "cluster"}, want: `the scripts of chart "app" ask for permissions that were not accepted: network: read them (helm show scripts, helm get scripts), and accept with --accept-perms network, or with --yes whatever the charts ask for`},
		{name: "unknown value of the annotation", files: map[string]string{"Chart.yaml": strings.Replace(metadata, "enabled", `"on"`, 1)}, want: `app/Chart.yaml: the annotation helm.sh/scripts is "on": must be "enabled" or "disabled"`},
		{name: "too many scripts", files: manyScripts(10_000), want: "Error: app/ext/lua: contains 10001 scripts: a chart can have at most 200"},
		{name: "too large scripts", files: map[string]string{"ext/lua/a.lua": "--" + strings.Repeat("x", 1<<20)}, want: "app/ext/lua: the scripts have "},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := runHelm(t, append([]string{"template", "rel", writeChart(t, c.script, c.files)}, c.args...)...)
			r.expect(t, c.want)
			if r.stdout != "" {
				t.Errorf("stdout is\n%.500s", r.stdout)
			}
		})
	}
}
