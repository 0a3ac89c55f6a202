// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package helm4

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ordered-helm/helm/test/binaries"
	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/cluster"
	"github.com/ordered-helm/helm/test/harness"
)

func TestMain(m *testing.M) { cluster.Main(m) }

// commands contains the arguments of the commands that are tried with every chart. The path of
// the chart is added. Hooks that never end, and that no version of Helm waits for longer, have
// little time.
var commands = map[string][]string{
	"template": {"template", "rel"},
	"install":  {"install", "rel", "--timeout", "15s"},
	"lint":     {"lint"},
}

// run runs a program with one of the commands and a chart.
func run(t *testing.T, h *harness.Helm, program, command, chart string, more ...string) (text string, succeeded bool) {
	t.Helper()
	r := h.StartBinary(t, program, h.Namespace, slices.Concat(commands[command], []string{chart}, more)...).Wait(t)
	return r.Stdout + r.Stderr, r.ExitCode == 0
}

// uninstall removes what an install by Helm 4 has left, so that Ordered Helm can be tried.
func uninstall(t *testing.T, h *harness.Helm) {
	t.Helper()
	h.MustRunHelm4(t, "uninstall", "rel", "--ignore-not-found", "--no-hooks")
}

// TestForms checks the table in docs/helm-4.md about the forms in which charts can be written.
func TestForms(t *testing.T) {
	rows := readTable(t, "| in a chart | template | install | lint |")
	for name, chart := range spellings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			row, documented := rows[name]
			if !documented {
				t.Fatalf("%s has no row for it", page)
			}
			h, dir := harness.New(t), chart.Write(t)
			for i, command := range []string{"template", "install", "lint"} {
				checkForm(t, h, command, dir, row[i])
			}
		})
	}
	for name := range rows {
		if _, tested := spellings()[name]; !tested {
			t.Errorf("%s has a row that is not tested: %s", page, name)
		}
	}
}

// checkForm runs Helm 4 and checks a cell of the table, such as "works", "error: `text`" or
// "warning: `text`". Ordered Helm must succeed.
func checkForm(t *testing.T, h *harness.Helm, command, dir, cell string) {
	t.Helper()
	outcome, quoted, _ := strings.Cut(cell, ": ")
	text, succeeded := run(t, h, binaries.Get(t).Helm4, command, dir)
	if want := outcome != "error"; succeeded != want || !strings.Contains(text, strings.Trim(quoted, "`")) {
		t.Errorf("%s: got (success: %t)\n%s\nwant %s", command, succeeded, text, cell)
	}
	if outcome == "works" && strings.Contains(text, "WARNING") {
		t.Errorf("%s warns:\n%s", command, text)
	}
	if command == "lint" {
		return
	}
	uninstall(t, h)
	if text, succeeded := run(t, h, binaries.Get(t).Helm, command, dir); !succeeded {
		t.Errorf("%s by Ordered Helm:\n%s", command, text)
	}
}

// spellings returns the charts for the rows of the table.
func spellings() map[string]charts.Chart {
	const enabled = "icon: https://example.com/i.svg\nannotations:\n  helm.sh/sequencing: enabled\n"
	chart := func(metadata, annotation string) charts.Chart {
		return charts.Chart{APIVersion: "v2", Metadata: metadata, Values: "a: b\n", Objects: []charts.Object{
			{Name: "a", Layer: "a"}, {Name: "b", Layer: "b", Annotations: []string{annotation}},
		}}
	}
	const legal = "depends-on.helm.sh/layers: a"
	siblings := chart(enabled+"dependencies:\n  - {name: x, version: 0.1.0}\n  - {name: y, version: 0.1.0, depends-on: [x]}\n", legal)
	siblings.Subcharts = []charts.Chart{{Name: "x", APIVersion: "v2"}, {Name: "y", APIVersion: "v2"}}
	v3 := chart("icon: https://example.com/i.svg\n", legal)
	v3.APIVersion = "v3"
	return map[string]charts.Chart{
		"`apiVersion: v2`, `helm.sh/sequencing: enabled`, keys with one slash, lists as strings": chart(enabled+"  depends-on.helm.sh/subcharts: '[]'\n", legal),
		"`helm.sh/run-hooks-in-parallel` in the annotations of Chart.yaml":                       chart(enabled+"  helm.sh/run-hooks-in-parallel: \"true\"\n", legal),
		"`runHooksInParallel` in Chart.yaml":                                                     chart(enabled+"runHooksInParallel: true\n", legal),
		"`hookScope` in Chart.yaml":                                                              chart(enabled+"hookScope: chart\n", legal),
		"`helm.sh/hook-scope` in the annotations of Chart.yaml":                                  chart(enabled+"  helm.sh/hook-scope: chart\n", legal),
		"`depends-on` in `dependencies`":                                                         siblings,
		"`apiVersion: v3`":                                                                       v3,
		"a list in the annotations of Chart.yaml":                                                chart(enabled+"  depends-on.helm.sh/subcharts: []\n", legal),
		"a list in the annotations of a template":                                                chart(enabled, "depends-on.helm.sh/layers: [a]"),
		"a key with two slashes in a template":                                                   chart(enabled, "helm.sh/depends-on/layers: a"),
	}
}

