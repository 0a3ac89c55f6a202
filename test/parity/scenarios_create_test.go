// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/binaries"
)

func TestCreate(t *testing.T) {
	t.Parallel()
	starters := []step{
		makeDir("home/data/starters/mine/templates"), makeDir("home/data/starters/mine/charts/below"), makeDir("home/data/starters/mine/crds"),
		writeFile{"home/data/starters/mine/Chart.yaml", "apiVersion: v2\nname: mine\nversion: 7.7.7\ndescription: A pattern\nkeywords: [a]\nannotations: {a: b}\n"},
		writeFile{"home/data/starters/mine/values.yaml", "# Values of <CHARTNAME>\nname: <CHARTNAME>\nlist: [1, 2]\n"},
		writeFile{"home/data/starters/mine/values.schema.json", "{\"title\": \"<CHARTNAME>\"}"},
		writeFile{"home/data/starters/mine/README.md", "About <CHARTNAME>\n"},
		writeFile{"home/data/starters/mine/crds/crd.yaml", "name: <CHARTNAME>\n"},
		writeFile{"home/data/starters/mine/.helmignore", "README.md\n"},
		writeFile{"home/data/starters/mine/templates/config.yaml", "name: <CHARTNAME>-<CHARTNAME>\nother: <chartname>\n"},
		writeFile{"home/data/starters/mine/templates/NOTES.txt", "<CHARTNAME> is there\n"},
		writeFile{"home/data/starters/mine/charts/below/Chart.yaml", "apiVersion: v2\nname: below\nversion: 1.0.0\n"},
	}
	runLocal(t, []scenario{
		{name: "a chart", steps: []step{helm("create web"), helm("template web web"), helm("create web2"), helm("create charts/plain2")}},
		{name: "where there is one", steps: []step{
			helm("create web"), writeFile{"web/values.yaml", "mine: true\n"}, writeFile{"web/own.txt", "mine\n"}, helm("create web"), showFile("web/values.yaml"), showFile("web/own.txt"), helm("create charts/plain"), helm("create ."), helm("create", ""),
		}},
		{name: "a name that is none", steps: []step{
			helm("create Web_Shop"), helm("create", "a b"), helm("create /"), helm("create", "-"), helm("create --", "-web"), helm("create", strings.Repeat("a", 251)), helm("create ü"), helm("create a.b-C_1"), helm("create", "a:b"), helm("create", "a\nb"),
		}},
		{name: "where none can be", steps: []step{helm("create nowhere/web"), helm("create values/first.yaml"), helm("create values/first.yaml/web"), helm("create @NAMESPACE@/a/b")}},
		{name: "wrong arguments", steps: []step{helm("create"), helm("create a b"), helm("create a --nothing"), helm("create a --starter")}},
		{name: "from a starter", steps: steps(starters, []step{helm("create web --starter mine"), helm("create charts/deep/er -p mine"), helm("create web -p mine"), helm("template web web")})},
		{name: "from a starter elsewhere", steps: steps(starters, []step{
			packChart{"home/data/starters/mine", "home/data/starters/packed.tgz"}, helm("create packed -p packed.tgz"),
			helm("create tiny -p ../../../charts/tiny"), helm("create web --starter", "@DIR@/charts/tiny"), helm("create none -p nothing"), helm("create none -p ../../../charts/badyaml"), helm("create none -p ../../../charts/badversion"), helm("create none -p", ""),
		})},
		{name: "with a wrong name from a starter", steps: steps(starters, []step{
			helm("create", "Web Shop", "-p", "mine"), helm("create", "a: b: c", "-p", "mine"), helm("create values/first.yaml -p mine"), helm("create / -p mine"),
		})},
		{name: "from starters that are not quite", steps: steps(starters, []step{
			writeFile{"home/data/starters/mine/values.yaml", "a: [}\n"}, helm("create web -p mine"),
			writeFile{"home/data/starters/mine/values.yaml", ""}, helm("create web -p mine"),
			removeFile("home/data/starters/mine/values.yaml"), helm("create other -p mine"),
		})},
	})
}

