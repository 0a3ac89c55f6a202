// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/release"
	helmtime "helm.sh/helm/v3/pkg/time"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/pkg/action"
	"github.com/ordered-helm/helm/pkg/chart/loader"
)

const (
	orderedChart = "apiVersion: v3\nname: shop\nversion: 1.0.0\n"
	layers       = `apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-web
  namespace: {{ .Release.Namespace }}
  annotations:
    helm.sh/layer: web
    helm.sh/depends-on/layers: [{{ .Values.after | default "database" }}]
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-database
  annotations:
    helm.sh/layer: database
`
)

func TestDagOfAChart(t *testing.T) {
	chart := writeChart(t, map[string]string{"Chart.yaml": orderedChart, "templates/layers.yaml": layers})
	tests := []struct {
		name   string
		args   []string
		code   int
		stdout []string // in this order
		stderr string
	}{
		{name: "order", stdout: []string{"batch 1", "ConfigMap/release-name-database", "batch 2", "ConfigMap/release-name-web"}},
		{name: "layer that does not exist", args: []string{"--set", "after=queue"},
			stdout: []string{"ConfigMap/release-name-web"}, stderr: "WARNING: "},
		{name: "cycle", args: []string{"--set", "after=web"}, code: 1, stderr: "Error: dependency cycle"},
		{name: "values that are not there", args: []string{"-f", "none.yaml"}, code: 1, stderr: "Error: open none.yaml"},
		{name: "two charts", args: []string{"another"}, code: 1, stderr: `Error: "helm dag" accepts at most 1 argument`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := runHelm(t, append([]string{"dag", chart}, tt.args...)...)
			if got.code != tt.code {
				t.Errorf("exit code %d, want %d: %s", got.code, tt.code, got.stderr)
			}
			if !containsInOrder(got.stdout, tt.stdout) {
				t.Errorf("stdout:\n%s\nhas not, in this order: %q", got.stdout, tt.stdout)
			}
			if !strings.HasPrefix(got.stderr, tt.stderr) || tt.stderr == "" && got.stderr != "" {
				t.Errorf("stderr %q does not begin with %q", got.stderr, tt.stderr)
			}
		})
	}
}

// TestKeysAsWritten checks that reasons and errors quote the keys that are in the templates, and
// not their canonical forms.
func TestKeysAsWritten(t *testing.T) {
	const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, annotations: {helm.sh/layer: %[1]s, %s}}\n---\n"
	written := []string{
		"helm.sh/depends-on/layers", "depends-on.helm.sh/layers", "helm.sh/depends-on/resource-groups", "depends-on.helm.sh/resource-groups",
	}
	template := fmt.Sprintf(configMap, "database", "a: b")
	for i, key := range written {
		template += fmt.Sprintf(configMap, fmt.Sprint("web", i), key+": [{{ .Values.after | default \"database\" }}{{ .Values.more }}]")
	}
	// The items of a list, and two keys in one object.
	template += "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: item, annotations: {helm.sh/depends-on/layers: web0, helm.sh/depends-on/resource-groups: web1}}}\n"
	chart := writeChart(t, map[string]string{"Chart.yaml": orderedChart, "templates/all.yaml": template})
	got := runHelm(t, "dag", chart, "--reasons")
	for i, key := range written {
		if want := fmt.Sprintf("shop/templates/all.yaml: ConfigMap/web%d: %s: database\n", i, key); !strings.Contains(got.stdout, want) {
			t.Errorf("got:\n%s%s\nwant in it: %s", got.stdout, got.stderr, want)
		}
	}
	for _, want := range []string{"ConfigMap/item: helm.sh/depends-on/layers: web0\n", "ConfigMap/item: helm.sh/depends-on/resource-groups: web1\n"} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("got:\n%s\nwant in it: %s", got.stdout, want)
		}
	}
	for i, key := range written {
		for _, flag := range []string{fmt.Sprintf("after=web%d", i), "more=' x y'"} {
			got := runHelm(t, "dag", chart, "--set", flag)
			if got.code == 0 || !strings.Contains(got.stderr, key+")") && !strings.Contains(got.stderr, fmt.Sprintf("ConfigMap/web%d: %s: ", i, key)) {
				t.Errorf("%s: got %+v, want %s", flag, got, key)
			}
		}
	}
}

