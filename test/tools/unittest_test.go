// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package tools

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/binaries"
	"github.com/ordered-helm/helm/test/harness"
)

// unittestManifest is a plugin.yaml in the form of helm-unittest's releases.
const unittestManifest = `name: "unittest"
version: "1.1.2"
usage: "unittest for helm charts"
description: "Unit test for helm chart in YAML with ease to keep your chart functional and robust."
ignoreFlags: false
platformCommand:
  - command: "$HELM_PLUGIN_DIR/bin/program"
  - os: windows
    arch: amd64
    command: "$HELM_PLUGIN_DIR\\bin\\program.exe"
`

func unittestWorkspace(t *testing.T) *workspace {
	t.Helper()
	program := toolPath(t, "helm-unittest")
	w := newWorkspace(t)
	w.installPlugin(t, unittestManifest, program)
	return w
}

// TestUnittestOfExamples runs the suites in testdata/unittest on the example charts.
func TestUnittestOfExamples(t *testing.T) {
	t.Parallel()
	w := unittestWorkspace(t)
	suites, err := filepath.Abs(filepath.Join("testdata", "unittest"))
	harness.NoError(t, err)
	for chart, code := range map[string]int{
		"shop": 0, "umbrella": 0, "hooks": 0, "proposal-layers": 0,
		// Its Chart.yaml has a list as an annotation, which Helm's loader rejects.
		"proposal-subcharts": 1,
	} {
		t.Run(chart, func(t *testing.T) {
			out := w.expectExit(t, code, "helm", "unittest", harness.ExampleChart(t, chart), "--with-subchart=false", "--strict",
				"--file", filepath.Join(suites, chart+"_test.yaml"))
			if code != 0 {
				harness.ExpectContains(t, out, "cannot load Chart.yaml", "cannot unmarshal array")
				return
			}
			harness.ExpectContains(t, out, "1 passed, 1 total", "PASS")
		})
	}
}

// TestUnittestOwnExamples runs the suites of the example charts of helm-unittest, which are
// part of its module.
func TestUnittestOwnExamples(t *testing.T) {
	t.Parallel()
	w := unittestWorkspace(t)
	copied := filepath.Join(w.dir, "charts")
	harness.NoError(t, os.CopyFS(copied, os.DirFS(filepath.Join(moduleDir(t, "helm-unittest", "github.com/helm-unittest/helm-unittest"), "test", "data", "v3"))))
	for _, chart := range []string{
		"basic", "failing-template", "full-snapshot", "global-double-setting", "nested_glob", "with-crds",
		"with-disabled-subchart-on-condition", "with-disabled-subchart-on-tags", "with-document-select", "with-files",
		"with-helm-tests", "with-k8s-fake-client", "with-samenamesubsubcharts", "with-schema", "with-subchart",
		"with-subfolder", "with-subsubcharts",
	} {
		t.Run(chart, func(t *testing.T) {
			harness.ExpectContains(t, w.mustExec(t, "helm", "unittest", "--color", filepath.Join(copied, chart)), "Charts:", "passed")
		})
	}
}

// moduleDir returns the directory of a module that a tool requires.
func moduleDir(tb testing.TB, tool, module string) string {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), "go", "list", "-m", "-f", "{{.Dir}}", module)
	cmd.Dir = filepath.Join(binaries.Root(tb), "scripts", "tools", tool)
	out, err := cmd.Output()
	harness.NoError(tb, err)
	return strings.TrimSpace(string(out))
}
