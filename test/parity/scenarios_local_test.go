// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package parity

import "testing"

// TestWithoutCluster compares commands that need no cluster, or fail before they use one.
func TestWithoutCluster(t *testing.T) {
	t.Parallel()
	table := []scenario{
		{name: "version", steps: []step{
			helm("version"),
			helm("version --short"),
			helm("version --client"),
			helm("version -c --short"),
			helm("version --template", "{{.Version}} {{.GitCommit}} {{.GitTreeState}} {{.GoVersion}}"),
			helm("version --template", "{{.Nothing}}"),
			helm("version --template", "{{"),
			helm("version extra"),
		}, rules: []rule{
			pattern("commit", "stock is built with a fixed one, so that its binary is the same for every commit of ours", `\b[0-9a-f]{40}\b`, "COMMIT"),
			pattern("short commit", "see above", `\+g[0-9a-f]{7}\b`, "+gCOMMIT"),
			pattern("state of the checkout", "see above", `\b(?:clean|dirty)\b`, "STATE"),
		}},
		{name: "help on what is not there", steps: []step{helm("help instal")}, rules: []rule{
			pattern("help text after a mistake", "the help texts of Ordered Helm are different", `(?s)(Unknown help topic [^\n]*\n).*`, "$1")}},
		{name: "no such command or flag", steps: []step{
			helm("instal"),
			helm("instal web charts/plain"),
			helm("get nothing --revision x"),
			helm("list --no-such-flag"),
			helm("list -Z"),
			helm("install web charts/plain --timeout soon"),
			helm("status web --revision one"),
			helm("list -o xml"),
		}},
		{name: "wrong number of arguments", steps: []step{
			helm("install"),
			helm("install a b c"),
			helm("template"),
			helm("template a b c"),
			helm("uninstall"),
			helm("upgrade"),
			helm("upgrade a b c"),
			helm("rollback"),
			helm("history"),
			helm("history a b"),
			helm("list x"),
			helm("status"),
			helm("status a b"),
			helm("get all"),
			helm("get hooks"),
			helm("get manifest"),
			helm("get metadata"),
			helm("get notes"),
			helm("get values"),
			helm("get values a b"),
		}},
		{name: "unreachable cluster", env: []string{"HELM_KUBEAPISERVER=http://127.0.0.1:1"}, steps: []step{
			helm("install web charts/plain"),
			helm("install web charts/plain --dry-run"),
			helm("install web charts/plain --dry-run=server"),
			helm("template web charts/plain --validate"),
			helm("uninstall web"),
			helm("uninstall web --dry-run"),
			helm("upgrade web charts/plain"),
			helm("upgrade web charts/plain --install"),
			helm("upgrade web charts/plain --dry-run"),
			helm("rollback web"),
			helm("rollback web 1 --dry-run"),
			helm("history web"),
			helm("list"),
			helm("list --all-namespaces"),
			helm("status web"),
			helm("get all web"),
			helm("get values web"),
			helm("get metadata web"),
		}},
		{name: "kubeconfig and context that are not there", steps: []step{
			helm("list --kubeconfig nowhere/config"),
			helm("list --kube-context nowhere"),
			helm("install web charts/plain --kube-context nowhere"),
		}},
		{name: "klog flags", steps: []step{
			helm("template web charts/tiny --v=1 --logtostderr --alsologtostderr=false --stderrthreshold=2"),
			helm("template web charts/tiny -v 0"),
			helm("template web charts/tiny --v=x"),
		}},
		{name: "moved repository", steps: []step{
			writeFile{"repositories.yaml", "apiVersion: v1\nrepositories:\n- name: stable\n  url: https://kubernetes-charts.storage.googleapis.com\n"},
			helm("template web charts/tiny --repository-config repositories.yaml"),
			writeFile{"repositories.yaml", "not: [yaml"},
			helm("template web charts/tiny --repository-config repositories.yaml"),
		}},
		{name: "chart references", steps: []step{
			helm("template web charts/none"),
			helm("template web ./charts/none"),
			helm("template web /nowhere/chart"),
			helm("template web none"),
			helm("template web norepo/none"),
			helm("template web charts/empty"),
			helm("template web charts/nameless"),
			helm("template web charts/badversion"),
			helm("template web charts/badyaml"),
			helm("template web values/first.yaml"),
			helm("template web http://127.0.0.1:1/chart-1.0.0.tgz"),
			helm("template web chart --repo http://127.0.0.1:1"),
			helm("template web oci://127.0.0.1:1/chart --version 1.0.0 --plain-http"),
			helm("template web oci://127.0.0.1:1/chart --version 1.0.0 --ca-file nowhere.pem"),
			helm("template web oci://127.0.0.1:1/chart --version 1.0.0 --cert-file no.crt --key-file no.key"),
			helm("template web oci://127.0.0.1:1/chart --version 1.0.0 --ca-file values/first.yaml"),
			helm("template web charts/tiny --verify"),
		}},
	}
	for i := range table {
		table[i].noCluster = true
	}
	runScenarios(t, table)
}

