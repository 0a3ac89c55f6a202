// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartformat

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	v3 "gopkg.in/yaml.v3"
	"helm.sh/helm/v3/pkg/chart"
	"sigs.k8s.io/yaml"
)

// minimal is the Chart.yaml of a chart with a name and a version only.
const minimal = "apiVersion: helm.sh/v3\nkind: Chart\nmetadata:\n  name: shop\n  labels: {version: 1.0.0}\n"

// minimalFlat is minimal as a flat Chart.yaml.
const minimalFlat = "annotations: {helm.sh/sequencing: enabled}\napiVersion: v2\nname: shop\nversion: 1.0.0\n"

// source returns the files of a chart, which has no requirements.yaml if requirements is empty.
func source(chartYAML, requirements string) Source {
	s := Source{ChartYAML: []byte(chartYAML)}
	if requirements != "" {
		s.Requirements = []byte(requirements)
	}
	return s
}

func TestTranslate(t *testing.T) {
	for _, c := range []struct {
		name, chart, requirements string
		want                      string
	}{
		{name: "minimal", chart: minimal, want: minimalFlat},
		{
			name: "the example of the design proposal",
			chart: `apiVersion: helm.sh/v3
kind: Chart
metadata:
  name: myChart
  labels:
    heritage: helm
    version: 0.1.0
    appVersion: 3.6
data:
  description: Deploy a basic Alpine Linux pod
  home: https://github.com/kubernetes/helm
  sources:
    - https://github.com/kubernetes/helm
`,
			want: `annotations: {helm.sh/sequencing: enabled}
apiVersion: v2
appVersion: "3.6"
description: Deploy a basic Alpine Linux pod
home: https://github.com/kubernetes/helm
name: myChart
sources: [https://github.com/kubernetes/helm]
version: 0.1.0
`,
		},
		{
			name: "everything",
			chart: `apiVersion: helm.sh/v3
kind: Chart
metadata:
  name: shop
  labels: {version: 1.10, appVersion: 1.10, team: web, 7: true}
  annotations: {artifacthub.io/prerelease: true, team: other, depends-on.helm.sh/subcharts: [db, queue]}
data:
  keywords: [a, 1.10]
  maintainers: [{name: Ada, email: ada@example.com, url: https://example.com}]
  icon: https://example.com/icon.svg
  deprecated: true
  kubeVersion: ">=1.30.0"
  type: application
  runHooksInParallel: otherChartsOnly
  hookScope: chart
  dependencies:
  - {name: db, version: 1.10, repository: https://example.com, condition: db.enabled, tags: [back], alias: store, import-values: [data, {child: a, parent: b}]}
  - {name: queue, version: ^2, depends-on: "store, db", hookScope: release}
`,
			want: `annotations:
  artifacthub.io/prerelease: "true"
  depends-on.helm.sh/subcharts: '["db","queue"]'
  helm.sh/hook-scope: chart
  helm.sh/run-hooks-in-parallel: otherChartsOnly
  helm.sh/sequencing: enabled
  team: other
  "7": "true"
apiVersion: v2
appVersion: "1.10"
dependencies:
- {name: db, version: "1.10", repository: https://example.com, condition: db.enabled, tags: [back], alias: store, import-values: [data, {child: a, parent: b}]}
- {name: queue, version: ^2, repository: "", depends-on: [store, db], hookScope: release}
deprecated: true
icon: https://example.com/icon.svg
keywords: [a, "1.10"]
kubeVersion: '>=1.30.0'
maintainers: [{name: Ada, email: ada@example.com, url: https://example.com}]
name: shop
type: application
version: "1.10"
`,
		},
		{
			name: "an order that is disabled", chart: minimal + "  annotations: {helm.sh/sequencing: disabled}\n",
			want: strings.Replace(minimalFlat, "enabled", "disabled", 1),
		},
		{
			name: "hooks as in an example of a proposal", chart: minimal + "  runHooksInParallel: true\n",
			want: strings.Replace(minimalFlat, "{", `{helm.sh/run-hooks-in-parallel: "true", `, 1),
		},
		{
			name: "hook scope", chart: minimal + "data: {hookScope: chart}\n",
			want: strings.Replace(minimalFlat, "{", `{helm.sh/hook-scope: chart, `, 1),
		},
		{
			name: "hook scope like the annotation", chart: minimal + "  annotations: {helm.sh/hook-scope: release}\ndata: {hookScope: release}\n",
			want: strings.Replace(minimalFlat, "{", `{helm.sh/hook-scope: release, `, 1),
		},
		{
			name: "fields that replace empty annotations", chart: minimal + "  annotations: {helm.sh/hook-scope: '', helm.sh/run-hooks-in-parallel: ''}\ndata: {hookScope: chart, runHooksInParallel: true}\n",
			want: strings.Replace(minimalFlat, "{", `{helm.sh/hook-scope: chart, helm.sh/run-hooks-in-parallel: "true", `, 1),
		},
		{name: "empty hook scope", chart: minimal + "data: {hookScope: ''}\n", want: minimalFlat},
		{
			name: "hook scope of a dependency in requirements", chart: minimal, requirements: "requirements: [{name: db, version: '1', repository: r, hookScope: chart}]\n",
			want: minimalFlat + "dependencies: [{name: db, version: '1', repository: r, hookScope: chart}]\n",
		},
		{
			name: "requirements", chart: minimal, requirements: "requirements: [{name: db, version: '1', repository: r}]\n",
			want: minimalFlat + "dependencies: [{name: db, version: '1', repository: r}]\n",
		},
		{
			name: "requirements of Helm 2", chart: minimal, requirements: "dependencies: [{name: db, version: '1', repository: r}]\n",
			want: minimalFlat + "dependencies: [{name: db, version: '1', repository: r}]\n",
		},
		{
			name: "libraries", chart: minimal + "data: {libraries: [{name: common, version: ^1.10, repository: r}, {name: base, version: 1.10}], dependencies: [{name: db, version: '1', repository: r}]}\n",
			want: strings.Replace(minimalFlat, "{", `{helm.sh/libraries: '["common","base"]', `, 1) +
				"dependencies: [{name: db, version: '1', repository: r}, {name: common, version: ^1.10, repository: r}, {name: base, version: '1.10', repository: ''}]\n",
		},
		{
			name: "libraries in requirements", chart: minimal + "data: {dependencies: [{name: db, version: '1', repository: r}]}\n", requirements: "libraries: [{name: common, version: '*', repository: r}]\n",
			want: strings.Replace(minimalFlat, "{", `{helm.sh/libraries: '["common"]', `, 1) +
				"dependencies: [{name: db, version: '1', repository: r}, {name: common, version: '*', repository: r}]\n",
		},
		{name: "no libraries", chart: minimal + "data: {libraries: []}\n", want: minimalFlat},
		{name: "empty requirements", chart: minimal, requirements: "# none\n", want: minimalFlat},
		{name: "removed fields", chart: minimal + "data: {engine: gotpl, tillerVersion: '2'}\n", want: minimalFlat},
		{name: "aliases", chart: "apiVersion: helm.sh/v3\nkind: Chart\nmetadata: {name: &n shop, labels: {version: 1.0.0}}\ndata: {description: *n}\n", want: minimalFlat + "description: shop\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !IsV3([]byte(c.chart)) {
				t.Error("the format is not recognized")
			}
			got, err := Translate(source(c.chart, c.requirements))
			if err != nil {
				t.Fatal(err)
			}
			if have, want := normalized(t, string(got)), normalized(t, c.want); have != want {
				t.Errorf("got\n%s\nwant\n%s", have, want)
			}
		})
	}
}