func TestDagOfTheCurrentFolder(t *testing.T) {
	t.Chdir(writeChart(t, map[string]string{"Chart.yaml": orderedChart, "templates/layers.yaml": layers}))
	if got := runHelm(t, "dag"); got.code != 0 || !strings.Contains(got.stdout, "batch 2") {
		t.Errorf("%+v", got)
	}
}

func TestDagWarnsOfWhatIsDeployedTooLate(t *testing.T) {
	chart := writeChart(t, map[string]string{"Chart.yaml": orderedChart, "templates/trap.yaml": `apiVersion: v1
kind: Pod
metadata:
  name: web
  annotations:
    helm.sh/layer: web
spec:
  containers:
    - name: web
      image: web
      envFrom:
        - secretRef: {name: password}
---
apiVersion: v1
kind: Secret
metadata:
  name: password
`})
	got := runHelm(t, "dag", chart)
	if got.code != 0 || !strings.Contains(got.stderr, "WARNING: Pod/web") || !strings.Contains(got.stderr, "Secret/password") {
		t.Errorf("%+v", got)
	}
}

// chartWithLateHook is a chart with a subchart db whose hook runs after app, which depends on db.
func chartWithLateHook() map[string]string {
	configMap := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: "
	return map[string]string{
		"Chart.yaml":                     "apiVersion: v3\nname: shop\nversion: 1.0.0\ndependencies:\n- {name: db, version: 1.0.0}\n- {name: app, version: 1.0.0, depends-on: [db]}\n",
		"charts/db/Chart.yaml":           "apiVersion: v2\nname: db\nversion: 1.0.0\n",
		"charts/db/templates/db.yaml":    configMap + "db\n",
		"charts/db/templates/hook.yaml":  configMap + "migrated\n  annotations: {helm.sh/hook: 'post-install,post-upgrade'}\n",
		"charts/app/Chart.yaml":          "apiVersion: v2\nname: app\nversion: 1.0.0\n",
		"charts/app/templates/app.yaml":  configMap + "app\n",
		"charts/app/templates/hook.yaml": configMap + "started\n  annotations: {helm.sh/hook: post-install}\n",
	}
}

// TestDagNotesLateHooks checks that dag says of charts and releases which hooks run late, and prints that
// to standard error, whatever the format.
//   - "helm dag prints a note about this to standard error"
func TestDagNotesLateHooks(t *testing.T) {
	const note = "NOTE: the hook ConfigMap/migrated (post-install, post-upgrade) of chart shop/db runs only after all resources of the release, " +
		"although chart shop/app depends on chart shop/db: to run it before that, set hookScope: chart for chart shop/db; hookScope: release says that the order is intended\n"
	chart := writeChart(t, chartWithLateHook())
	t.Setenv("HELM_DRIVER", "memory")
	t.Setenv("HELM_MEMORY_DRIVER_DATA", store(t, revisionOf(t, chart, 1, action.WaitStrategyOrdered)))
	for _, args := range [][]string{{chart}, {chart, "-o", "json"}, {chart, "--is-upgrade"}, {"shop"}, {chart, "--diff", "shop"}} {
		if got := runHelm(t, append([]string{"dag"}, args...)...); got.code != 0 || got.stderr != note || strings.Contains(got.stdout, "NOTE") {
			t.Errorf("%s: %+v", args, got)
		}
	}
	mended := chartWithLateHook()
	mended["Chart.yaml"] = strings.Replace(mended["Chart.yaml"], "db, version: 1.0.0}", "db, version: 1.0.0, hookScope: chart}", 1)
	if got := runHelm(t, "dag", writeChart(t, mended)); got.code != 0 || got.stderr != "" {
		t.Errorf("with hookScope: %+v", got)
	}
}

