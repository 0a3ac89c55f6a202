// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package parity

import "testing"

// programPaths is a rule for the paths of the programs in plugins' environment.
var programPaths = pattern("program", "it is the program under comparison", `(HELM_BIN=)\S*`, "${1}HELM")

// noCompletion is a rule that removes a debug line.
var noCompletion = pattern("no completion", "the line names one of the source", `(?m)^.*No plugin auto-completion possible\n`, "")

// with returns the environment variable that sets the plugin directory of a scenario.
func with(folder string) []string { return []string{"HELM_PLUGINS=plugins/" + folder} }

// TestRunPlugins compares how plugins are run.
func TestRunPlugins(t *testing.T) {
	t.Parallel()
	runLocally(t, []scenario{
		{name: "environment of a plugin", env: with("good"), rules: []rule{programPaths, noCompletion, groupsOnce}, steps: []step{
			helm("reveal"),
			helm("reveal a --b c -d"),
			helm("reveal --namespace elsewhere --debug -- -n more"),
			helm("-n elsewhere reveal x"),
			helm("--kube-context there --kube-token=secret reveal"),
			helm("reveal --kube-as-user anna --kube-as-group=a --kube-as-group b --kube-ca-file ca --kube-apiserver=server"),
			helm("reveal --kube-insecure-skip-tls-verify true --kube-tls-server-name name --kubeconfig=mine"),
			helm("reveal --registry-config r --repository-cache c --repository-config=f --burst-limit 5 --qps 2"),
			helm("--burst-limit 5 --qps 2 reveal"),
			helm("reveal -n"),
			helm("reveal --help"),
			helm("reveal -h"),
		}},
		{name: "environment by variables", env: append(with("good"), "HELM_DEBUG=1", "HELM_KUBEASGROUPS=a,b", "HELM_MAX_HISTORY=3", "HELM_NAMESPACE=chosen"),
			rules: []rule{programPaths, noCompletion}, steps: []step{helm("reveal")}},
		{name: "commands of plugins", env: with("good"), steps: []step{
			helm("utter"),
			helm("utter more -x --y=z"),
			helm("utter -n other words"),
			helm("quiet all of this --is ignored"),
			helm("reads").withStdin("typed\n"),
			helm("reads a b").withStdin(""),
		}},
		{name: "exit codes", env: with("good"), steps: []step{
			helm("fails"),
			helm("fails 0"),
			helm("fails 1"),
			helm("fails 130"),
			helm("fails killed"),
		}},
		{name: "help with plugins", env: with("good"), steps: []step{
			helm("help reveal"),
			helm("help utter"),
			helm("help words"),
			helm("help words list"),
			helm("help quiet"),
			helm("utterr"),
		}},
		{name: "without plugins", env: append(with("good"), "HELM_NO_PLUGINS=1"), steps: []step{
			helm("reveal"),
			helm("plugin list"),
		}},
		{name: "plugins switched on", env: append(with("good"), "HELM_NO_PLUGINS=0"), steps: []step{helm("utter")}},
		{name: "several folders of plugins", env: []string{"HELM_PLUGINS=plugins/good:plugins/render:nowhere"}, steps: []step{
			helm("plugin list"),
			helm("utter"),
			helm("render").withStdin("size: none\n"),
		}},
		{name: "odd plugins", env: with("odd"), rules: []rule{programPaths}, steps: []step{
			helm("both"),
			helm("missing"),
			helm("none"),
			helm("plan9"),
			helm("nowhere"),
			helm("list --filter x"),
			helm("plugin list"),
			helm("template web charts/tiny"),
			helm("install web charts/tiny --dry-run=client"),
			helm("pull nothing"),
			helm("__complete none", ""),
		}},
		{name: "plugin with the name of an addition", env: with("ordered"), steps: []step{
			helm("dag"),
			helm("dag charts/tiny --version 1"),
			helm("help dag"),
			helm("plugin list"),
		}},
		{name: "plugins in a folder of their own", steps: []step{
			helm("plugin install plugins/good/reveal"),
			helm("plugin install plugins/good/utter"),
			helm("reveal"),
			helm("utter"),
		}, rules: []rule{programPaths}},
		{name: "completion by plugins", env: with("good"), steps: []step{
			helm("__complete words", ""),
			helm("__complete words", "l"),
			helm("__complete words list", ""),
			helm("__complete words list -"),
			helm("__complete words list --q"),
			helm("__complete words -"),
			helm("__complete words --"),
			helm("__complete words show", ""),
			helm("__complete words show deep", ""),
			helm("__complete words show deep -n other a", ""),
			helm("__complete words show deep --x a --namespace other", "b"),
			helm("__completeNoDesc words show deep", ""),
			helm("__complete -n other words show deep", ""),
			helm("__complete words nothing", ""),
			helm("__complete bare", ""),
			helm("__complete silent", ""),
			helm("__complete quiet", ""),
			helm("__complete reveal a", ""),
			helm("__complete ut"),
			helm("__complete help wor"),
		}},
		{name: "completion of plugin commands", env: with("good"), steps: []step{
			helm("__complete plugin", ""),
			helm("__complete plugin uninstall", ""),
			helm("__complete plugin uninstall", "s"),
			helm("__complete plugin uninstall utter reveal", ""),
			helm("__complete plugin update", ""),
			helm("__complete plugin up utter", ""),
			helm("__complete plugin list", ""),
			helm("__complete plugin install", ""),
			helm("__complete plugin install a", ""),
			helm("__complete plugin install --version", ""),
		}, rules: []rule{shortHelp}},
		{name: "downloader plugin", env: with("fetch"), steps: []step{
			writeBytes{"shelf/tiny-1.0.0.tgz", chartArchive(t, "tiny", "1.0.0")},
			writeBytes{"shelf/index.yaml", []byte("apiVersion: v1\nentries:\n  tiny:\n  - {apiVersion: v2, name: tiny, version: 1.0.0, urls: [tiny-1.0.0.tgz]}\n")},
			writeBytes{"shelf/values.yaml", []byte("size: fetched\n")},
			helm("pull shelf://here/tiny-1.0.0.tgz"),
			showChecksum("tiny-1.0.0.tgz"),
			helm("pull shelves://here/tiny-1.0.0.tgz --untar --untardir out"),
			helm("pull shelf://here/none-1.0.0.tgz"),
			helm("pull shelf://here/tiny-1.0.0.tgz --username anna --password right --ca-file ca --cert-file cert --key-file key"),
			helm("pull tiny --repo shelf://here -d ."),
			helm("template web shelf://here/tiny-1.0.0.tgz"),
			helm("template web tiny --repo shelf://here"),
			helm("template web charts/tiny -f shelf://here/values.yaml"),
			helm("template web charts/tiny -f shelf://here/none.yaml"),
			helm("pull other://here/tiny-1.0.0.tgz"),
			helm("pull shelf://here/tiny-1.0.0.tgz --verify"),
			helm("pull shelf://here/tiny-1.0.0.tgz").withEnv("HELM_NO_PLUGINS=1"),
		}, rules: []rule{cachedIndex}},
		{name: "post-renderer plugin", env: with("render"), steps: []step{
			writeBytes{"tiny-1.0.0.tgz", chartArchive(t, "tiny", "1.0.0")},
			helm("template web tiny-1.0.0.tgz --post-renderer plugins/render/render/render.sh"),
			helm("template web tiny-1.0.0.tgz --post-renderer @DIR@/plugins/render/render/render.sh --post-renderer-args large"),
			helm("template web tiny-1.0.0.tgz --post-renderer render"),
			helm("template web tiny-1.0.0.tgz --post-renderer plugins/good/fails/fails.sh --post-renderer-args 4"),
		}},
	})
}

