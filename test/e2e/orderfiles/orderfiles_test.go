// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package orderfiles

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// header begins every order file.
const header = "apiVersion: helm.sh/v1alpha1\nkind: Order\n"

// others returns a chart whose subcharts db and app declare nothing, like charts of other people. db has hooks. db and app
// have a subchart each. orderFile is the content of its order.yaml after the header; empty if it has none.
func others(t *testing.T, value, orderFile string) string {
	t.Helper()
	return othersOf(t, "v2", value, orderFile)
}

// othersOf returns the chart of others with an apiVersion.
func othersOf(t *testing.T, apiVersion, value, orderFile string) string {
	t.Helper()
	hooks := []charts.Object{{Kind: "Job", Name: "before", Hook: "pre-install,pre-upgrade,pre-rollback"}, {Kind: "Job", Name: "after", Hook: "post-install,post-upgrade,post-rollback"}}
	dir := charts.Chart{Name: "shop", APIVersion: apiVersion, Subcharts: []charts.Chart{
		{
			Name: "db", APIVersion: apiVersion, Objects: append([]charts.Object{{Kind: "Deployment", Name: "db", Value: value}, {Name: "settings", Value: value}}, hooks...),
			Subcharts: []charts.Chart{{Name: "store", APIVersion: apiVersion, Objects: []charts.Object{{Kind: "Deployment", Name: "store", Value: value}}}},
		},
		{
			Name: "app", APIVersion: apiVersion, Objects: []charts.Object{{Kind: "Deployment", Name: "app", Value: value}},
			Subcharts: []charts.Chart{{Name: "worker", APIVersion: apiVersion, Objects: []charts.Object{{Name: "worker", Value: value}}}},
		},
	}}.Write(t)
	if orderFile != "" {
		write(t, filepath.Join(dir, "order.yaml"), header+orderFile)
	}
	return dir
}

// given writes an order file for --order.
func given(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "given.yaml")
	write(t, path, header+text)
	return path
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

const (
	// appAfterDB makes app depend on db, whose hooks run in their place.
	appAfterDB = "charts: [{path: db, hookScope: chart}, {path: app, dependsOn: [db]}]\n"
	// settingsFirst makes everything else of db depend on its settings.
	settingsFirst = "resources: [{match: {chart: db, kind: ConfigMap}, layer: settings}, {match: {chart: db, kind: Deployment}, layer: database, dependsOn: [settings]}]\n"
)

// TestOrderFileOperations checks that an order file alone puts charts that declare nothing in order, in every
// operation.
//   - "It is the file order.yaml in the root directory of a chart, or the file given with --order FILE"
//   - "dependsOn | siblings of the chart that must be ready before its subtree"
//   - "hookScope | chart or release: whether the hooks of the chart run before and after its subtree"
//   - "layer | the layer to which the resources belong"
//   - "dependsOn | layers of the same chart that must be ready first"
//   - "What an order file declares is used whatever the apiVersion of the charts is"
//   - "the paths in it are relative to the root chart"
//   - "The field stands in Chart.yaml"
func TestOrderFileOperations(t *testing.T) {
	t.Parallel()
	harness.RunCases(t, map[string]func(*testing.T, *harness.Helm){
		"in the chart": func(t *testing.T, h *harness.Helm) {
			operate(t, h, func(value string) []string { return []string{othersOf(t, "v1", value, appAfterDB+settingsFirst)} })
		},
		"given with --order": func(t *testing.T, h *harness.Helm) {
			file := given(t, appAfterDB+settingsFirst)
			operate(t, h, func(value string) []string { return []string{others(t, value, ""), "--order", file} })
		},
		"both": func(t *testing.T, h *harness.Helm) {
			file := given(t, settingsFirst)
			operate(t, h, func(value string) []string { return []string{othersOf(t, "v3", value, appAfterDB), "--order", file} })
		},
	})
}

