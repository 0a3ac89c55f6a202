// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package tools

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// ctWithoutPython switches off the checks of ct for which it calls tools written in Python,
// and the check of maintainers, for which it calls GitHub.
var ctWithoutPython = []string{"--validate-chart-schema=false", "--validate-yaml=false", "--validate-maintainers=false"}

// ctWorkspace returns a workspace with a git repository, as ct requires it, that contains the
// chart shop with a higher version than in the branch main, and the path of ct.
func ctWorkspace(t *testing.T) (w *workspace, ct string) {
	t.Helper()
	ct = toolPath(t, "chart-testing")
	w = newWorkspace(t)
	w.Env = append(w.Env, "GIT_AUTHOR_NAME=test", "GIT_AUTHOR_EMAIL=test@example.com", "GIT_COMMITTER_NAME=test", "GIT_COMMITTER_EMAIL=test@example.com")
	chart := charts.FullChart(t)
	charts.AddFile(t, chart, "templates/test.yaml", charts.Object{Kind: "Pod", Name: "check", Hook: "test"}.Manifest())
	w.mustExec(t, "git", "init", "--quiet", "--initial-branch", "main")
	harness.NoError(t, os.CopyFS(filepath.Join(w.dir, "all", "app"), os.DirFS(chart)))
	commit := func(message string) {
		w.mustExec(t, "git", "add", ".")
		w.mustExec(t, "git", "commit", "--quiet", "--message", message)
	}
	commit("first version")
	w.mustExec(t, "git", "remote", "add", "origin", w.dir)
	w.mustExec(t, "git", "fetch", "--quiet", "origin")
	w.mustExec(t, "git", "checkout", "--quiet", "-b", "change")
	charts.Edit(t, filepath.Join(w.dir, "all", "app"), "Chart.yaml", "version: 0.1.0", "version: 0.1.1")
	charts.Edit(t, filepath.Join(w.dir, "all", "app"), "values.yaml", "'0'", "'1'")
	commit("second version")
	return w, ct
}

// TestChartTestingLint runs `ct lint`, which runs `helm dependency build` and `helm lint` for
// each chart that has changed.
func TestChartTestingLint(t *testing.T) {
	t.Parallel()
	w, ct := ctWorkspace(t)
	args := append([]string{"lint", "--chart-dirs", "all", "--target-branch", "main"}, ctWithoutPython...)
	out := w.mustExec(t, ct, args...)
	harness.ExpectContains(t, out, "1 chart(s) linted, 0 chart(s) failed", "All charts linted successfully")
	charts.Edit(t, filepath.Join(w.dir, "all", "app"), "templates/all.yaml", `depends-on.helm.sh/layers: "app,work"`, `depends-on.helm.sh/layers: "ap,work"`)
	harness.ExpectContains(t, w.mustExec(t, ct, append(args, "--helm-lint-extra-args=--quiet")...), `"ap"`)
}

// TestChartTestingInstall runs `ct install`, which installs each chart that has changed, waits
// for its Deployments, runs its tests and uninstalls it.
func TestChartTestingInstall(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args, env []string
		ordered   bool
	}{
		"install":         {},
		"upgrade":         {args: []string{"--upgrade"}},
		"ordered install": {env: []string{"HELM_WAIT=ordered"}, ordered: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, ct := ctWorkspace(t)
			w.Env = append(w.Env, test.env...)
			w.Started = harness.Now()
			args := append([]string{"install", "--chart-dirs", "all", "--target-branch", "main", "--debug",
				"--namespace", w.Namespace, "--release-name", "rel"}, test.args...)
			harness.ExpectContains(t, w.mustExec(t, ct, args...), "All charts installed successfully", "Phase:          Succeeded")
			w.ExpectNoReleases(t)
			if test.ordered {
				o := &harness.Order{OwnAfter: [][2]string{{"app", "app/backend"}}}
				o.AddManifest(t, w.MustRun("template", "rel", filepath.Join(w.dir, "all", "app"), "--no-hooks").Stdout)
				recorded := w.ReadTrace(t).Since(w.Started)
				o.CheckInstall(t, recorded, 9)
				o.CheckUninstall(t, recorded)
			}
		})
	}
}

// TestChartTestingLintOfExamples runs `ct lint` on the example charts. Their dependencies are
// not built, because not all of them exist.
func TestChartTestingLintOfExamples(t *testing.T) {
	t.Parallel()
	w, ct := ctWorkspace(t)
	for _, chart := range []string{"shop", "umbrella", "hooks", "proposal-layers", "proposal-subcharts"} {
		args := append([]string{"lint", "--charts", harness.ExampleChart(t, chart), "--target-branch", "main", "--check-version-increment=false", "--skip-helm-dependencies"}, ctWithoutPython...)
		harness.ExpectContains(t, w.mustExec(t, ct, args...), "All charts linted successfully")
	}
}
