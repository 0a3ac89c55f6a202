// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/binaries"
)

// Rules for completions.
var (
	// descriptions removes the descriptions of commands and flags. Scenarios that complete
	// values do not use it, so descriptions of values are compared.
	descriptions = pattern("description of a command or flag", "the help texts of Ordered Helm are different", `(?m)^([\w-]+)\t.*$`, "$1")
	// ownFlags are the flags that stock Helm does not have.
	ownFlags = pattern("flags of our own", "stock Helm does not have them", `(?m)^--(readiness-timeout|progress|timeline|sequence-as|takeover|crds|recreate|order|reuse-order|plan|plan-digest|only-if-changed|exclude-libraries|accept-perms|yes|no-scripts)\n`, "")
	// ownCommands are the subcommands of get and show that stock Helm does not have.
	ownCommands = pattern("subcommands of our own", "stock Helm does not have them", `(?m)^scripts\n`, "")
	// otherNamespaces removes all namespaces except those that exist in every cluster and that
	// of the sandbox.
	otherNamespaces = rule{name: "namespaces of other scenarios", why: "they come and go",
		apply: func(s string) string { return foreignNamespace.ReplaceAllString(s, "") }}
	foreignNamespace = regexp.MustCompile(`(?m)^[a-z][a-z0-9]*-[a-z0-9-]+\n`)
)

// complete returns a run of helm that completes the last word of a command line. The word can
// be empty.
func complete(line, word string) helmRun { return helm("__complete "+line, word) }

// TestCompletionScripts compares the scripts for the shells.
func TestCompletionScripts(t *testing.T) {
	t.Parallel()
	table := []scenario{
		{name: "misused", rules: []rule{helpTexts}, steps: []step{
			helm("completion"), helm("completion tcsh"), helm("completion bash extra"), helm("completion zsh --descriptions"), complete("completion", ""), complete("completion bash", ""),
			complete("completion zsh", ""), complete("completion fish", ""), complete("completion powershell", ""),
		}},
	}
	table[0].rules = append(table[0].rules, descriptions)
	for _, script := range [][2]helmRun{
		{helm("completion bash"), helm("completion bash --no-descriptions")},
		{helm("completion zsh"), helm("completion zsh --no-descriptions")},
		{helm("completion fish"), helm("completion fish --no-descriptions")},
		{helm("completion powershell"), helm("completion powershell --no-descriptions")},
	} {
		full, plain := script[0], script[1]
		table = append(table, scenario{name: full.args[1], steps: []step{
			full.called("helm"), plain.called("helm"), full.called("/opt/bin/helm3"), plain.called("helm3"),
		}})
	}
	runLocal(t, table)
}

