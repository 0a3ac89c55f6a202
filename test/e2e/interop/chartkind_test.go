// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/internal/testutil/formatcharts"
	"github.com/ordered-helm/helm/test/binaries"
	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// minimalChart is a Chart.yaml of the format helm.sh/v3 with what is required.
const minimalChart = "apiVersion: helm.sh/v3\nkind: Chart\nmetadata:\n  name: shop\n  labels: {version: 1.0.0}\n"

// chartWith returns a Chart.yaml in which text is replaced.
func chartWith(text, replacement string) string {
	return strings.Replace(minimalChart, text, replacement, 1)
}

// canonicalCharts are Chart.yamls about which lint has nothing to say, and which an API server
// accepts.
var canonicalCharts = map[string]string{
	"minimal": minimalChart,
	"everything": `apiVersion: helm.sh/v3
kind: Chart
metadata:
  name: my.shop-1
  labels: {heritage: helm, version: v1.10.0-rc.1, appVersion: "3.6", example.com/team: web}
  annotations: {artifacthub.io/prerelease: "true", helm.sh/sequencing: disabled, depends-on.helm.sh/subcharts: '["db", "queue"]'}
data:
  description: "7"
  home: https://example.com
  sources: [https://example.com/source, "git+ssh://example.com/a b"]
  keywords: [shop, "on"]
  maintainers: [{name: Ada, email: ada@example.com, url: example.com}, {name: Bob, email: "", url: ""}]
  icon: https://example.com/icon.svg
  deprecated: no
  kubeVersion: ">=1.30.0-0"
  type: application
  dependencies:
  - {name: db, version: ^1.0 || 2.x, repository: https://example.com, condition: db.enabled, tags: [back], enabled: true, import-values: [data, {child: a, parent: b}], alias: my_db, hookScope: chart}
  - {name: db, version: "1.10", repository: "", depends-on: [my_db], hookScope: ""}
  libraries:
  - {name: common, version: ^1.2, repository: https://example.com}
  runHooksInParallel: otherChartsOnly
  hookScope: release
`,
	"two charts with the same alias and name": minimalChart + "data: {dependencies: [{name: a, alias: b}, {name: a}], libraries: [{name: c, version: '*'}]}\n",
	"hooks as a boolean":                      minimalChart + "data: {runHooksInParallel: yes}\n",
	"hooks as a string":                       minimalChart + "data: {runHooksInParallel: \"false\"}\n",
	"a library":                               minimalChart + "data: {type: library}\n",
	"ranges of versions":                      minimalChart + "data: {libraries: [{name: a, version: '>= 1.2, < 3.0.0 || ~4.x'}, {name: b, version: 1.2 - 2.3.4-rc.1}, {name: c, version: ^v1.0.0+build}]}\n",
	"no data":                                 minimalChart + "data: {}\n",
	"short version":                           chartWith("1.0.0", `"1.10"`),
	"fields without values":                   minimalChart + "  annotations: {a: }\ndata: {icon: , keywords: , deprecated: , runHooksInParallel: , hookScope: , maintainers: [{name: a, url: }], dependencies: [{name: b, enabled: , hookScope: }]}\n",
	"hook scope in an annotation":             minimalChart + "  annotations: {helm.sh/hook-scope: chart}\n",
	"data without a value":                    minimalChart + "data:\n",
	"JSON":                                    `{"apiVersion": "helm.sh/v3", "kind": "Chart", "metadata": {"name": "shop", "labels": {"version": "1.0.0"}}}`,
	"aliases":                                 "apiVersion: helm.sh/v3\nkind: Chart\nmetadata: {name: &n shop, labels: {version: 1.0.0}}\ndata: {description: *n}\n",
}

