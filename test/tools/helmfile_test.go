// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package tools

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// state is a helmfile.yaml with two releases, of which web needs database. Both charts have an
// order.
type state struct {
	// defaults are the lines of helmDefaults.
	defaults []string
	// database and web are the paths of the charts.
	database, web string
	// value is a value that both charts use.
	value string
}

func (s state) text(namespace string) string {
	var b strings.Builder
	if len(s.defaults) > 0 {
		b.WriteString("helmDefaults:\n")
	}
	for _, line := range s.defaults {
		b.WriteString("  " + line + "\n")
	}
	fmt.Fprintf(&b, `releases:
  - name: web
    namespace: %[1]s
    chart: %[3]s
    needs: [%[1]s/database]
    values: [{value: %[4]s}]
  - name: database
    namespace: %[1]s
    chart: %[2]s
    values: [{value: %[4]s}]
`, namespace, s.database, s.web, s.value)
	return b.String()
}

// releaseChart writes a chart of three layers, whose objects have a prefix.
func releaseChart(tb testing.TB, prefix string) string {
	tb.Helper()
	const value = "{{ .Values.value }}"
	return charts.Chart{Name: prefix, Objects: []charts.Object{
		{Name: prefix + "-first", Layer: "first", Value: value},
		{Kind: "Deployment", Name: prefix + "-app", Layer: "app", DependsOn: "first", Value: value, Annotations: charts.LongTimeout},
		{Name: prefix + "-last", Layer: "last", DependsOn: "app", Value: value},
	}}.Write(tb)
}

// TestHelmfile runs the commands of helmfile on two releases, in each of the ways in which
// helmfile can be told to deploy in order. Both the order of the releases and the order in
// each release must be kept.
func TestHelmfile(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ defaults, env []string }{
		"syncArgs":            {defaults: []string{`syncArgs: ["--wait=ordered"]`}},
		"wait and syncArgs":   {defaults: []string{"wait: true", "timeout: 120", `syncArgs: ["--wait=ordered", "--readiness-timeout=1m"]`}},
		"atomic and syncArgs": {defaults: []string{"atomic: true", "cleanupOnFail: true", `syncArgs: ["--wait=ordered"]`}},
		"HELM_WAIT":           {defaults: []string{"wait: true"}, env: []string{"HELM_WAIT=ordered"}},
		"atomic, HELM_WAIT":   {defaults: []string{"atomic: true"}, env: []string{"HELM_WAIT=ordered"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			helmfile := toolPath(t, "helmfile")
			w := diffWorkspace(t)
			w.Env = append(w.Env, test.env...)
			s := state{defaults: test.defaults, database: releaseChart(t, "database"), web: releaseChart(t, "web")}
			use := func(value string) {
				s.value = value
				w.write(t, map[string]string{"helmfile.yaml": s.text(w.Namespace)})
				w.Started = harness.Now()
			}

			use("one")
			harness.ExpectContains(t, w.expectExit(t, 2, helmfile, "diff", "--detailed-exitcode"), "database-app", "web-app", "has been added")
			w.mustExec(t, helmfile, "sync")
			w.checkReleases(t)
			harness.ExpectContains(t, w.mustExec(t, helmfile, "list"), "database", "web", "true")
			harness.ExpectContains(t, w.expectExit(t, 0, helmfile, "status"), "STATUS: deployed")
			w.expectExit(t, 0, helmfile, "diff", "--detailed-exitcode")

			use("two")
			w.expectExit(t, 2, helmfile, "diff", "--detailed-exitcode")
			w.mustExec(t, helmfile, "apply")
			w.checkReleases(t)
			w.ExpectStatuses(t, "web", "superseded deployed")

			w.mustExec(t, helmfile, "apply") // nothing has changed
			w.ExpectStatuses(t, "web", "superseded deployed")

			w.Started = harness.Now()
			w.mustExec(t, helmfile, "destroy")
			w.checkDestroyed(t)
		})
	}
}

// checkReleases checks the order in which the objects of both releases were created or
// changed.
func (w *workspace) checkReleases(t *testing.T) {
	t.Helper()
	recorded := w.ReadTrace(t)
	o := &harness.Order{}
	for _, name := range []string{"database", "web"} {
		if last := w.LastRevision(t, name); last.Info.Status != "deployed" || harness.Record(last) == nil {
			t.Errorf("release %s is %s, and has the order record %q", name, last.Info.Status, harness.Record(last))
		}
		w.CheckOrder(t, name, recorded)
		o.AddManifest(t, w.LastRevision(t, name).Manifest)
	}
	o.SubtreeAfter = [][2]string{{"web", "database"}}
	if pairs := o.CheckChanges(t, recorded, w.Started); pairs < 9 {
		t.Errorf("only %d pairs of objects had an order", pairs)
	}
}

// checkDestroyed checks the order in which the objects of both releases were deleted.
func (w *workspace) checkDestroyed(t *testing.T) {
	t.Helper()
	w.ExpectEmptyNamespace(t)
	deleted := w.ReadTrace(t).Since(w.Started)
	order := []string{"ConfigMap/web-last", "Deployment/web-app", "ConfigMap/web-first", "ConfigMap/database-last", "Deployment/database-app", "ConfigMap/database-first"}
	for i, id := range order[1:] {
		_, gone := deleted.Deleted(order[i])
		first, _ := deleted.Deleted(id)
		if gone.IsZero() || first.Before(gone) {
			t.Errorf("%s was deleted at %s, before %s was gone (%s)", id, first, order[i], gone)
		}
	}
}

