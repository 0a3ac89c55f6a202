// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package tools

import (
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// diffManifest is a plugin.yaml in the form of helm-diff's releases.
const diffManifest = `name: diff
version: "3.9.11"
usage: "Preview helm upgrade changes as a diff"
description: "Preview helm upgrade changes as a diff"
useTunnel: true
command: "$HELM_PLUGIN_DIR/bin/program"
`

// diffWorkspace returns a workspace with the plugin helm-diff.
func diffWorkspace(t *testing.T) *workspace {
	t.Helper()
	diff := toolPath(t, "helm-diff")
	w := newWorkspace(t)
	w.installPlugin(t, diffManifest, diff)
	return w
}

// TestHelmDiffOfOrderedRelease checks that helm-diff shows the changes of an upgrade of an
// ordered release, and none if there are none, in each of the ways in which it asks helm for
// the new manifest.
func TestHelmDiffOfOrderedRelease(t *testing.T) {
	t.Parallel()
	chart := charts.FullChart(t)
	for name, ways := range map[string]struct{ env, args []string }{
		"template":        {},
		"template server": {args: []string{"--dry-run=server"}},
		"no hooks":        {args: []string{"--no-hooks"}},
		"include tests":   {args: []string{"--include-tests"}},
		"normalize":       {args: []string{"--normalize-manifests"}},
		// With a three-way merge, helm-diff reports deleted hooks as added.
		"three-way merge": {args: []string{"--three-way-merge", "--no-hooks"}},
		"upgrade dry run": {env: []string{"HELM_DIFF_USE_UPGRADE_DRY_RUN=true"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := diffWorkspace(t)
			diff := func(value string) harness.Result {
				args := append([]string{"diff", "upgrade", "rel", chart, "--namespace", w.Namespace, "--allow-unreleased", "--detailed-exitcode",
					"--set", "value=" + value + ",backend.value=" + value}, ways.args...)
				return w.execWith(t, ways.env, "helm", args...)
			}
			if r := diff("one"); r.ExitCode != 2 || !strings.Contains(r.Stdout, "has been added") {
				t.Errorf("before the installation: exit code %d\n%s%s", r.ExitCode, r.Stdout, r.Stderr)
			}
			w.MustRun(charts.FullChartArgs("install", chart, "one")...)
			if r := diff("one"); r.ExitCode != 0 {
				t.Errorf("without changes: exit code %d\n%s%s", r.ExitCode, r.Stdout, r.Stderr)
			}
			r := diff("two")
			if r.ExitCode != 2 {
				t.Errorf("with changes: exit code %d\n%s%s", r.ExitCode, r.Stdout, r.Stderr)
			}
			harness.ExpectContains(t, r.Stdout, "+ ", "two", "- ", "one", "has changed")
		})
	}
}

// TestHelmDiffOfRevisions compares the revisions of an ordered release.
func TestHelmDiffOfRevisions(t *testing.T) {
	t.Parallel()
	w := diffWorkspace(t)
	chart := charts.FullChart(t)
	w.MustRun(charts.FullChartArgs("install", chart, "one")...)
	w.MustRun(charts.FullChartArgs("upgrade", chart, "two")...)
	harness.ExpectContains(t, w.mustExec(t, "helm", "diff", "revision", "rel", "1", "2"), "one", "two", "has changed")
	harness.ExpectContains(t, w.expectExit(t, 2, "helm", "diff", "rollback", "rel", "1", "--detailed-exitcode"), "one", "two", "has changed")
	w.MustRun("rollback", "rel", "1")
	w.expectExit(t, 0, "helm", "diff", "revision", "rel", "1", "3", "--detailed-exitcode")
}

// TestHelmDiffOfLegalForm compares a release whose chart declares its order with lists and
// with keys that Kubernetes rejects. Both manifests have the legal form, so they are equal.
func TestHelmDiffOfLegalForm(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"proposal-layers", "proposal-subcharts"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := diffWorkspace(t)
			chart := harness.ExampleChart(t, name)
			w.MustRun("install", "rel", chart, "--wait=ordered", "--readiness-timeout", "1m")
			w.expectExit(t, 0, "helm", "diff", "upgrade", "rel", chart, "--detailed-exitcode")
		})
	}
}
