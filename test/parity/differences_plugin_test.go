// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package parity

import "testing"

// pluginDifferences returns the intentional differences from stock Helm for plugins and
// registries.
func pluginDifferences(t *testing.T) []scenario {
	t.Helper()
	manifest := entry{name: "plugin.yaml", text: "name: served\nversion: 1.0.0\ncommand: echo served\n"}
	url := serveFiles(t, map[string][]byte{
		"served-1.0.0.tgz":    archive(t, manifest, entry{name: "bin/", kind: '5', mode: 0o755}),
		"up/served-1.0.0.tgz": archive(t, manifest, entry{name: "../up", text: "x"}),
		"..-1.0.0.tgz":        archive(t, manifest),
	})
	table := []scenario{
		{name: "login with files that cannot be read", rules: []rule{traces}, steps: []step{
			helm("registry login 127.0.0.1:1 -u anna -p x --ca-file nowhere.crt"),
			helm("registry login 127.0.0.1:1 -u anna -p x --ca-file values/first.yaml"),
			helm("registry login 127.0.0.1:1 -u anna -p x --cert-file no.crt --key-file no.key"),
		}, differs: []string{
			`- exit code 2`,
			`+ exit code 1`,
			`- panic: open nowhere.crt: no such file or directory`,
			`+ Error: can't create TLS config for client: can't read CA file: nowhere.crt`,
			`- exit code 2`,
			`+ exit code 1`,
			`- panic: unable to parse CA file: "values/first.yaml"`,
			`+ Error: can't create TLS config for client: failed to append certificates from file: values/first.yaml`,
			`- exit code 2`,
			`+ exit code 1`,
			`- panic: open no.crt: no such file or directory`,
			`+ Error: can't create TLS config for client: can't load key pair from cert no.crt and key no.key: open no.crt: no such file or directory`,
		}},
		{name: "plugin from an archive, installed again", steps: []step{
			helm("plugin install " + url + "/served-1.0.0.tgz"),
			helm("plugin uninstall served"),
			helm("plugin install " + url + "/served-1.0.0.tgz"),
			removeFile("home/cache/plugins"),
		}, differs: []string{
			`- exit code 1`,
			`+ exit code 0`,
			`+ Installed plugin: served`,
			`- Error: extracting files from archive: mkdir DIR/home/cache/plugins/http-127.0.0.1-PORT-served-1.0.0.tgz/bin: file exists`,
			`+ file home/data/plugins/served/plugin.yaml -rw-r--r--`,
			`+ name: served`,
			`+ version: 1.0.0`,
			`+ command: echo served`,
			`+ `,
		}},
		{name: "archive that leads out of its folder", steps: []step{
			helm("plugin install " + url + "/up/served-1.0.0.tgz"),
		}, differs: []string{
			`- file home/cache/plugins/http-127.0.0.1-PORT-up-served-1.0.0.tgz/plugin.yaml -rw-r--r--`,
			`- name: served`,
			`- version: 1.0.0`,
			`- command: echo served`,
			`- `,
		}},
		{name: "archive with a name that leads out", steps: []step{
			helm("plugin install " + url + "/..-1.0.0.tgz"),
			showTree("home"),
			removeFile("home"),
		}, differs: []string{
			`- exit code 0`,
			`+ exit code 1`,
			`- Installed plugin: served`,
			`+ Error: the last part of "http://127.0.0.1:PORT/..-1.0.0.tgz" cannot be the name of a directory`,
			`- drwxr-xr-x home`,
			`- drwxr-xr-x home/cache`,
			`- drwxr-xr-x home/cache/plugins`,
			`- drwxr-xr-x home/cache/plugins/http-127.0.0.1-PORT-..-1.0.0.tgz`,
			`- -rw-r--r-- home/cache/plugins/http-127.0.0.1-PORT-..-1.0.0.tgz/plugin.yaml`,
			`- drwxr-xr-x home/data`,
			`- -rw-r--r-- home/data/plugin.yaml`,
			`+ no folder home`,
		}},
		{name: "plugin from an archive, and a folder for plugins", env: []string{"HELM_PLUGINS=mine"}, steps: []step{
			helm("plugin install " + url + "/served-1.0.0.tgz"),
			helm("plugin list"),
			removeFile("home/cache/plugins"),
		}, differs: []string{
			"- NAME\tVERSION\tDESCRIPTION",
			"+ NAME  \tVERSION\tDESCRIPTION",
			"+ served\t1.0.0  \t           ",
			`- file home/data/plugins/served/plugin.yaml -rw-r--r--`,
			`+ file mine/served/plugin.yaml -rw-r--r--`,
		}},
		{name: "plugin that cannot be loaded", steps: []step{
			helm("plugin install plugins/broken/slash"),
			helm("plugin list"),
		}, differs: []string{
			`- Error: plugin is installed but unusable: invalid plugin name at "DIR/home/data/plugins/slash/plugin.yaml"`,
			`+ Error: the plugin was not installed, because it cannot be loaded: invalid plugin name at "DIR/home/data/plugins/slash/plugin.yaml"`,
			`- exit code 1`,
			`+ exit code 0`,
			"+ NAME\tVERSION\tDESCRIPTION",
			`- failed to load plugins: invalid plugin name at "DIR/home/data/plugins/slash/plugin.yaml"`,
			`- Error: invalid plugin name at "DIR/home/data/plugins/slash/plugin.yaml"`,
			`- file home/data/plugins/slash Lrwxrwxrwx to DIR/plugins/broken/slash`,
		}},
		{name: "plugin with the name of another", steps: []step{
			makeDir("again"), writeFile{"again/plugin.yaml", "name: utter\nversion: 9.9.9\ncommand: echo again\n"},
			helm("plugin install plugins/good/utter"),
			helm("plugin install again"),
			helm("utter"),
		}, differs: []string{
			`- exit code 0`,
			`+ exit code 1`,
			`- Installed plugin: utter`,
			`+ Error: two plugins claim the name "utter" at "DIR/home/data/plugins/utter" and "DIR/home/data/plugins/again"; uninstall the other one first`,
			`- exit code 1`,
			`+ exit code 0`,
			`+ said NAMESPACE`,
			`- failed to load plugins: two plugins claim the name "utter" at "DIR/home/data/plugins/again" and "DIR/home/data/plugins/utter"`,
			`- Error: unknown command "utter" for "helm"`,
			`- Run 'helm --help' for usage.`,
			`- file home/data/plugins/again Lrwxrwxrwx to DIR/again`,
		}},
		{name: "plugin that steers the terminal", env: with("escapes"), steps: []step{
			helm("plugin list"),
		}, differs: []string{
			"- escapes\t1.0\x1b[2J    \tsteer \x1b[31mthe terminal",
			"+ escapes\t1.0    \tsteer the terminal",
		}},
	}
	for i := range table {
		table[i].noCluster = true
		table[i].rules = append(table[i].rules, ports)
	}
	return table
}

// ports is a rule that replaces the ports of servers, which are chosen when they start.
var ports = pattern("port of a server", "it is chosen at start", `127\.0\.0\.1([:-])\d{4,}`, "127.0.0.1${1}PORT")

// traces is a rule that removes the stack trace of a panic.
var traces = pattern("trace of a panic", "it contains addresses", `\n\ngoroutine 1 \[running\]:(?s:.*)`, "\n\n")