// TestCharts checks that Helm 4 can render, install and lint the example charts, and all charts
// of the tests once Ordered Helm has packaged them, apart from those in the table in
// docs/helm-4.md. A chart with which Ordered Helm fails too is not in the table.
func TestCharts(t *testing.T) {
	documented := readTable(t, "| chart | commands | Helm 4 says |")
	var confirmed sync.Map
	t.Run("charts", func(t *testing.T) {
		for name, path := range allCharts(t) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				h := harness.New(t)
				for _, command := range slices.Sorted(maps.Keys(commands)) {
					key := name + " | " + command
					message := onlyHelm4Fails(t, h, command, path, documented[key])
					if message == "" {
						continue
					}
					if documented[key] == nil {
						t.Errorf("%s does not say that Helm 4 fails with %s:\n%s", page, command, message)
					}
					confirmed.Store(key, true)
				}
			})
		}
	})
	for key := range documented {
		if _, found := confirmed.Load(key); !found {
			t.Errorf("%s says that Helm 4 fails with %s, but it does not, or Ordered Helm fails too", page, key)
		}
	}
}

// onlyHelm4Fails runs a command with a chart, and returns the error message of Helm 4 if Helm 4
// fails and Ordered Helm does not. The message must contain the text in row, the row of the page,
// unless that is nil.
func onlyHelm4Fails(t *testing.T, h *harness.Helm, command, path string, row []string) string {
	t.Helper()
	message, succeeded := run(t, h, binaries.Get(t).Helm4, command, path)
	if succeeded {
		return ""
	}
	uninstall(t, h)
	var accept []string // the permissions for which scripts ask
	if command != "lint" {
		accept = []string{"--yes"}
	}
	if _, succeeded := run(t, h, binaries.Get(t).Helm, command, path, accept...); !succeeded {
		return ""
	}
	if len(row) > 0 && !strings.Contains(message, strings.Trim(row[0], "`")) {
		t.Errorf("%s: Helm 4 says\n%s\nwhereas %s quotes %s", command, message, page, row[0])
	}
	return message
}

// allCharts returns the paths of the charts by the names that the page uses.
func allCharts(t *testing.T) map[string]string {
	t.Helper()
	root := binaries.Root(t)
	found := map[string]string{}
	for _, pattern := range []string{"examples/*", "test/parity/testdata/charts/*"} {
		dirs, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern), "Chart.yaml"))
		harness.NoError(t, err)
		for _, file := range dirs {
			dir := filepath.Dir(file)
			name, err := filepath.Rel(root, dir)
			harness.NoError(t, err)
			name = "`" + filepath.ToSlash(name) + "`"
			if strings.HasPrefix(pattern, "examples/") {
				found[name] = dir
			}
			if archive := packaged(t, dir); archive != "" {
				found[name+", packaged"] = archive
			}
		}
	}
	archives, err := filepath.Glob(filepath.Join(root, "..", "shared", "charts", "*.tgz"))
	harness.NoError(t, err)
	for _, archive := range archives {
		found[filepath.Base(archive)] = archive
	}
	return found
}

// packaged returns the archive into which Ordered Helm packages a chart, or an empty string if
// the chart is invalid.
func packaged(t *testing.T, dir string) string {
	t.Helper()
	target := t.TempDir()
	r := (&harness.Helm{TB: t, Env: os.Environ()}).StartBinary(t, binaries.Get(t).Helm, "default", "package", dir, "--destination", target).Wait(t)
	if r.ExitCode != 0 {
		return ""
	}
	archives, err := filepath.Glob(filepath.Join(target, "*.tgz"))
	harness.NoError(t, err)
	return archives[0]
}