// TestCompletionOfWords compares the completion of commands and flag names.
func TestCompletionOfWords(t *testing.T) {
	t.Parallel()
	lines := []struct{ line, word string }{
		{"", "rep"}, {"", "u"}, {"", "sea"}, {"", "his"}, {"", "ge"}, {"", "nothing"}, {"", "comp"}, {"", "cre"}, {"", "do"}, {"", "e"},
		{"get", ""}, {"get", "m"}, {"repo", ""}, {"repo", "l"}, {"repo nothing", ""}, {"search", ""}, {"search shop", ""}, {"completion", ""}, {"help repo", ""}, {"help", "rep"},
		{"nothing", ""}, {"nothing", "--"}, {"", "--"}, {"", "--kube"}, {"", "-"}, {"list", "-"}, {"list --all", "--"}, {"list --nothing", ""}, {"list --max many", ""}, {"list --", "--"},
		{"install", "--"}, {"template", "--"}, {"upgrade", "--"}, {"uninstall", "--"}, {"rollback", "--"}, {"test", "--"}, {"status", "--"}, {"history", "--"},
		{"get all", "--"}, {"get values", "--"}, {"get metadata", "--"}, {"repo add", "--"}, {"repo index", "--"}, {"repo list", "--"}, {"repo remove", "--"}, {"repo update", "--"},
		{"dependency", ""}, {"dep update", "--"}, {"dependency build", "--"}, {"dependency list", "--"}, {"dependency list", ""}, {"lint", ""}, {"package", "--"}, {"package", ""},
		{"show", ""}, {"inspect", "r"}, {"show all", "--"}, {"show values", "--"}, {"pull", "--"}, {"fetch", "--"}, {"verify", "--"}, {"verify", ""}, {"registry", ""}, {"registry login", "--"}, {"plugin", ""}, {"plugin install", "--"},
		{"search repo", "--"}, {"search hub", "--"}, {"docs", "--"}, {"env", "--"}, {"version", "--"}, {"version", "-"}, {"completion bash", "--"},
		{"list --help", ""}, {"repo add --password", ""}, {"repo add --ca-file", ""}, {"install --values", ""}, {"install --timeout", ""}, {"install --repo", ""}, {"search hub --endpoint", ""},
	}
	var all []step
	for _, l := range lines {
		all = append(all, complete(l.line, l.word))
	}
	runLocal(t, []scenario{
		{name: "with descriptions", steps: all, rules: []rule{descriptions, ownFlags, ownCommands}},
		{name: "commands", steps: []step{helm("__completeNoDesc", "")}, differs: []string{"+ dag", "+ drift", "+ plan", "+ schema", "+ state"}},
		{name: "flags of lint", steps: []step{helm("__completeNoDesc lint --")}, differs: []string{"+ --accept-perms", "+ --order", "+ --output", "+ --yes"}},
		{name: "flags of push", steps: []step{helm("__completeNoDesc push --")}, differs: []string{"+ --access-token", "+ --context-path", "+ --force", "+ --http-method", "+ --update-index"}},
		{name: "flags of create", steps: []step{helm("__completeNoDesc create --")}, differs: []string{"+ --format"}},
		{name: "without descriptions", rules: []rule{ownFlags, ownCommands}, steps: []step{
			helm("__completeNoDesc get", ""), helm("__completeNoDesc repo add", "--"), helm("__completeNoDesc", "rep"),
			helm("__complete get", "").withEnv("HELM_COMPLETION_DESCRIPTIONS=false"), helm("__complete list", "").withEnv("HELM_ACTIVE_HELP=0"), helm("__complete list", "").withEnv("COBRA_ACTIVE_HELP=0"),
			helm("__complete"), helm("__completeNoDesc"),
		}},
	})
}

// TestCompletionOfReleases compares the completion of releases and revisions.
func TestCompletionOfReleases(t *testing.T) {
	t.Parallel()
	var releases, revisions []step
	for _, command := range []string{"get all", "get hooks", "get manifest", "get metadata", "get notes", "get values", "history", "status", "test", "uninstall", "rollback", "upgrade"} {
		releases = append(releases, complete(command, "al"), complete(command+" alpha", ""))
	}
	for _, command := range []string{"get all", "get hooks", "get manifest", "get metadata", "get notes", "get values", "status"} {
		revisions = append(revisions, complete(command+" alpha --revision", ""))
	}
	table := []scenario{
		{name: "of the namespace", steps: releases},
		{name: "of another namespace", steps: []step{
			complete("status -n other", ""), complete("status --namespace other", ""), complete("status --namespace=other", ""), complete("status", "").withEnv("HELM_NAMESPACE=other"), complete("status -n", ""),
			complete("uninstall --dry-run -n other", ""), complete("status -o json -n nowhere", ""),
		}},
		{name: "several", steps: []step{complete("rollback alpha 1", ""), complete("status", ""), complete("uninstall alpha zeta", ""), complete("uninstall alpha alpha", "z"), complete("uninstall --keep-history alpha", "")}},
		{name: "revisions", steps: append(revisions, complete("status --revision", ""), complete("status alpha beta --revision", ""), complete("status nothing --revision", ""), complete("rollback alpha", ""), complete("rollback alpha", "1"), complete("rollback nothing", ""), complete("rollback alpha 1", ""))},
	}
	for i := range table {
		table[i].env = []string{"HELM_DRIVER=memory", "HELM_MEMORY_DRIVER_DATA=memory/releases.yaml"}
	}
	table = append(table, scenario{name: "without a cluster", steps: []step{complete("status", ""), complete("get all alpha --revision", ""), complete("rollback a", "")}})
	runLocal(t, table)
}