// normalized returns YAML text in a form that can be compared.
func normalized(t *testing.T, text string) string {
	t.Helper()
	var content any
	if err := yaml.Unmarshal([]byte(text), &content); err != nil {
		t.Fatal(err)
	}
	normal, err := yaml.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	return string(normal)
}

func TestTranslateErrors(t *testing.T) {
	const head = "apiVersion: helm.sh/v3\nkind: Chart\n"
	for _, c := range []struct{ name, chart, requirements, want string }{
		{"missing name", head + "metadata:\n  labels: {version: 1.0.0}\n", "", "Chart.yaml:4: metadata.name: is required"},
		{"missing version", head + "metadata:\n  name: shop\n  labels: {a: b}\n", "", "Chart.yaml:5: metadata.labels.version: is required"},
		{"version that is not semantic", head + "metadata:\n  name: shop\n  labels:\n    version: latest\n", "", `Chart.yaml:6: metadata.labels.version: "latest" is not a semantic version`},
		{"another kind", strings.Replace(minimal, "kind: Chart", "kind: Release", 1), "", "Chart.yaml:2: kind: must be Chart"},
		{"no kind", strings.Replace(minimal, "kind: Chart\n", "", 1), "", "Chart.yaml:1: kind: must be Chart"},
		{"flat field at the top", minimal + "version: 1.0.0\n", "", "Chart.yaml:6: version: belongs in metadata.labels.version"},
		{"field of data in metadata", minimal + "  icon: x\n", "", "Chart.yaml:6: metadata.icon: belongs in data.icon"},
		{"annotations in data", minimal + "data:\n  annotations: {}\n", "", "Chart.yaml:7: data.annotations: belongs in metadata.annotations"},
		{"unknown key in data", minimal + "data:\n  colour: blue\n", "", "Chart.yaml:7: data.colour: unknown field: must be one of description, home,"},
		{"removed field at the top", minimal + "engine: gotpl\n", "", "Chart.yaml:6: engine: does not exist in charts of helm.sh/v3: remove it"},
		{"label that is a list", head + "metadata:\n  name: shop\n  labels:\n    version: 1.0.0\n    a: [b]\n", "", "Chart.yaml:7: metadata.labels.a: must be a string"},
		{"annotation that is a map", minimal + "  annotations: {a: {b: c}}\n", "", "Chart.yaml:6: metadata.annotations.a: must be a string"},
		{"list of subcharts that is a number", minimal + "  annotations: {depends-on.helm.sh/subcharts: 7}\n", "", "Chart.yaml:6: metadata.annotations: depends-on.helm.sh/subcharts: 7: must be a list"},
		{"data that is a list", minimal + "data: [a]\n", "", "Chart.yaml:6: data: must be a mapping"},
		{"keywords that are a string", minimal + "data:\n  keywords: a\n", "", "Chart.yaml:7: data.keywords: must be a list"},
		{"deprecated that is a string", minimal + "data:\n  deprecated: perhaps\n", "", "Chart.yaml:7: data.deprecated: must be true or false"},
		{"field twice", minimal + "data:\n  home: a\n  home: b\n", "", "Chart.yaml:8: data: the field home is defined twice"},
		{"merge key", minimal + "data:\n  home: &a x\n  <<: {icon: *a}\n", "", "Chart.yaml:8: data: YAML merge keys (<<) are not supported: write the fields out"},
		{"merge key at the top", minimal + "<<: {data: {icon: x}}\n", "", "Chart.yaml:6: YAML merge keys"},
		{"merge key in labels", strings.Replace(minimal, "1.0.0", "1.0.0, <<: {a: b}", 1), "", "Chart.yaml:5: metadata.labels: YAML merge keys"},
		{"merge key in requirements.yaml", minimal, "requirements:\n- name: a\n  <<: {version: '1'}\n", "requirements.yaml:3: requirements[0]: YAML merge keys"},
		{"dependencies in both files", minimal + "data: {dependencies: [{name: a}]}\n", "\nrequirements: [{name: a}]\n", "requirements.yaml:2: requirements: dependencies are declared twice"},
		{"dependencies twice in requirements.yaml", minimal, "requirements: [{name: a}]\ndependencies: [{name: a}]\n", "requirements.yaml:2: dependencies: dependencies are declared twice"},
		{"dependency without a name", minimal + "data:\n  dependencies:\n  - version: '1'\n", "", "data.dependencies[0].name: is required"},
		{"unknown key of a dependency", minimal + "data:\n  dependencies:\n  - name: a\n    dependsOn: [b]\n", "", "Chart.yaml:9: data.dependencies[0].dependsOn: unknown field: must be one of name,"},
		{"libraries in both files", minimal + "data: {libraries: [{name: a, version: '1'}]}\n", "\nlibraries: [{name: a, version: '1'}]\n", "requirements.yaml:2: libraries: libraries are declared twice"},
		{"library without a name", minimal + "data:\n  libraries:\n  - version: '1'\n", "", "Chart.yaml:8: data.libraries[0].name: is required"},
		{"library without a version", minimal + "data:\n  libraries:\n  - name: a\n", "", `Chart.yaml:8: data.libraries[0].version: "" is not a range of versions such as ^1.2.0`},
		{"library with an invalid version", minimal, "libraries:\n- name: a\n  version: newest\n", `requirements.yaml:3: libraries[0].version: "newest" is not a range of versions`},
		{"library that has a condition", minimal + "data:\n  libraries:\n  - {name: a, version: '1', condition: b}\n", "", "Chart.yaml:8: data.libraries[0].condition: unknown field: must be one of name, version, repository"},
		{"library twice", minimal + "data:\n  libraries:\n  - {name: a, version: '1'}\n  - {name: a, version: '2'}\n", "", "Chart.yaml:9: data.libraries[1].name: a is the name of a library already"},
		{"library that is a dependency", minimal + "data: {dependencies: [{name: a}]}\n", "libraries:\n- {name: a, version: '1'}\n", "requirements.yaml:2: libraries[0].name: a is the name of a dependency already"},
		{"library with an alias of a dependency", minimal + "data: {dependencies: [{name: b, alias: a}], libraries: [{name: a, version: '1'}]}\n", "", "Chart.yaml:6: data.libraries[0].name: a is the name of a dependency already"},
		{"library of itself", minimal + "data: {libraries: [{name: shop, version: '1'}]}\n", "", "data.libraries[0].name: shop is the name of this chart already"},
		{"annotation of packed charts", minimal + "  annotations: {helm.sh/libraries: '[\"a\"]'}\n", "", "Chart.yaml:6: metadata.annotations.helm.sh/libraries: is reserved for packed charts"},
		{"label of packed charts", strings.Replace(minimal, "1.0.0", "1.0.0, helm.sh/library-copy: a", 1), "", "Chart.yaml:5: metadata.labels.helm.sh/library-copy: is reserved for packed charts"},
		{"hooks in two ways", minimal + "  runHooksInParallel: true\ndata: {runHooksInParallel: false}\n", "", "Chart.yaml:6: metadata.runHooksInParallel: differs from data.runHooksInParallel"},
		{"hooks that differ from the annotation", minimal + "  annotations: {helm.sh/run-hooks-in-parallel: otherChartsOnly}\ndata: {runHooksInParallel: true}\n", "", "Chart.yaml:7: runHooksInParallel: differs from the annotation helm.sh/run-hooks-in-parallel: remove one of them"},
		{"unknown hook scope", minimal + "data: {hookScope: subchart}\n", "", "Chart.yaml:6: data.hookScope: must be chart or release"},
		{"hook scope that is a list", minimal + "data: {hookScope: [chart]}\n", "", "Chart.yaml:6: data.hookScope: must be a string"},
		{"hook scope that differs from the annotation", minimal + "  annotations: {helm.sh/hook-scope: release}\ndata: {hookScope: chart}\n", "", "Chart.yaml:7: data.hookScope: differs from the annotation helm.sh/hook-scope: remove one of them"},
		{"hook scope in metadata", minimal + "  hookScope: chart\n", "", "Chart.yaml:6: metadata.hookScope: belongs in data.hookScope"},
		{"unknown hook scope of a dependency", minimal, "requirements:\n- name: a\n  hookScope: all\n", "requirements.yaml:3: requirements[0].hookScope: must be chart or release"},
		{"no YAML", minimal + "data: [\n", "", "Chart.yaml:6: invalid YAML: "},
		{"requirements that are no YAML", minimal, "a: [\n", "requirements.yaml:1: invalid YAML: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Translate(source(c.chart, c.requirements)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got\n%v\nwant\n%s", err, c.want)
			}
		})
	}
}