// otherCharts are Chart.yamls that lint reports, and that an API server rejects.
var otherCharts = []struct {
	name, chart string
	// rule is the rule of the finding.
	rule string
	// want is a part of the error of the API server.
	want string
}{
	// These cannot be loaded.
	{"no name", chartWith("name: shop", "annotations: {}"), "invalid-chart-field", "name or generateName is required"},
	{"name that is a path", chartWith("shop", "a/b"), "invalid-chart-field", `Invalid value: "a/b"`},
	{"no version", chartWith("version", "other"), "invalid-chart-field", "metadata.labels.version is required"},
	{"no labels", chartWith("  labels: {version: 1.0.0}\n", ""), "invalid-chart-field", "metadata.labels.version is required"},
	{"empty version", chartWith("1.0.0", `""`), "invalid-chart-field", "metadata.labels.version is required"},
	{"version that is not semantic", chartWith("1.0.0", "latest"), "invalid-chart-field", "metadata.labels.version must be a semantic version"},
	{"another kind", chartWith("Chart", "Release"), "invalid-chart-field", "Release"},
	{"fields of the flat format", minimalChart + "version: 1.0.0\n", "invalid-chart-field", `unknown field "version"`},
	{"field of data in metadata", minimalChart + "  icon: x\n", "invalid-chart-field", `unknown field "metadata.icon"`},
	{"field of metadata in data", minimalChart + "data: {annotations: {}}\n", "invalid-chart-field", `unknown field "data.annotations"`},
	{"unknown field in data", minimalChart + "data: {colour: blue}\n", "invalid-chart-field", `unknown field "data.colour"`},
	{"status", minimalChart + "status: {}\n", "invalid-chart-field", `unknown field "status"`},
	{"unknown field of a maintainer", minimalChart + "data: {maintainers: [{name: a, phone: b}]}\n", "invalid-chart-field", `unknown field "data.maintainers[0].phone"`},
	{"unknown field of a dependency", minimalChart + "data: {dependencies: [{name: a, dependsOn: [b]}]}\n", "invalid-chart-field", `unknown field "data.dependencies[0].dependsOn"`},
	{"dependency without a name", minimalChart + "data: {dependencies: [{version: '1'}]}\n", "invalid-chart-field", "data.dependencies[0].name: Required value"},
	{"dependency that is a string", minimalChart + "data: {dependencies: [a]}\n", "invalid-chart-field", "data.dependencies[0]"},
	{"library without a name", minimalChart + "data: {libraries: [{version: '1'}]}\n", "invalid-chart-field", "data.libraries[0].name: Required value"},
	{"library without a version", minimalChart + "data: {libraries: [{name: a}]}\n", "invalid-chart-field", "data.libraries[0].version: Required value"},
	{"library with an invalid version", minimalChart + "data: {libraries: [{name: a, version: newest}]}\n", "invalid-chart-field", "data.libraries[0].version: Invalid value"},
	{"library with an alias", minimalChart + "data: {libraries: [{name: a, version: '1', alias: b}]}\n", "invalid-chart-field", `unknown field "data.libraries[0].alias"`},
	{"library twice", minimalChart + "data: {libraries: [{name: a, version: '1'}, {name: a, version: '2'}]}\n", "invalid-chart-field", "is used more than once"},
	{"library of itself", minimalChart + "data: {libraries: [{name: shop, version: '1'}]}\n", "invalid-chart-field", "is used more than once"},
	{"library and dependency", minimalChart + "data: {libraries: [{name: a, version: '1'}], dependencies: [{name: b, alias: a}]}\n", "invalid-chart-field", "is used more than once"},
	{"label that is a list", chartWith("1.0.0", "1.0.0, a: [b]"), "invalid-chart-field", "cannot unmarshal array"},
	{"unknown hook mode in an annotation", minimalChart + "  annotations: {helm.sh/run-hooks-in-parallel: maybe}\n", "invalid-hook-mode", "helm.sh/run-hooks-in-parallel must be"},
	{"unknown hook scope in an annotation", minimalChart + "  annotations: {helm.sh/hook-scope: subchart}\n", "invalid-hook-scope", "helm.sh/hook-scope must be"},
	{"unknown value of helm.sh/sequencing", minimalChart + "  annotations: {helm.sh/sequencing: always}\n", "malformed-value", "helm.sh/sequencing must be"},
	{"version with a leading zero", chartWith("1.0.0", "1.0.0-01"), "invalid-chart-field", "metadata.labels.version must be a semantic version"},
	{"annotation that is a map", minimalChart + "  annotations: {a: {b: c}}\n", "invalid-chart-field", "cannot unmarshal object"},
	{"data that is a list", minimalChart + "data: [a]\n", "invalid-chart-field", "data: Invalid value"},
	{"keywords that are a string", minimalChart + "data: {keywords: a}\n", "invalid-chart-field", "data.keywords: Invalid value"},
	{"description that is a list", minimalChart + "data: {description: [a]}\n", "invalid-chart-field", "data.description: Invalid value"},
	{"deprecated that is a word", minimalChart + "data: {deprecated: perhaps}\n", "invalid-chart-field", "data.deprecated: Invalid value"},
	{"unknown type", minimalChart + "data: {type: service}\n", "invalid-chart-field", "data.type: Unsupported value"},
	{"unknown hook mode", minimalChart + "data: {runHooksInParallel: maybe}\n", "invalid-chart-field", "data.runHooksInParallel: Unsupported value"},
	{"unknown hook scope", minimalChart + "data: {hookScope: subchart}\n", "invalid-chart-field", "data.hookScope: Unsupported value"},
	{"unknown hook scope of a dependency", minimalChart + "data: {dependencies: [{name: a, hookScope: all}]}\n", "invalid-chart-field", "data.dependencies[0].hookScope: Unsupported value"},
	{"hook scope in metadata", minimalChart + "  hookScope: chart\n", "invalid-chart-field", `unknown field "metadata.hookScope"`},
	{"field twice", minimalChart + "data:\n  home: a\n  home: b\n", "invalid-chart-field", "home"},
	// These break rules of Helm.
	{"dependency with an invalid alias", minimalChart + "data: {dependencies: [{name: a, alias: b/c}]}\n", "helm/dependencies", "data.dependencies[0].alias: Invalid value"},
	{"two dependencies with the same name", minimalChart + "data: {dependencies: [{name: a}, {name: a}]}\n", "helm/dependencies", "have the same name or alias"},
	{"maintainer without a name", minimalChart + "data: {maintainers: [{email: a@example.com}]}\n", "helm/chartfile", "data.maintainers[0].name: Required value"},
	{"maintainer with an invalid address", minimalChart + "data: {maintainers: [{name: a, email: b}]}\n", "helm/chartfile", "data.maintainers[0].email: Invalid value"},
	{"maintainer with an invalid URL", minimalChart + "data: {maintainers: [{name: a, url: b c}]}\n", "helm/chartfile", "data.maintainers[0].url: Invalid value"},
	{"source that is not a URL", minimalChart + "data: {sources: [a]}\n", "helm/chartfile", "data.sources[0]: Invalid value"},
	{"icon that is not a URL", minimalChart + "data: {icon: icon.svg}\n", "helm/chartfile", "data.icon: Invalid value"},
	// These have no effect.
	{"removed field", minimalChart + "data: {engine: gotpl}\n", "removed-chart-field", `unknown field "data.engine"`},
	{"other removed field", minimalChart + "data: {tillerVersion: '2'}\n", "removed-chart-field", `unknown field "data.tillerVersion"`},
	// These work with Helm, but are not canonical.
	{"upper-case name", chartWith("shop", "myShop"), "non-canonical-chart", `Invalid value: "myShop"`},
	{"name that is a number", chartWith("shop", "7"), "non-canonical-chart", "cannot unmarshal number"},
	{"name that is a boolean", chartWith("shop", "y"), "non-canonical-chart", "cannot unmarshal bool"},
	{"version that is a number", chartWith("1.0.0", "1.10"), "non-canonical-chart", "cannot unmarshal number"},
	{"appVersion that is a number", chartWith("1.0.0", "1.0.0, appVersion: 3.6"), "non-canonical-chart", "cannot unmarshal number"},
	{"label that is a boolean", chartWith("1.0.0", "1.0.0, a: true"), "non-canonical-chart", "cannot unmarshal bool"},
	{"version with a plus sign", chartWith("1.0.0", "1.0.0+build"), "non-canonical-chart", `Invalid value: "1.0.0+build"`},
	{"long label", chartWith("1.0.0", "1.0.0, a: "+strings.Repeat("x", 64)), "non-canonical-chart", "must be no more than 63"},
	{"label with an invalid key", chartWith("1.0.0", "1.0.0, a b: c"), "non-canonical-chart", `Invalid value: "a b"`},
	{"annotation that is a number", minimalChart + "  annotations: {a: 7}\n", "non-canonical-chart", "cannot unmarshal number"},
	{"annotation that is a list", minimalChart + "  annotations: {depends-on.helm.sh/subcharts: [db]}\n", "non-canonical-chart", "cannot unmarshal array"},
	{"annotation with two slashes", minimalChart + "  annotations: {helm.sh/depends-on/subcharts: db}\n", "non-canonical-chart", "helm.sh/depends-on/subcharts"},
	{"annotation with an invalid key", minimalChart + "  annotations: {a b: c}\n", "non-canonical-chart", `Invalid value: "a b"`},
	{"hooks in metadata", minimalChart + "  runHooksInParallel: true\n", "non-canonical-chart", `unknown field "metadata.runHooksInParallel"`},
	{"description that is a number", minimalChart + "data: {description: 1.10}\n", "non-canonical-chart", "data.description: Invalid value"},
	{"keyword that is a boolean", minimalChart + "data: {keywords: [on]}\n", "non-canonical-chart", "data.keywords[0]: Invalid value"},
	{"keyword without a value", minimalChart + "data: {keywords: [~]}\n", "non-canonical-chart", "data.keywords[0]: Invalid value"},
	{"boolean that is a string", minimalChart + "data: {deprecated: \"yes\"}\n", "invalid-chart-field", "data.deprecated: Invalid value"},
	{"dependency with a version that is a number", minimalChart + "data: {dependencies: [{name: a, version: 1.10}]}\n", "non-canonical-chart", "data.dependencies[0].version: Invalid value"},
	{"depends-on that is a string", minimalChart + "data: {dependencies: [{name: a, depends-on: b}]}\n", "non-canonical-chart", "data.dependencies[0].depends-on: Invalid value"},
}