// TestCompletionOfCharts compares the completion of charts, versions and
// repositories.
func TestCompletionOfCharts(t *testing.T) {
	t.Parallel()
	added := []step{
		shopServer, otherServer,
		helm("repo add shop @SHOP@"), helm("repo add shopping @OTHER@"), helm("repo add other @OTHER@"),
	}
	var charts []step
	for _, word := range []string{"", "s", "shop", "shop/", "shop/nothing", "shopping/", "o", "oci://", "oci://example.com/", "h", "file://", "./", "./charts/t", "c", "charts", "/", "x"} {
		charts = append(charts, complete("install web", word))
	}
	runLocal(t, []scenario{
		{name: "charts", rules: []rule{sortedLines}, steps: steps(added, charts)},
		{name: "where charts stand", rules: []rule{sortedLines}, steps: steps(added, []step{
			complete("install", ""), complete("install -g", ""), complete("install --generate-name", "shop/"), complete("install -g shop/shop", ""), complete("install web shop/shop", ""),
			complete("template", ""), complete("template web", ""), complete("template -g", "s"), complete("upgrade web", ""), complete("upgrade web", "shop/"), complete("upgrade --install web", "s"), complete("upgrade web shop/shop", ""),
			complete("show all", ""), complete("show chart", "s"), complete("show values", "shop/"), complete("show crds shop/shop", ""), complete("inspect readme", "shop/sh"),
			complete("pull", ""), complete("pull", "s"), complete("pull", "shop/"), complete("fetch shop/shop", ""), complete("push", ""), complete("push a.tgz oci://", ""),
		})},
		{name: "remotes", rules: []rule{sortedLines}, steps: steps(added, []step{complete("push a.tgz", "")}), differs: []string{
			"+ http://", "+ https://", "+ other\tOTHER", "+ shop\tSHOP", "+ shopping\tOTHER",
		}},
		{name: "charts without the list of names", rules: []rule{sortedLines}, steps: steps(added, []step{
			removeFile("home/cache/repository/shop-charts.txt"), complete("install web", "shop/"),
			removeFile("home/cache/repository/shop-index.yaml"), complete("install web", "shop/"), complete("install web shop/shop --version", ""),
		})},
		{name: "charts without repositories", steps: []step{complete("install web", ""), complete("install web", "s"), complete("install web", "h"), complete("install web shop/shop --version", "")}},
		{name: "versions", steps: steps(added, []step{
			complete("install web shop/shop --version", ""), complete("install web shop/shop --version", "1."), complete("install web shop/basket --version", ""), complete("install web shop/unfinished --version", ""), complete("install web shop/nothing --version", ""),
			complete("install -g shop/shop --version", ""), complete("install shop/shop --version", ""), complete("install web --version", ""), complete("install web shop --version", ""), complete("install web a/b/c --version", ""), complete("install web nothing/shop --version", ""),
			complete("template web shop/shop --version", ""), complete("template -g shop/shop --version", ""), complete("upgrade web shop/shop --version", ""), complete("upgrade web --version", ""), complete("install web shop/shop --version=1", ""),
			helm("__complete install web shop/shop", "--version="), helm("__completeNoDesc install web shop/shop --version", ""), complete("search repo --version", ""),
			complete("show all shop/shop --version", ""), complete("show chart --version", ""), complete("show values shop/basket --version", "1"), complete("pull shop/shop --version", ""), complete("pull --version", ""),
		})},
		{name: "repositories", steps: steps(added, []step{
			complete("repo remove", ""), complete("repo rm", "sh"), complete("repo remove shop", ""), complete("repo remove shop other shopping", ""), complete("repo update", ""), complete("repo up shop", ""),
			complete("repo add", ""), complete("repo add a", ""), complete("repo add a b", ""), complete("repo index", ""), complete("repo index out", ""), complete("repo list", ""), complete("repo remove --repository-config nowhere", ""), complete("search repo", ""), complete("search repo a", ""), complete("search hub", ""),
		})},
	}, cachedNames)
}