// TestIsV3 checks that only charts of the format are taken for such.
func TestIsV3(t *testing.T) {
	for text, want := range map[string]bool{
		minimal: true, `{"apiVersion": "helm.sh/v3"}`: true, minimalFlat: false, "": false, "[": false,
		"apiVersion: v2\ndescription: about helm.sh/v3\n":                                   false,
		"# a comment\r\n---\r\n\r\napiVersion:  'helm.sh/v3'   # v3\r\n\r\nkind: Chart\r\n": true, "apiVersion: \"helm.sh/v3\"": true,
		"apiVersion: helm.sh/v3\n\n  continued\n": false, "apiVersion: helm.sh/v3-next\n": false, "'apiVersion': helm.sh/v3\n": true, "kind: Chart\napiVersion: helm.sh/v3\n": true,
		"apiVersion: helm.sh/v3\ndata: [\n": true, // the translation reports the line
	} {
		if IsV3([]byte(text)) != want {
			t.Errorf("%q: want %v", text, want)
		}
	}
}

func FuzzTranslate(f *testing.F) {
	f.Add(minimal, "")
	f.Add(minimal+"  annotations: {a: yes, b: 12:30, c: 017, d: '=', e: <<, f: \"\\u0085\\u2028\\ufeff\\t\", g: 1_000, h: '- a', i: 'a: b', j: \" a \\n\"}\ndata:\n  maintainers: [{name: y, email: ~, url: .inf}]\n  keywords: ['', 'null', '#']\n", "")
	f.Add(minimal+"data: {dependencies: [{name: a, import-values: [&a {x: y}, *a]}]}\n", "requirements: [{name: a, version: ^1}]")
	f.Fuzz(func(t *testing.T, chartYAML, requirements string) {
		flat, err := Translate(source(chartYAML, requirements))
		invalid := slices.ContainsFunc(Inspect(source(chartYAML, requirements)), func(p Problem) bool { return p.Kind == Invalid })
		if IsV3([]byte(chartYAML)) && invalid != (err != nil) {
			t.Errorf("Inspect finds an invalid field %v, Translate returns %v", invalid, err)
		}
		if err != nil {
			return
		}
		var metadata chart.Metadata
		if err := yaml.UnmarshalStrict(flat, &metadata); err != nil && !strings.Contains(string(flat), "depends-on") && !strings.Contains(string(flat), "hookScope") {
			t.Fatalf("Helm cannot read\n%s%v", flat, err)
		}
		if metadata.APIVersion != chart.APIVersionV2 || metadata.Name == "" || metadata.Version == "" {
			t.Errorf("incomplete:\n%s", flat)
		}
		expectEncoded(t, (&reader{}).read(source(chartYAML, requirements)), flat)
	})
}