// operate checks the order of all operations with a chart, which depends on a value.
func operate(t *testing.T, h *harness.Helm, chart func(value string) []string) {
	expectOrder := func() {
		t.Helper()
		h.ExpectOrder(t, "Job/before", "ConfigMap/settings", "Deployment/db", "Job/after", "Deployment/app")
		h.ExpectOrder(t, "Job/before", "Deployment/store", "Job/after", "ConfigMap/worker")
	}
	h.Started = harness.Now()
	h.MustRun(append([]string{"install", "rel", "--wait=ordered"}, chart("1")...)...)
	expectOrder()
	h.Started = harness.Now()
	h.MustRun(append([]string{"upgrade", "rel", "--wait=ordered"}, chart("2")...)...)
	expectOrder()
	h.Started = harness.Now()
	h.MustRun("rollback", "rel", "1") // the stored revision contains the files
	expectOrder()
	h.Started = harness.Now()
	h.MustRun("uninstall", "rel")
	recorded := h.ReadTrace(t).Since(h.Started)
	_, gone := recorded.Deleted("Deployment/app")
	deleted, _ := recorded.Deleted("Deployment/db")
	if gone.IsZero() || deleted.Before(gone) {
		t.Errorf("Deployment/db was deleted at %s, but Deployment/app was gone at %s", deleted, gone)
	}
}

// TestOrderFileReuse checks what an upgrade does with the order file that was given for the last revision.
func TestOrderFileReuse(t *testing.T) {
	t.Parallel()
	harness.RunCases(t, map[string]func(*testing.T, *harness.Helm){
		"dropped": func(t *testing.T, h *harness.Helm) {
			file := given(t, appAfterDB)
			h.MustRun("install", "rel", others(t, "1", ""), "--wait=ordered", "--order", file)
			r := h.MustRun("upgrade", "rel", others(t, "2", ""), "--wait=ordered")
			harness.ExpectContains(t, r.Stderr, "the order file "+file+" (2 rules about charts, 0 rules about resources), with which revision 1 was deployed, no longer applies", "--reuse-order")
		},
		"reused": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", others(t, "1", ""), "--wait=ordered", "--order", given(t, appAfterDB))
			h.Started = harness.Now()
			r := h.MustRun("upgrade", "rel", others(t, "2", ""), "--wait=ordered", "--reuse-order")
			if strings.Contains(r.Stderr, "no longer applies") {
				t.Error(r.Stderr)
			}
			h.ExpectOrder(t, "Job/before", "Deployment/db", "Job/after", "Deployment/app")
		},
		"replaced": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", others(t, "1", ""), "--wait=ordered", "--order", given(t, appAfterDB))
			r := h.MustRun("upgrade", "rel", others(t, "2", ""), "--wait=ordered", "--order", given(t, settingsFirst))
			if strings.Contains(r.Stderr, "no longer applies") {
				t.Error(r.Stderr)
			}
		},
	})
}