const contexts = `apiVersion: v1
kind: Config
contexts:
- name: first
  context: {cluster: one, user: a}
- name: second
  context: {cluster: two, user: b}
- name: bare
`

// TestCompletionOfValues compares other completions whose choices depend on existing files
// and objects.
func TestCompletionOfValues(t *testing.T) {
	t.Parallel()
	kubeconfigs := []step{
		writeFile{"contexts", contexts}, complete("list --kubeconfig contexts --kube-context", ""), complete("list --kube-context", ""), complete("list --kube-context", "").withEnv("KUBECONFIG=contexts"),
		complete("list --kube-context", "fir").withEnv("KUBECONFIG=contexts"), complete("list --kubeconfig nowhere --kube-context", ""),
		writeFile{"broken", "contexts: [}"}, complete("list --kubeconfig broken --kube-context", ""),
	}
	var outputs []step
	for _, command := range []string{"list", "install", "upgrade", "status", "history", "get values", "get metadata", "repo list", "search repo", "search hub"} {
		outputs = append(outputs, complete(command+" -o", ""))
	}
	outputs = append(outputs, complete("list --output", "j"), helm("__complete list", "--output="), helm("__completeNoDesc list -o", ""))
	runLocal(t, []scenario{
		{name: "contexts", rules: []rule{sortedLines}, steps: kubeconfigs},
		{name: "formats", steps: outputs},
		{name: "namespaces without a cluster", steps: []step{complete("list -n", ""), complete("list --namespace", "")}},
		{name: "namespaces of a cluster out of reach", env: []string{"HELM_KUBEAPISERVER=http://127.0.0.1:1"}, steps: []step{complete("list -n", ""), complete("status", "")}},
		{name: "settings", steps: []step{complete("env", ""), complete("env", "HELM_N"), complete("env HELM_NAMESPACE", ""), complete("docs --type", ""), complete("docs --type", "m"), complete("docs", ""), complete("docs --dir", "")}, differs: []string{"+ HELM_WAIT", "+ HELM_WAIT"}},
		{name: "files", steps: []step{complete("create", ""), complete("create web", ""), complete("create --starter", ""), complete("version", ""), complete("list", ""), complete("list x", "")}},
	})
	runScenarios(t, []scenario{
		{name: "namespaces", rules: []rule{otherNamespaces}, steps: []step{complete("list -n", ""), complete("install --namespace", "k"), complete("--namespace", ""), complete("status -o json -n", "")}},
		{name: "releases in the cluster", unchecked: true, steps: []step{
			helm("install web charts/tiny"), helm("install shop charts/tiny"), helm("upgrade web charts/tiny"),
			complete("status", ""), complete("rollback web", ""), complete("get values web --revision", ""), complete("uninstall web", ""), complete("status -n nowhere", ""),
		}},
	})
}

// TestCompletionDescriptions checks that the choices that Ordered Helm adds have descriptions.
func TestCompletionDescriptions(t *testing.T) {
	for line := range strings.Lines(completed(t, "get", "")) {
		name, description, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !strings.HasPrefix(name, ":") && (!ok || description == "") {
			t.Errorf("%q has no description", name)
		}
	}
	if got := completed(t, "install", "--wait="); !strings.Contains(got, "ordered\t") {
		t.Errorf("--wait= is completed by\n%s", got)
	}
}

// completed returns the choices of Ordered Helm for the last word of a command line.
func completed(t *testing.T, words ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binaries.Get(t).Helm, append([]string{"__complete"}, words...)...)
	cmd.Env = []string{"HOME=/home"}
	text, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
