// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestPluginCommand compares how plugins are installed, listed, updated and uninstalled.
func TestPluginCommand(t *testing.T) {
	t.Parallel()
	runLocally(t, []scenario{
		{name: "plugin words", steps: []step{
			helm("plugin list"),
			helm("plugin ls extra words"),
			helm("plugin install"),
			helm("plugin install a b"),
			helm("plugin add"),
			helm("plugin uninstall"),
			helm("plugin rm"),
			helm("plugin update"),
			helm("plugin up"),
			helm("plugin list --no-such-flag"),
			helm("plugin install --version"),
			helm("plugin uninstall nothing"),
			helm("plugin remove nothing else"),
			helm("plugin update nothing else"),
		}},
		{name: "plugin from a folder", steps: []step{
			helm("plugin install plugins/good/reveal"),
			helm("plugin install plugins/good/reveal"),
			helm("plugin add @DIR@/plugins/good/utter --version 9"),
			helm("plugin list"),
			helm("plugin update utter"),
			helm("plugin uninstall utter nothing reveal"),
			helm("plugin list"),
			helm("plugin uninstall utter"),
			helm("plugin install plugins/good/utter"),
			helm("utter"),
			showTree("plugins/good/utter"),
		}},
		{name: "plugin folder that is gone", steps: []step{
			helm("plugin install plugins/good/reveal"),
			removeFile("plugins/good/reveal"),
			helm("plugin list"),
			helm("reveal"),
			helm("plugin uninstall reveal"),
			helm("plugin install plugins/good/reveal"),
		}},
		{name: "plugin from what is none", steps: []step{
			helm("plugin install plugins/broken/hollow"),
			helm("plugin install plugins/good/reveal/plugin.yaml"),
			helm("plugin install nowhere"),
			helm("plugin install ./nowhere/"),
			helm("plugin install https://127.0.0.1:1/plugin.tgz"),
			helm("plugin install http://127.0.0.1:1/plugin"),
			helm("plugin install file://@DIR@/plugins/good/reveal"),
			helm("plugin install", ""),
			helm("plugin list"),
		}},
		{name: "hooks of plugins", steps: []step{
			helm("plugin install plugins/hooked/hooked"),
			helm("plugin install plugins/hooked/platform"),
			helm("plugin install plugins/hooked/failing"),
			helm("plugin install plugins/hooked/absent"),
			helm("plugin list"),
			helm("failing"),
			helm("plugin uninstall hooked platform failing absent"),
			helm("plugin list"),
		}},
		{name: "both kinds of commands", steps: []step{
			helm("plugin install plugins/odd/both"),
			helm("both"),
			helm("plugin install plugins/good/utter"),
			helm("plugin uninstall both"),
		}},
		{name: "debugging plugins", steps: []step{
			helm("plugin install plugins/hooked/hooked --debug"),
			helm("plugin list --debug"),
			helm("plugin update hooked --debug"),
			helm("plugin uninstall hooked --debug"),
		}, rules: []rule{debugHead, stackTraces, installerHead}},
		{name: "plugins in another folder", env: []string{"HELM_PLUGINS=mine"}, steps: []step{
			helm("plugin install plugins/good/reveal"),
			helm("plugin list"),
			helm("plugin uninstall reveal"),
		}},
		{name: "plugins elsewhere by XDG", env: []string{"HELM_DATA_HOME=", "XDG_DATA_HOME=xdg"}, steps: []step{
			helm("plugin install plugins/good/reveal"),
			helm("plugin list"),
		}},
	})
}

// installerHead is a rule for the beginning of debug lines of Helm's plugin installers.
var installerHead = pattern("head of an installer's line", "it names a line of the source", `(?m)^\[debug\] \w+\.go:\d+: `, "[debug] ")

// TestPluginFromGit compares plugins from a version control system.
func TestPluginFromGit(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	const source = "file://@DIR@/repos/versioned"
	repository := slices.Concat(
		[]step{makeDir("repos/versioned"), git{"repos/versioned", "init -q -b main"}},
		commit("repos/versioned", "1.0.0", "tag 1.0.0"),
		commit("repos/versioned", "1.1.0", "tag v1.1.0"),
		commit("repos/versioned", "2.0.0", "tag 2.0.0", "branch stable"),
		commit("repos/versioned", "2.1.0-dev"),
	)
	table := []scenario{
		{name: "plugin from git", steps: []step{
			helm("plugin install " + source), helm("versioned"), helm("plugin list"),
			helm("plugin install " + source),
			helm("plugin uninstall versioned"),
			helm("plugin install " + source), helm("versioned"),
		}},
		{name: "plugin from git by version", steps: []step{
			helm("plugin install " + source + " --version 1.0.0"), helm("versioned"), helm("plugin uninstall versioned"),
			helm("plugin install " + source + " --version ^1"), helm("versioned"), helm("plugin uninstall versioned"),
			helm("plugin install " + source + " --version >=1,<3"), helm("versioned"), helm("plugin uninstall versioned"),
			helm("plugin install " + source + " --version stable"), helm("plugin uninstall versioned"),
			helm("plugin install " + source + " --version 3.0.0"),
			helm("plugin install " + source + " --version nonsense"),
			helm("plugin list"),
		}},
		{name: "update of a plugin from git", steps: slices.Concat(
			[]step{helm("plugin install " + source), helm("plugin update versioned")},
			commit("repos/versioned", "3.0.0"),
			[]step{
				helm("plugin update versioned"), helm("versioned"),
				writeFile{"home/data/plugins/versioned/plugin.yaml", "name: versioned\nversion: changed\ncommand: echo changed\n"},
				helm("plugin update versioned"), helm("versioned"),
				helm("plugin update versioned nothing"),
			},
		)},
		{name: "update that takes the manifest away", steps: []step{
			helm("plugin install " + source),
			git{"repos/versioned", "rm -q plugin.yaml\ncommit -q -m gone"},
			helm("plugin update versioned"),
			helm("plugin list"),
		}},
		{name: "git repository without a plugin", steps: []step{
			makeDir("repos/bare"), writeFile{"repos/bare/README", "no plugin\n"},
			git{"repos/bare", "init -q -b main\nadd .\ncommit -q -m one"},
			helm("plugin install file://@DIR@/repos/bare"),
			helm("plugin list"),
		}},
	}
	for i := range table {
		table[i].steps = slices.Concat(repository, table[i].steps)
		table[i].rules = append(table[i].rules, clones)
	}
	runLocally(t, table)
}