// TestOrderFileErrors checks that invalid order files are refused before anything is changed.
//   - "A file given with --order must be an order file"
func TestOrderFileErrors(t *testing.T) {
	t.Parallel()
	const newer = "apiVersion: helm.sh/v1beta1\nkind: Order\nchart: []\n"
	tests := map[string]struct {
		orderFile string
		args      []string
		want      []string
	}{
		"without an ordered wait": {"", []string{"--order", given(t, appAfterDB)}, []string{"an order file has an effect only in an ordered operation"}},
		"a URL":                   {"", []string{"--order", "https://example.com/order.yaml", "--wait=ordered"}, []string{"must be a local file, not a URL"}},
		"standard input":          {"", []string{"--order", "-", "--wait=ordered"}, []string{"cannot be read from standard input"}},
		"a missing file":          {"", []string{"--order", "/nonexistent/order.yaml", "--wait=ordered"}, []string{"/nonexistent/order.yaml"}},
		"an unknown field":        {"chart: []\n", []string{"--wait=ordered"}, []string{"shop/order.yaml:3: chart: unknown field: did you mean charts?"}},
		"an unknown subchart":     {"charts: [{path: app, dependsOn: [nothing]}]\n", []string{"--wait=ordered"}, []string{"shop/order.yaml: charts[0].dependsOn", `"nothing"`}},
		"the parent of its chart": {"charts: [{path: ../x}]\n", []string{"--wait=ordered"}, []string{"shop/order.yaml:3:", "charts[0].path"}},
		"a cycle": {
			"charts: [{path: app, dependsOn: [db]}, {path: db, dependsOn: [app]}]\n", []string{"--wait=ordered"},
			[]string{"dependency cycle", "subchart app depends on subchart db (shop/order.yaml: charts[0].dependsOn, for chart shop/app)"},
		},
		"a cycle of layers": {
			"resources: [{match: {kind: ConfigMap}, layer: one, dependsOn: [two]}, {match: {kind: Deployment}, layer: two, dependsOn: [one], external: [Secret/s]}]\n", []string{"--wait=ordered"},
			[]string{"dependency cycle", `layer "one" depends on layer "two" (shop/order.yaml: resources[0].dependsOn, for chart shop/db)`},
		},
		"another group, given with --order":           {"", []string{"--wait=ordered", "--order", otherKind(t)}, []string{"apiVersion helm.sh/v1alpha1 and the kind Order"}},
		"a field that is defined twice":               {"charts: []\ncharts: []\n", []string{"--wait=ordered"}, []string{"shop/order.yaml:4: charts: is defined twice"}},
		"external dependencies that are no such ones": {"charts: [{path: db, external: [registry]}]\n", []string{"--wait=ordered"}, []string{`shop/order.yaml: charts[0].external: "registry"`, "must have the form"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			h.ExpectRejected(t, h.Run(append([]string{"install", "rel", others(t, "1", tt.orderFile)}, tt.args...)...), tt.want...)
		})
	}
	files := map[string]struct{ file, text, want string }{
		"a newer version":                  {"order.yaml", newer, `shop/order.yaml:1: apiVersion: "helm.sh/v1beta1" is not supported: this version of Ordered Helm reads helm.sh/v1alpha1`},
		"a newer version in a subchart":    {"charts/db/order.yaml", newer, `shop/charts/db/order.yaml:1: apiVersion: "helm.sh/v1beta1" is not supported`},
		"the parent of a subchart":         {"charts/db/order.yaml", header + "charts: [{path: ../app}]\n", `shop/charts/db/order.yaml:3: charts[0].path: "../app" must not contain ..`},
		"the sibling of a subchart":        {"charts/db/order.yaml", header + "charts: [{path: ., dependsOn: [app]}]\n", "shop/charts/db/order.yaml:3: charts[0].dependsOn: the path . is the chart that the file belongs to"},
		"the resources of a parent":        {"charts/db/order.yaml", header + "resources: [{match: {chart: ..}, layer: a}]\n", `shop/charts/db/order.yaml:3: resources[0].match.chart: ".." must not contain ..`},
		"a contradiction to Chart.yaml":    {"charts/db/Chart.yaml", "apiVersion: v2\nname: db\nversion: 0.1.0\nhookScope: release\n", `shop/order.yaml: charts[0].hookScope: "chart" conflicts with hookScope: "release" in shop/charts/db/Chart.yaml, for chart shop/db`},
		"a contradiction to an annotation": {"charts/db/templates/layer.yaml", charts.Object{Name: "other", Layer: "one"}.Manifest(), `shop/order.yaml: resources[0].layer: "settings" conflicts with helm.sh/layer: "one" in shop/charts/db/templates/layer.yaml, for ConfigMap/other`},
	}
	for name, tt := range files {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, dir := harness.New(t), others(t, "1", appAfterDB+settingsFirst)
			charts.AddFile(t, dir, tt.file, tt.text)
			h.ExpectRejected(t, h.Run("install", "rel", dir, "--wait=ordered"), tt.want)
		})
	}
}

func otherKind(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "other.yaml")
	write(t, path, "apiVersion: v1\nkind: ConfigMap\n")
	return path
}