// TestChartKind checks the definition of the kind Chart.
func TestChartKind(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	installChartKind(t, h)
	t.Run("examples", func(t *testing.T) { testChartKindExamples(t, h) })
	t.Run("unusual texts", func(t *testing.T) { testUnusualTexts(t, h) })
	t.Run("kubectl", func(t *testing.T) { testChartKindWithKubectl(t, h) })
}

// testChartKindExamples checks that an API server accepts the Chart.yamls that lint calls canonical,
// and rejects those that lint reports.
func testChartKindExamples(t *testing.T, h *harness.Helm) {
	canonical := map[string]string{"created": createdChart(t, h), "example guestbook": readChartYAML(t, harness.ExampleChart(t, "guestbook"))}
	for name, chart := range canonicalCharts {
		canonical[name] = chart
	}
	for _, example := range []string{"shop", "umbrella", "hooks"} {
		files, err := formatcharts.Read(harness.ExampleChart(t, example))
		harness.NoError(t, err)
		files, err = formatcharts.Rewrite(files, formatcharts.InChartYAML)
		harness.NoError(t, err)
		canonical["example "+example] = files["Chart.yaml"]
	}
	all := map[string]string{}
	for name, chart := range canonical {
		all[name] = chart
	}
	for _, c := range otherCharts {
		all[c.name] = c.chart
	}
	findings := lintCharts(t, h, all)
	for name, chart := range canonical {
		if err := createChart(t, h, chart); err != nil || len(findings[name].aboutChartYAML()) > 0 {
			t.Errorf("%s: lint finds %v, the API server returns %v", name, findings[name], err)
		}
	}
	for _, c := range otherCharts {
		if err := createChart(t, h, c.chart); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the API server returns %v, want in it %s", c.name, err, c.want)
		}
		if !slices.ContainsFunc(findings[c.name], func(f finding) bool { return f.Rule == c.rule }) {
			t.Errorf("%s: lint finds %v, want %s", c.name, findings[c.name], c.rule)
		}
	}
}