// shortHelp is a rule for the short descriptions of commands in a list of completions.
var shortHelp = pattern("short help", "the help texts of Ordered Helm are different", `(?m)^(install|list|uninstall|update|--version)\t.*$`, "$1\tHELP")

// TestBrokenPlugins compares messages about plugins that cannot be loaded, and commands that
// work despite them.
func TestBrokenPlugins(t *testing.T) {
	t.Parallel()
	var table []scenario
	for _, name := range []string{"unknown", "nameless", "slash", "control", "space", "empty"} {
		table = append(table, scenario{name: name, env: with("broken/" + name), steps: []step{
			makeDir("plugins/broken/" + name + "/plugin"),
			renameFile{"plugins/broken/" + name + "/plugin.yaml", "plugins/broken/" + name + "/plugin/plugin.yaml"},
			helm("plugin list"),
		}})
	}
	table = append(table,
		scenario{name: "syntax", env: []string{"HELM_PLUGINS=plugins/good:mine"}, steps: []step{
			makeDir("mine"),
			helm("utter"),
			renameFile{"plugins/broken/syntax", "mine/syntax"},
			helm("utter"),
			helm("plugin list"),
			helm("plugin uninstall utter"),
			helm("plugin update utter"),
			helm("template web charts/tiny"),
			helm("pull nothing"),
			helm("__complete plugin uninstall", ""),
			helm("__complete", ""),
		}, rules: []rule{onlyPlugins}},
		scenario{name: "twice the same name", env: with("good"), steps: []step{
			makeDir("plugins/good/again"),
			writeFile{"plugins/good/again/plugin.yaml", "name: utter\nversion: 9.9.9\ncommand: echo again\n"},
			helm("utter"),
			helm("plugin list"),
			helm("plugin uninstall utter"),
		}},
		scenario{name: "folder without a manifest", env: with("broken"), steps: []step{
			removeFile("plugins/broken/syntax"), removeFile("plugins/broken/unknown"), removeFile("plugins/broken/nameless"), removeFile("plugins/broken/slash"),
			removeFile("plugins/broken/control"), removeFile("plugins/broken/space"), removeFile("plugins/broken/empty"),
			helm("plugin list"),
			helm("template web charts/tiny"),
		}},
		scenario{name: "plugins that are a file", env: []string{"HELM_PLUGINS=values/first.yaml"}, steps: []step{
			helm("plugin list"),
			helm("template web charts/tiny"),
			helm("plugin install plugins/good/utter"),
		}},
	)
	runLocally(t, table)
}

// onlyPlugins is a rule that removes helm's own commands from a list of commands.
var onlyPlugins = pattern("commands of helm", "the programs have different commands and help texts", `(?m)^[a-z]+\t[A-Za-z].*\n`, "")

// groupsOnce is a rule for groups to impersonate that an environment variable sets.
var groupsOnce = pattern("groups given twice", "stock Helm uses each of them twice; see TestDifferences", `a,b,a,b`, "a,b")