// clones is a rule for the names of cached git repositories.
var clones = pattern("cached clone", "its name is that of the sandbox's folder", `(plugins/)file--[\w-]*?-repos-`, "${1}FILE-")

// TestPluginFromArchive compares plugins that are downloaded from a web server. Files that
// only stock Helm leaves in its cache are removed; see TestDifferences.
func TestPluginFromArchive(t *testing.T) {
	t.Parallel()
	manifest := func(name string) entry {
		return entry{name: "plugin.yaml", text: "name: " + name + "\nversion: 1.0.0\ncommand: $HELM_PLUGIN_DIR/bin/run.sh\n"}
	}
	script := entry{name: "bin/run.sh", text: "#!/bin/sh\necho ran $1\n", mode: 0o755}
	bin := entry{name: "bin/", kind: '5', mode: 0o755}
	good := archive(t, manifest("served"), bin, script)
	outside := outsideOfSandboxes(t)
	url := serveFiles(t, map[string][]byte{
		"served-1.0.0.tgz":       good,
		"served-1.0.0.tar.gz":    good,
		"plain/served-1.0.0.zip": good,
		"text/served-1.0.0.tgz":  []byte("not an archive"),
		"up/up-1.0.0.tgz":        archive(t, manifest("up"), entry{name: "../up.txt", text: "x"}),
		"deep/up-1.0.0.tgz":      archive(t, manifest("up"), entry{name: "bin/../../../up.txt", text: "x"}),
		"abs/up-1.0.0.tgz":       archive(t, manifest("up"), entry{name: outside, text: "x"}),
		"colon/up-1.0.0.tgz":     archive(t, manifest("up"), entry{name: "c:/up.txt", text: "x"}),
		"back/up-1.0.0.tgz":      archive(t, manifest("up"), entry{name: `bin\..\..\up.txt`, text: "x"}),
		"link/up-1.0.0.tgz":      archive(t, manifest("up"), entry{name: "bin", kind: '2', link: "/tmp"}, entry{name: "bin/up.txt", text: "x"}),
		"hard/up-1.0.0.tgz":      archive(t, manifest("up"), entry{name: "passwd", kind: '1', link: "/etc/passwd"}),
		"hollow/up-1.0.0.tgz":    archive(t, anything("readme.txt")),
		"inner/up-1.0.0.tgz":     archive(t, entry{name: "up/", kind: '5', mode: 0o755}, entry{name: "up/plugin.yaml", text: "name: up\n"}),
		"short/up-1.0.0.tgz":     archive(t, manifest("up"), anything(strings.Repeat("x", 90)))[:120],
	})
	table := []scenario{
		{name: "plugin from an archive", steps: []step{
			helm("plugin install " + url + "/served-1.0.0.tgz"),
			helm("served now"), helm("plugin list"),
			helm("plugin update served"),
			helm("plugin install " + url + "/served-1.0.0.tgz"),
			showTree("home/data/plugins"),
			helm("plugin uninstall served"),
			showTree("home/data/plugins"),
		}},
		{name: "plugin from an archive by its long name", steps: []step{
			helm("plugin install " + url + "/served-1.0.0.tar.gz --version 7"), helm("served now"),
		}},
		{name: "archive that is not there", steps: []step{
			helm("plugin install " + url + "/none-1.0.0.tgz"),
			helm("plugin install " + url + "/plain/served-1.0.0.zip"),
			helm("plugin install " + url + "/served-1.0.0.tgz?x=y"),
			showTree("home/data/plugins"),
		}},
	}
	for _, kind := range []string{"text/served", "up/up", "deep/up", "abs/up", "colon/up", "back/up", "link/up", "hard/up", "hollow/up", "inner/up", "short/up"} {
		table = append(table, scenario{name: "archive " + kind, steps: []step{
			helm("plugin install " + url + "/" + kind + "-1.0.0.tgz"),
			helm("plugin list"),
			showTree("home/data"),
		}})
	}
	for i := range table {
		table[i].steps = append(table[i].steps, removeFile("home/cache/plugins"))
	}
	runLocally(t, table)
}

// anything returns an entry with arbitrary content.
func anything(name string) entry { return entry{name: name, text: "x"} }