// placesOfTexts are lines of a Chart.yaml in which TEXT can be a text, a number or something else.
var placesOfTexts = []string{
	"metadata:\n  name: TEXT\n  labels: {version: 1.0.0}\n",
	"metadata:\n  name: shop\n  labels:\n    version: TEXT\n",
	"metadata:\n  name: shop\n  labels:\n    version: 1.0.0\n    appVersion: TEXT\n",
	"metadata:\n  name: shop\n  labels:\n    version: 1.0.0\n    heritage: TEXT\n",
	"metadata:\n  name: shop\n  labels: TEXT\n",
	"metadata:\n  name: shop\n  labels: {version: 1.0.0}\n  annotations:\n    a: TEXT\n",
	"metadata:\n  name: shop\n  labels: {version: 1.0.0}\n  annotations:\n    helm.sh/sequencing: TEXT\n",
	"metadata:\n  name: shop\n  labels: {version: 1.0.0}\n  annotations:\n    helm.sh/run-hooks-in-parallel: TEXT\n",
	"metadata:\n  name: shop\n  labels: {version: 1.0.0}\n  annotations:\n    helm.sh/hook-scope: TEXT\n",
	"metadata:\n  name: shop\n  labels: {version: 1.0.0}\n  annotations: TEXT\n",
	"data: TEXT\n", "data:\n  description: TEXT\n", "data:\n  sources:\n  - TEXT\n", "data:\n  keywords:\n  - TEXT\n", "data:\n  keywords: TEXT\n",
	"data:\n  maintainers:\n  - TEXT\n", "data:\n  maintainers:\n  - name: TEXT\n", "data:\n  maintainers:\n  - name: a\n    email: TEXT\n",
	"data:\n  icon: TEXT\n", "data:\n  deprecated: TEXT\n", "data:\n  type: TEXT\n", "data:\n  runHooksInParallel: TEXT\n",
	"data:\n  hookScope: TEXT\n", "data:\n  dependencies:\n  - name: a\n    hookScope: TEXT\n",
	"data:\n  dependencies:\n  - name: TEXT\n", "data:\n  dependencies:\n  - name: a\n    version: TEXT\n", "data:\n  dependencies:\n  - name: a\n    alias: TEXT\n",
	"data:\n  dependencies:\n  - name: a\n    enabled: TEXT\n", "data:\n  dependencies:\n  - name: a\n    tags:\n    - TEXT\n", "data:\n  dependencies:\n  - name: a\n    import-values:\n    - TEXT\n",
	"data:\n  libraries:\n  - name: TEXT\n    version: ^1\n", "data:\n  libraries:\n  - name: a\n    version: TEXT\n",
}