// expectEncoded checks that a YAML parser for YAML 1.1, as Helm's, reads from text exactly what is in
// flat.
func expectEncoded(t *testing.T, flat *flatChart, text []byte) {
	t.Helper()
	var node v3.Node
	var fields map[string]any
	if err := errors.Join(node.Encode(flat), node.Decode(&fields)); err != nil {
		t.Fatal(err)
	}
	want, err := json.Marshal(fields)
	if err != nil {
		return // a value in import-values that is no JSON
	}
	got, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	var contents [2]any
	if err := errors.Join(json.Unmarshal(want, &contents[0]), json.Unmarshal(got, &contents[1])); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(contents[0], contents[1]) {
		t.Errorf("got %s, want %s, from\n%s", got, want, text)
	}
}

func TestLibraryPosition(t *testing.T) {
	inChart := minimal + "data:\n  libraries:\n  - name: a\n    version: 1\n  - version: 1\n    name: b\n"
	for _, c := range []struct{ name, chart, requirements, library, want string }{
		{"in Chart.yaml", inChart, "", "b", "below/Chart.yaml:11"},
		{"in requirements.yaml", minimal, "libraries:\n- {name: a, version: 1}\n", "a", "below/requirements.yaml:2"},
		{"nowhere", minimal, "", "a", "below/Chart.yaml:0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := source(c.chart, c.requirements)
			s.Folder = "below/"
			file, line := LibraryPosition(s, c.library)
			if got := fmt.Sprintf("%s:%d", file, line); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestInspect(t *testing.T) {
	const head = "apiVersion: helm.sh/v3\nkind: Chart\n"
	withLabels := func(labels string) string {
		return head + "metadata:\n  name: shop\n  labels: {" + labels + "}\n"
	}
	for _, c := range []struct {
		name, chart string
		want        string // empty if the chart is canonical
		kind        ProblemKind
	}{
		{"minimal", minimal, "", 0},
		{"everything", minimal + `  annotations: {a: "1", depends-on.helm.sh/subcharts: '["db"]'}
data:
  description: "1"
  sources: [https://example.com]
  keywords: ["7"]
  maintainers: [{name: Ada}]
  deprecated: false
  type: library
  runHooksInParallel: true
  hookScope: chart
  dependencies: [{name: db, version: "1.10", tags: [a], enabled: true, import-values: [a, {child: b, parent: c}], depends-on: [x], hookScope: release}]
  libraries: [{name: common, version: ^1.0, repository: https://example.com}]
`, "", 0},
		{"fields without a value", minimal + "  annotations:\ndata: {icon: , keywords: , deprecated: , runHooksInParallel: , hookScope: , dependencies: }\n", "", 0},
		{"boolean of YAML 1.1", minimal + "data: {deprecated: y, runHooksInParallel: on}\n", "", 0},
		{"boolean that is a string", minimal + "data:\n  deprecated: \"yes\"\n", "Chart.yaml:7: data.deprecated: must be true or false", Invalid},
		{"removed field", minimal + "data:\n  engine: gotpl\n", "Chart.yaml:7: data.engine: has no effect in charts of helm.sh/v3: remove it", Removed},
		{"upper-case name", strings.Replace(minimal, "shop", "myShop", 1), `Chart.yaml:4: metadata.name: "myShop" is not valid as the name of an object`, NotCanonical},
		{"name that is a number", strings.Replace(minimal, "shop", "7", 1), `Chart.yaml:4: metadata.name: is not a string: write "7"`, NotCanonical},
		{"name that is a boolean", strings.Replace(minimal, "shop", "y", 1), `Chart.yaml:4: metadata.name: is not a string: write "y"`, NotCanonical},
		{"appVersion that is a number", withLabels("version: 1.0.0, appVersion: 3.6"), `Chart.yaml:5: metadata.labels.appVersion: is not a string: write "3.6"`, NotCanonical},
		{"version that is a number", withLabels("version: 1.10"), `Chart.yaml:5: metadata.labels.version: is not a string: write "1.10"`, NotCanonical},
		{"label that is a boolean", withLabels("version: 1.0.0, a: true"), `Chart.yaml:5: metadata.labels.a: is not a string: write "true"`, NotCanonical},
		{"version with a plus sign", withLabels("version: 1.0.0+build"), `Chart.yaml:5: metadata.labels.version: "1.0.0+build" is not valid as a label`, NotCanonical},
		{"label with an invalid key", withLabels("version: 1.0.0, a b: c"), "Chart.yaml:5: metadata.labels.a b: the key is not valid", NotCanonical},
		{"annotation that is a number", minimal + "  annotations: {a: 7}\n", `Chart.yaml:6: metadata.annotations.a: is not a string: write "7"`, NotCanonical},
		{"annotation that is a list", minimal + "  annotations: {depends-on.helm.sh/subcharts: [db]}\n", `Chart.yaml:6: metadata.annotations.depends-on.helm.sh/subcharts: is not a string: write '["db"]'`, NotCanonical},
		{"external dependencies with two slashes", minimal + "  annotations: {helm.sh/depends-on/external: Secret/a}\n", "Chart.yaml:6: metadata.annotations.helm.sh/depends-on/external: the key is not valid for an annotation: use depends-on.helm.sh/external", NotCanonical},
		{"annotation with two slashes", minimal + "  annotations: {helm.sh/depends-on/subcharts: db}\n", "Chart.yaml:6: metadata.annotations.helm.sh/depends-on/subcharts: the key is not valid for an annotation: use depends-on.helm.sh/subcharts", NotCanonical},
		{"annotation with an invalid key", minimal + "  annotations: {a b: c}\n", "Chart.yaml:6: metadata.annotations.a b: the key is not valid", NotCanonical},
		{"hooks in metadata", minimal + "  runHooksInParallel: true\n", "Chart.yaml:6: metadata.runHooksInParallel: belongs in data.runHooksInParallel", NotCanonical},
		{"description that is a number", minimal + "data:\n  description: 7\n", `Chart.yaml:7: data.description: is not a string: write "7"`, NotCanonical},
		{"keyword that is a boolean", minimal + "data:\n  keywords: [on]\n", `Chart.yaml:7: data.keywords: is not a string: write "on"`, NotCanonical},
		{"keyword without a value", minimal + "data:\n  keywords: [~]\n", "Chart.yaml:7: data.keywords: an item has no value: remove it", NotCanonical},
		{"subchart without a value", minimal + "data:\n  dependencies:\n  - {name: a, depends-on: [~]}\n", "Chart.yaml:8: data.dependencies[0].depends-on: an item has no value: remove it", NotCanonical},
		{"depends-on that is a string", minimal + "data:\n  dependencies:\n  - {name: a, depends-on: b}\n", "Chart.yaml:8: data.dependencies[0].depends-on: is not a list: write [b]", NotCanonical},
		{"type that does not exist", minimal + "data:\n  type: service\n", "Chart.yaml:7: data.type: must be application or library", Invalid},
		{"hooks that are neither parallel nor sequential", minimal + "data:\n  runHooksInParallel: maybe\n", "Chart.yaml:7: data.runHooksInParallel: must be true, false or otherChartsOnly", Invalid},
		{"hook scope that does not exist", minimal + "data:\n  hookScope: Chart\n", "Chart.yaml:7: data.hookScope: must be chart or release", Invalid},
		{"hook scope of a dependency that does not exist", minimal + "data:\n  dependencies:\n  - {name: a, hookScope: all}\n", "Chart.yaml:8: data.dependencies[0].hookScope: must be chart or release", Invalid},
		{"name that is a path", strings.Replace(minimal, "shop", "a/b", 1), `Chart.yaml:4: metadata.name: "a/b" cannot be the name of a directory`, Invalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			problems := Inspect(source(c.chart, ""))
			if c.want == "" {
				if len(problems) > 0 {
					t.Errorf("got %+v", problems)
				}
				return
			}
			if len(problems) != 1 || !strings.HasPrefix(problems[0].Error(), c.want) || problems[0].Kind != c.kind || problems[0].Column == 0 {
				t.Errorf("got\n%+v\nwant\n%s", problems, c.want)
			}
			if _, err := Translate(source(c.chart, "")); (err != nil) != (c.kind == Invalid) {
				t.Errorf("Translate: %v", err)
			}
		})
	}
}

// TestInspectRequirements checks that values in requirements.yaml, which is not a Kubernetes
// object, can have any form that Helm reads.
func TestInspectRequirements(t *testing.T) {
	if problems := Inspect(source(minimal, "requirements: [{name: a, version: 1.10, depends-on: b, alias: }]\n")); len(problems) > 0 {
		t.Errorf("got %+v", problems)
	}
}

// TestPackedFiles checks that errors about a packed chart name the files in the package.
func TestPackedFiles(t *testing.T) {
	s := source(minimal+"icon: x\n", "a: b\n")
	s.Folder, s.Packed = "charts/db/", true
	_, err := Translate(s)
	for _, want := range []string{"charts/db/Chart.v3.yaml:6: icon: ", "charts/db/requirements.v3.yaml:1: a: "} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want in it %s", err, want)
		}
	}
}