// TestMemoryDriver compares commands that read releases from a file (HELM_DRIVER=memory).
func TestMemoryDriver(t *testing.T) {
	t.Parallel()
	table := []scenario{
		{name: "list by status", steps: []step{
			helm("list"), helm("ls"),
			helm("list --all"), helm("list -a"),
			helm("list --deployed"), helm("list --failed"), helm("list --pending"),
			helm("list --uninstalled"), helm("list --uninstalling"), helm("list --superseded"),
			helm("list --failed --uninstalled"),
			helm("list --all --failed"),
			helm("list -n elsewhere"),
			helm("list -n nowhere"),
		}},
		{name: "list by name", steps: []step{
			helm("list -a --filter", "^.eta$"),
			helm("list -a -f", "a{2,"),
			helm("list -a --filter nothing"),
		}},
		{name: "list in order and in pages", steps: []step{
			helm("list -a --reverse"), helm("list -a -r"),
			helm("list -a --date"), helm("list -a -d -r"),
			helm("list -a --max 2"), helm("list -a -m 3 --offset 2"),
			helm("list -a --offset 100"), helm("list -a --max 0"), helm("list -a --max -1"),
		}},
		{name: "list in formats", steps: []step{
			helm("list -a -o json"), helm("list -a -o yaml"), helm("list -a -o table"),
			helm("list -a -q"), helm("list -a -q -o json"), helm("list -a --short --output yaml"),
			helm("list -n nowhere -o json"), helm("list -n nowhere -o yaml"), helm("list -n nowhere -q -o json"), helm("list -n nowhere -q -o yaml"), helm("list -n nowhere -q"),
			helm("list -a --no-headers"), helm("list -n nowhere --no-headers"),
			helm("list -a --time-format", "2006-01-02 15:04"), helm("list -a -o json --time-format 2006"),
		}},
		{name: "list by label", steps: []step{
			helm("list -a -l team=web"),
			helm("list -a --selector", "team in (web"),
		}},
		{name: "status", steps: []step{
			helm("status alpha"), helm("status alpha --revision 1"), helm("status alpha --revision 9"),
			helm("status alpha --show-desc"), helm("status beta --show-desc"),
			helm("status alpha -o json"), helm("status alpha -o yaml"), helm("status alpha --show-desc -o yaml"),
			helm("status gamma"), helm("status delta"), helm("status epsilon"), helm("status iota"),
			helm("status nothing"), helm("status Not_A_Name"), helm("status omega"), helm("status omega -n elsewhere"),
		}},
		{name: "get all", steps: []step{
			helm("get all alpha"), helm("get all alpha --revision 1"), helm("get all nothing"), helm("get all alpha --revision 4"),
			helm("get all alpha --template", "{{.Release.Name}} {{.Release.Chart.Metadata.Version}} {{.Release.Info.Status}}"),
			helm("get all alpha --template", "{{.Release.Nothing}}"), helm("get all alpha --template", "{{"),
		}},
		{name: "get hooks", steps: []step{
			helm("get hooks alpha"), helm("get hooks alpha --revision 1"), helm("get hooks nothing"),
		}},
		{name: "get manifest", steps: []step{
			helm("get manifest alpha"), helm("get manifest alpha --revision 1"), helm("get manifest alpha --revision -1"), helm("get manifest nothing"),
		}},
		{name: "get metadata", steps: []step{
			helm("get metadata alpha"), helm("get metadata alpha --revision 1"), helm("get metadata nothing"),
			helm("get metadata alpha -o json"), helm("get metadata zeta -o yaml"), helm("get metadata zeta"),
		}},
		{name: "get notes", steps: []step{
			helm("get notes alpha"), helm("get notes alpha --revision 1"), helm("get notes zeta"), helm("get notes nothing"),
		}},
		{name: "get values", steps: []step{
			helm("get values alpha"), helm("get values alpha --revision 1"), helm("get values zeta"), helm("get values nothing"),
			helm("get values alpha --all"), helm("get values alpha -a -o json"), helm("get values alpha -o yaml"),
			helm("get values zeta -o json"), helm("get values zeta -o yaml"), helm("get values zeta --all -o yaml"),
		}},
		{name: "debug lines", rules: []rule{debugHead}, steps: []step{
			helm("list -a --debug"), helm("status alpha --debug"), helm("get notes alpha").withEnv("HELM_DEBUG=true"),
		}},
		{name: "uninstall", steps: []step{
			helm("uninstall alpha"), helm("uninstall nothing"), helm("uninstall nothing --ignore-not-found"),
			helm("uninstall alpha --keep-history"), helm("uninstall delta"), helm("uninstall delta --keep-history"), helm("uninstall alpha beta"), helm("uninstall alpha nothing zeta"),
			helm("uninstall alpha --dry-run"), helm("uninstall nothing --dry-run"), helm("uninstall nothing --dry-run --ignore-not-found"), helm("uninstall delta --dry-run"),
			helm("uninstall Not_A_Name"), helm("uninstall alpha --cascade sideways"), helm("uninstall alpha --cascade="),
			helm("uninstall epsilon").forced(), helm("uninstall gamma").forced(),
			helm("del alpha"), helm("delete alpha"), helm("un alpha"), helm("rm alpha"), helm("remove alpha"),
			helm("uninstall alpha --wait --timeout 1s"), helm("uninstall alpha --wait=0"),
		}},
		{name: "files of releases", steps: []step{
			helm("list -a").withEnv("HELM_MEMORY_DRIVER_DATA=memory/releases.yaml:memory/bare.yaml"),
			helm("status bare").withEnv("HELM_MEMORY_DRIVER_DATA=memory/bare.yaml"),
			helm("get notes bare").withEnv("HELM_MEMORY_DRIVER_DATA=memory/bare.yaml"),
			helm("get values bare").withEnv("HELM_MEMORY_DRIVER_DATA=memory/bare.yaml"),
		}},
	}
	for i := range table {
		table[i].noCluster = true
		table[i].env = []string{"HELM_DRIVER=memory", "HELM_MEMORY_DRIVER_DATA=memory/releases.yaml"}
	}
	runScenarios(t, table)
}