// unusualTexts are values that are easily taken for something else.
var unusualTexts = []string{
	"3.6", "yes", "tRuE", "~", "'true'", "[a]", "{a: b}", "[]", "{}", "!!str 7", "!!int 7", "2020-01-01", "12:30", "a b",
	"v1.2", "1.0.0-01", "1.0.0+b", "1.2 - 1.4", "-x", "a/b", "a@b.cd", "A", "'*'", "library",
}

// testUnusualTexts checks that lint and the API server agree about values in many places.
func testUnusualTexts(t *testing.T, h *harness.Helm) {
	all := map[string]string{}
	for _, place := range placesOfTexts {
		for _, text := range unusualTexts {
			chart := "apiVersion: helm.sh/v3\nkind: Chart\n" + place
			if strings.HasPrefix(place, "data") {
				chart = minimalChart + place
			}
			all[place+text] = strings.Replace(chart, "TEXT", text, 1)
		}
	}
	findings := lintCharts(t, h, all)
	for name, chart := range all {
		// That dependencies and libraries are missing is not a matter of the format.
		found := slices.DeleteFunc(findings[name], func(f finding) bool {
			return f.Severity == "info" && f.Rule != "non-canonical-chart" || f.Rule == "helm/dependencies" && !strings.Contains(f.Message, "validation: ")
		})
		if err := createChart(t, h, chart); (err == nil) != (len(found) == 0) {
			t.Errorf("%s: lint finds %v, the API server returns %v", name, found, err)
		}
	}
}