func TestDagOfARelease(t *testing.T) {
	t.Setenv("HELM_DRIVER", "memory")
	t.Setenv("HELM_MEMORY_DRIVER_DATA", storeReleases(t))
	t.Chdir(t.TempDir())
	tests := []struct {
		name, line     string
		code           int
		stdout, stderr string
	}{
		{name: "by name", line: "dag shop", stdout: "ConfigMap/shop-web"},
		{name: "by revision", line: "dag shop --revision 2", stdout: "ConfigMap/shop-web"},
		{name: "not deployed in order", line: "dag shop --revision 1", code: 1,
			stderr: `revision 1 of release "shop" was not deployed in order and has no graph: "helm dag CHART" prints`},
		{name: "revision that is not there", line: "dag shop --revision 3", code: 1, stderr: `revision 3 of release "shop" not found in namespace "default": release: not found`},
		{name: "revision of what is not there", line: "dag --revision 1 stop", code: 1, stderr: `revision 1 of release "stop" not found`},
		{name: "neither chart nor release", line: "dag stop", code: 1, stderr: `neither a chart at ./stop nor a release "stop" found in namespace "default"`},
		{name: "said to be a release", line: "dag --release ./shop", code: 1, stderr: "Release name is invalid: ./shop"},
		{name: "said to be a release, and not there", line: "dag --release stop", code: 1, stderr: `release "stop" not found in namespace "default"`},
		{name: "values with a revision", line: "dag shop --revision 2 --set a=b", code: 1, stderr: "--set cannot be used with a release: remove --set, or remove --release and --revision"},
		{name: "values", line: "dag shop --set a=b", code: 1, stderr: `no chart at ./shop, and --set applies only to charts`},
		{name: "version", line: "dag shop --version 1.0.0", code: 1, stderr: `no chart at ./shop, and --version applies only to charts`},
		{name: "global flag", line: "dag shop --namespace default --burst-limit 3", stdout: "ConfigMap/shop-web"},
		{name: "repository", line: "dag shop --repo http://127.0.0.1:1", code: 1, stderr: "http://127.0.0.1:1"},
		{name: "nothing with a revision", line: "dag --revision 2", code: 1, stderr: "require the name of a release"},
		{name: "package", line: "dag shop.tgz", code: 1, stderr: "shop.tgz"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := runHelm(t, strings.Fields(tt.line)...)
			if got.code != tt.code || !strings.Contains(got.stdout, tt.stdout) || !strings.Contains(got.stderr, tt.stderr) {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestDagOfACopiedOrder(t *testing.T) {
	t.Setenv("HELM_DRIVER", "memory")
	t.Setenv("HELM_MEMORY_DRIVER_DATA", storeHistory(t))
	t.Chdir(t.TempDir())
	for line, want := range map[string]outcome{
		"dag shop --revision 3": {code: 1, stderr: "Error: " + damagedRecord},
		"dag shop":              {stderr: "WARNING: revision 4 of release \"shop\" was not deployed in this order"},
	} {
		if got := runHelm(t, strings.Fields(line)...); got.code != want.code || !strings.HasPrefix(got.stderr, want.stderr) {
			t.Errorf("%s: %+v", line, got)
		}
	}
}

func TestDagWhereChartAndReleaseHaveOneName(t *testing.T) {
	t.Setenv("HELM_DRIVER", "memory")
	t.Setenv("HELM_MEMORY_DRIVER_DATA", storeReleases(t))
	chart := writeChart(t, map[string]string{"Chart.yaml": orderedChart, "templates/layers.yaml": layers})
	t.Chdir(filepath.Dir(chart))
	if err := os.Rename("chart", "shop"); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"dag shop":           "ConfigMap/release-name-web",
		"dag shop --release": "ConfigMap/shop-web",
	} {
		if got := runHelm(t, strings.Fields(line)...); got.code != 0 || !strings.Contains(got.stdout, want) {
			t.Errorf("%s: %+v", line, got)
		}
	}
}

func TestDagWithoutACluster(t *testing.T) {
	t.Chdir(t.TempDir())
	got := runHelm(t, "dag", "shop")
	if got.code != 1 || !strings.Contains(got.stderr, `there is no chart at ./shop, and reading release "shop" failed: Kubernetes cluster unreachable`) {
		t.Errorf("%+v", got)
	}
}

// storeReleases writes a file for the storage driver "memory" and returns its path. The file
// contains two revisions of a release, the second of which is ordered.
func storeReleases(t *testing.T) string {
	t.Helper()
	return store(t, revision(t, 1, action.WaitStrategyNone), revision(t, 2, action.WaitStrategyOrdered))
}

// revision returns a revision of the release "shop" as if it had been deployed with the given
// strategy.
func revision(t *testing.T, number int, strategy action.WaitStrategy) *release.Release {
	t.Helper()
	return revisionOf(t, writeChart(t, map[string]string{"Chart.yaml": orderedChart, "templates/layers.yaml": layers}), number, strategy)
}

// revisionOf is like revision, for the chart in a directory.
func revisionOf(t *testing.T, chart string, number int, strategy action.WaitStrategy) *release.Release {
	t.Helper()
	chrt, err := loader.Load(chart)
	if err != nil {
		t.Fatal(err)
	}
	install := action.NewInstall(&action.Configuration{Log: t.Logf})
	install.ClientOnly, install.DryRun = true, true
	install.ReleaseName, install.Namespace = "shop", "default"
	install.WaitStrategy = strategy
	rel, err := install.RunWithContext(t.Context(), chrt, nil)
	if err != nil {
		t.Fatal(err)
	}
	rel.Version = number
	setRecordedRevision(t, rel)
	rel.Info.Status = release.StatusDeployed
	rel.Info.Description = "Install complete"
	rel.Info.LastDeployed = helmtime.Date(2026, time.January, number, 12, 0, 0, 0, time.UTC)
	rel.Info.FirstDeployed = rel.Info.LastDeployed
	return rel
}

// setRecordedRevision sets the revision in the order record of rel, if it has one, to the
// number of rel.
func setRecordedRevision(t *testing.T, rel *release.Release) {
	t.Helper()
	rec, err := orderrecord.Read(rel)
	if err != nil {
		t.Fatal(err)
	}
	if rec == nil {
		return
	}
	rec.Revision = rel.Version
	if rel.Chart, err = orderrecord.WithRecord(rel.Chart, rec); err != nil {
		t.Fatal(err)
	}
}

// store writes a file for the storage driver "memory" with the given revisions, and returns
// its path.
func store(t *testing.T, releases ...*release.Release) string {
	t.Helper()
	data, err := yaml.Marshal(releases)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "releases.yaml")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestIsChart(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("here", 0o755); err != nil {
		t.Fatal(err)
	}
	for argument, want := range map[string]bool{
		"shop":                         false,
		"shop.web":                     false,
		"here":                         true,
		"./shop":                       true,
		".":                            true,
		"example/shop":                 true,
		"/nowhere/shop":                true,
		`charts\shop`:                  true,
		"shop-1.0.0.tgz":               true,
		"oci://example.com/shop":       true,
		"https://example.com/shop.tgz": true,
	} {
		if got := isChart(argument); got != want {
			t.Errorf("%q: %v, want %v", argument, got, want)
		}
	}
}

func containsInOrder(text string, parts []string) bool {
	for _, part := range parts {
		_, after, found := strings.Cut(text, part)
		if !found {
			return false
		}
		text = after
	}
	return true
}