// TestHelmfileCommands runs commands of helmfile that do not change the cluster.
func TestHelmfileCommands(t *testing.T) {
	t.Parallel()
	helmfile := toolPath(t, "helmfile")
	w := diffWorkspace(t)
	s := state{database: releaseChart(t, "database"), web: releaseChart(t, "web"), value: "one"}
	w.write(t, map[string]string{"helmfile.yaml": s.text(w.Namespace)})
	harness.ExpectContains(t, w.mustExec(t, helmfile, "lint"), "1 chart(s) linted, 0 chart(s) failed")
	harness.ExpectContains(t, w.mustExec(t, helmfile, "template"), "name: database-app", "name: web-app")
	harness.ExpectContains(t, w.mustExec(t, helmfile, "template", "--args=--wait=ordered"), "## START layer: database first", "## START layer: web last")
	harness.ExpectContains(t, w.mustExec(t, helmfile, "build"), "needs:")
}

// TestHelmfileFailure checks that a release is not deployed if the order of a release that it
// needs fails.
func TestHelmfileFailure(t *testing.T) {
	t.Parallel()
	helmfile := toolPath(t, "helmfile")
	w := diffWorkspace(t)
	s := state{defaults: []string{`syncArgs: ["--wait=ordered"]`}, database: charts.HangingChart(t, "1s"), web: releaseChart(t, "web"), value: "one"}
	w.write(t, map[string]string{"helmfile.yaml": s.text(w.Namespace)})
	out := w.expectExit(t, 1, helmfile, "apply")
	harness.ExpectContains(t, out, "Pod/never was not ready within 1s", "skipped (blocked by this failure)")
	w.ExpectStatuses(t, "database", "failed")
	if list, err := w.Storage().ListReleases(); err != nil || len(list) != 1 {
		t.Errorf("%d releases exist (%v), want only database", len(list), err)
	}
}

// TestHelmfileSecrets deploys a release with an encrypted values file, which helmfile decrypts
// with the plugin helm-secrets.
func TestHelmfileSecrets(t *testing.T) {
	t.Parallel()
	helmfile := toolPath(t, "helmfile")
	w := diffWorkspace(t)
	w.installSecrets(t, "value: secret\n")
	s := state{defaults: []string{`syncArgs: ["--wait=ordered"]`}, database: releaseChart(t, "database"), web: releaseChart(t, "web"), value: "one"}
	w.write(t, map[string]string{"helmfile.yaml": s.text(w.Namespace) + "    secrets: [secrets.yaml]\n"})
	w.Started = harness.Now()
	w.mustExec(t, helmfile, "apply")
	w.checkReleases(t)
	if got := harness.ValueOf(w.Get(t, "ConfigMap/database-first")); got != "secret" {
		t.Errorf("the value is %q", got)
	}
}

// TestHelmfileAdditionalDependency deploys a release to which helmfile.yaml adds a dependency.
// For this, helmfile renders the chart, and deploys a copy that consists of the result.
func TestHelmfileAdditionalDependency(t *testing.T) {
	t.Parallel()
	helmfile := toolPath(t, "helmfile")
	w := diffWorkspace(t)
	s := state{defaults: []string{`syncArgs: ["--wait=ordered"]`}, database: releaseChart(t, "database"), web: releaseChart(t, "web"), value: "one"}
	harness.NoError(t, os.CopyFS(filepath.Join(w.dir, "extra"), os.DirFS(releaseChart(t, "extra"))))
	w.write(t, map[string]string{"helmfile.yaml": s.text(w.Namespace) + "    dependencies: [{chart: ./extra, version: 0.1.0}]\n"})
	w.Started = harness.Now()
	w.mustExec(t, helmfile, "sync")
	w.checkReleases(t)
	w.ExpectManifestObjects(t, "database")
	harness.ExpectContains(t, w.LastRevision(t, "database").Manifest, "name: extra-app")
}

// TestHelmfileArgs checks which commands of helmfile work if --wait=ordered is in
// helmDefaults.args instead of helmDefaults.syncArgs. helmfile adds these arguments to most
// calls of helm and helm-diff, also to those without the flag.
func TestHelmfileArgs(t *testing.T) {
	t.Parallel()
	helmfile := toolPath(t, "helmfile")
	w := diffWorkspace(t)
	s := state{defaults: []string{`args: ["--wait=ordered"]`}, database: releaseChart(t, "database"), web: releaseChart(t, "web"), value: "one"}
	w.write(t, map[string]string{"helmfile.yaml": s.text(w.Namespace)})
	w.Started = harness.Now()
	w.mustExec(t, helmfile, "sync")
	w.checkReleases(t)
	for _, command := range []string{"diff", "status"} {
		harness.ExpectContains(t, w.expectExit(t, 1, helmfile, command), "unknown flag: --wait")
	}
}