// installChartKind installs the kind Chart, and waits until the API server checks charts.
func installChartKind(t *testing.T, h *harness.Helm) {
	t.Helper()
	file := filepath.Join(binaries.Root(t), "docs", "crds", "charts.helm.sh.yaml")
	if out, err := h.Kubectl(t, "apply", "-f", file); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Cleanup(func() {
		if out, err := h.Kubectl(t, "delete", "-f", file); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	harness.Eventually(t, "charts are checked", func() bool {
		err := createChart(t, h, chartWith("version", "other"))
		return err != nil && strings.Contains(err.Error(), "metadata.labels.version is required")
	})
}

// createChart sends a Chart.yaml to the API server with the validation that kubectl uses. The
// request changes nothing.
func createChart(t *testing.T, h *harness.Helm, chart string) error {
	t.Helper()
	return h.Cluster.Client().CoreV1().RESTClient().Post().AbsPath("/apis/helm.sh/v3/namespaces", h.Namespace, "charts").
		Param("fieldValidation", "Strict").Param("dryRun", "All").SetHeader("Content-Type", "application/yaml").
		Body([]byte(chart)).Do(t.Context()).Error()
}

// createdChart returns the Chart.yaml of a new chart.
func createdChart(t *testing.T, h *harness.Helm) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "shop")
	h.MustRun("create", dir, "--format", "helm.sh/v3")
	return readChartYAML(t, dir)
}

// readChartYAML returns the Chart.yaml of the chart in a directory.
func readChartYAML(t *testing.T, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "Chart.yaml"))
	harness.NoError(t, err)
	return string(text)
}

// finding is a finding of lint.
type finding struct{ Rule, Severity, Message string }

type findings []finding

// aboutChartYAML returns the findings about the form of Chart.yaml.
func (list findings) aboutChartYAML() (found findings) {
	for _, f := range list {
		if strings.Contains(f.Rule, "chart-field") || f.Rule == "non-canonical-chart" || f.Rule == "helm/chartfile" && f.Severity != "info" {
			found = append(found, f)
		}
	}
	return found
}

// lintCharts returns the findings of lint about charts that consist of a Chart.yaml, by name.
func lintCharts(t *testing.T, h *harness.Helm, chartYAMLs map[string]string) map[string]findings {
	t.Helper()
	args, names := []string{"lint", "--output", "json"}, map[string]string{}
	for name, text := range chartYAMLs {
		dir := charts.WriteFiles(t, map[string]string{"Chart.yaml": text})
		args, names[dir] = append(args, dir), name
	}
	var report struct {
		Charts []struct {
			Path, Error string
			Findings    findings
		}
	}
	harness.NoError(t, json.Unmarshal([]byte(h.Run(args...).Stdout), &report))
	found := map[string]findings{}
	for _, c := range report.Charts {
		if c.Error != "" {
			t.Errorf("lint %s: %s", names[c.Path], c.Error)
		}
		found[names[c.Path]] = c.Findings
	}
	return found
}

// testChartKindWithKubectl checks what kubectl does with a Chart.yaml: by default, it rejects
// unknown fields. Without validation, the API server drops them.
func testChartKindWithKubectl(t *testing.T, h *harness.Helm) {
	apply := func(chart string, args ...string) (string, error) {
		file := filepath.Join(charts.WriteFiles(t, map[string]string{"Chart.yaml": chart}), "Chart.yaml")
		return h.Kubectl(t, append([]string{"apply", "-f", file}, args...)...)
	}
	if out, err := apply(canonicalCharts["everything"]); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := h.Kubectl(t, "get", "charts.helm.sh"); err != nil || !strings.Contains(out, "my.shop-1   v1.10.0-rc.1   3.6           7") {
		t.Errorf("%v: %s", err, out)
	}
	unknown := minimalChart + "data: {colour: blue}\n"
	if out, err := apply(unknown); err == nil || !strings.Contains(out, `unknown field "data.colour"`) {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := apply(unknown, "--validate=ignore"); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := h.Kubectl(t, "get", "charts.helm.sh", "shop", "--output", "jsonpath={.data}"); err != nil || out != "{}" {
		t.Errorf("%v: %s", err, out)
	}
}