func TestEnv(t *testing.T) {
	t.Parallel()
	added := []string{`+ HELM_WAIT=""`}
	settings := []string{
		"HELM_BURST_LIMIT=7", "HELM_DEBUG=true", "HELM_KUBEAPISERVER=https://a", "HELM_KUBEASGROUPS=b,c", "HELM_KUBEASUSER=d", "HELM_KUBECAFILE=e", "HELM_KUBECONTEXT=f", "HELM_KUBEINSECURE_SKIP_TLS_VERIFY=1", "HELM_KUBETLS_SERVER_NAME=g",
		"HELM_KUBETOKEN=h", "HELM_MAX_HISTORY=3", "HELM_NAMESPACE=i", "HELM_PLUGINS=j", "HELM_QPS=1.5", "HELM_REGISTRY_CONFIG=k", "HELM_REPOSITORY_CACHE=l", "HELM_REPOSITORY_CONFIG=m",
	}
	runLocal(t, []scenario{
		{name: "as it is", steps: []step{helm("env").called("helm"), helm("env HELM_NAMESPACE"), helm("env HELM_BIN").called("some/helm3"), helm("env NOTHING"), helm("env", ""), helm("env helm_namespace"), helm("env a b"), helm("env --nothing")}, differs: added},
		{name: "set", steps: []step{helm("env").called("helm").withEnv(settings...)}, differs: added},
		{name: "given", steps: []step{helm("env -n else --kube-context some --registry-config x --repository-cache y --repository-config z --qps 3 --burst-limit 9").called("helm"), helm("env HELM_NAMESPACE -n else")}, differs: added},
		{name: "by XDG", env: []string{"HELM_CACHE_HOME=", "HELM_CONFIG_HOME=", "HELM_DATA_HOME=", "XDG_CACHE_HOME=c", "XDG_CONFIG_HOME=f", "XDG_DATA_HOME=d"}, steps: []step{helm("env").called("helm")}, differs: added},
	})
}

// pages is a rule that keeps only the names of the pages that `helm docs` writes.
var pages = rule{name: "pages", why: "their text is help, written anew; TestDocs compares their names",
	apply: func(s string) string { return pageText.ReplaceAllString(s, "") }}

var pageText = regexp.MustCompile(`(?ms)^file (?:docs|[^\n]*/docs)/.*\z`)

// isAdded reports whether a page describes a command that stock Helm does not have.
func isAdded(page string) bool {
	return slices.ContainsFunc(addedCommands, func(command string) bool {
		return strings.Contains(page, "helm_"+strings.ReplaceAll(command, " ", "_")+".") || strings.Contains(page, "helm-"+strings.ReplaceAll(command, " ", "-")+".")
	})
}

// TestDocs compares the names and the form of the pages that `helm docs` writes. Each program
// writes pages for its own commands.
func TestDocs(t *testing.T) {
	t.Parallel()
	runLocal(t, []scenario{
		{name: "misused", rules: []rule{pages}, steps: []step{
			helm("docs --type html"), helm("docs --type html --generate-headers"), helm("docs --dir nowhere"), helm("docs --dir nowhere --type man"), helm("docs --dir nowhere --type bash"), helm("docs x"), helm("docs --type", ""),
		}},
	})
	programs := binaries.Get(t)
	for _, kind := range []string{"markdown", "md", "man", "bash", "markdown --generate-headers"} {
		t.Run(kind, func(t *testing.T) {
			stock, ours := writtenDocs(t, programs.Stock, kind), writtenDocs(t, programs.Helm, kind)
			for name, head := range ours {
				if isAdded(name) {
					continue
				}
				want, ok := stock[name]
				if !ok || head != want {
					t.Errorf("%s begins with %q, want %q", name, head, want)
				}
			}
			known := helpCommands(t, programs.Helm)
			for name := range stock {
				command, _, _ := strings.Cut(strings.TrimLeft(strings.TrimPrefix(name, "helm"), "-_"), ".")
				command, _, _ = strings.Cut(strings.ReplaceAll(command, "-", "_"), "_")
				if _, ok := ours[name]; !ok && (command == "" || slices.Contains(known, command)) {
					t.Errorf("there is no %s", name)
				}
			}
		})
	}
}

// headOf returns the beginning of a page, before the help text.
func headOf(page string) string {
	first, rest, _ := strings.Cut(page, "\n")
	switch first {
	case "---": // Markdown with a header
		header, _, _ := strings.Cut(rest, "---")
		return header
	case ".nh": // a manual page
		second, _, _ := strings.Cut(rest, "\n")
		return second
	}
	return first
}

// writtenDocs returns the beginning of every page that `helm docs` writes, by file name.
func writtenDocs(t *testing.T, program, kind string) map[string]string {
	t.Helper()
	folder := t.TempDir()
	cmd := exec.CommandContext(t.Context(), program, append([]string{"docs", "--dir", folder, "--type"}, strings.Fields(kind)...)...)
	cmd.Env = []string{"HOME=" + folder}
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("%v\n%s", err, out)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	heads := make(map[string]string)
	for _, entry := range entries {
		if entry.IsDir() {
			continue
		}
		data, err := os.ReadFile(folder + "/" + entry.Name())
		if err != nil {
			t.Fatal(err)
		}
		heads[entry.Name()] = headOf(string(data))
	}
	if len(heads) == 0 {
		t.Fatal("nothing was written")
	}
	return heads
}

// helpCommands returns the commands that the help text of a program lists.
func helpCommands(t *testing.T, program string) []string {
	t.Helper()
	text, err := help(t.Context(), program, "")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(text, "Available Commands:\n")
	list, _, _ = strings.Cut(list, "\n\n")
	var commands []string
	for line := range strings.Lines(list) {
		commands = append(commands, strings.Fields(line)[0])
	}
	return commands
}
