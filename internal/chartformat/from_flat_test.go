// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartformat

import (
	"reflect"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/annotation"
)

func TestFromFlat(t *testing.T) {
	for _, c := range []struct{ name, flat, want string }{
		{
			"with comments", "# first\napiVersion: v2\nname: shop\n# what it is\ndescription: a shop # in short\nversion: 0.1.0\nappVersion: \"3.6\"\n",
			"# first\napiVersion: helm.sh/v3\nkind: Chart\nmetadata:\n  name: shop\n  labels:\n    heritage: helm\n    version: 0.1.0\n    appVersion: \"3.6\"\ndata:\n  # what it is\n  description: a shop # in short\n",
		},
		{
			"everything", `apiVersion: v3
name: shop
version: 1.50
engine: gotpl
runHooksInParallel: true
hookScope: chart # with its database
deprecated: true
keywords: [a, 7]
annotations: {helm.sh/sequencing: enabled, a: yes, helm.sh/depends-on/subcharts: [db], helm.sh/depends-on/external: [Secret/a]}
dependencies:
- {name: db, version: 1.0, enabled: true, import-values: [{child: a, parent: b}], depends-on: [queue]}
- {name: queue, version: ^2, hookScope: release}
`, `apiVersion: helm.sh/v3
kind: Chart
metadata:
  name: shop
  labels:
    heritage: helm
    version: "1.5"
  annotations:
    a: "true"
    depends-on.helm.sh/subcharts: '["db"]'
    depends-on.helm.sh/external: '["Secret/a"]'
data:
  runHooksInParallel: true
  hookScope: chart # with its database
  deprecated: true
  keywords: [a, "7"]
  dependencies:
    - {name: db, version: "1", enabled: true, import-values: [{child: a, parent: b}], depends-on: [queue]}
    - {name: queue, version: ^2, hookScope: release}
`,
		},
		{
			"libraries", "name: shop\nversion: 1.0.0\nannotations: {helm.sh/libraries: '[\"a\"]'}\ndependencies:\n# what it needs\n- {name: db, version: ^1}\n- {name: a, version: ^2}\n",
			"apiVersion: helm.sh/v3\nkind: Chart\nmetadata:\n  name: shop\n  labels:\n    heritage: helm\n    version: 1.0.0\ndata:\n  dependencies:\n    # what it needs\n    - {name: db, version: ^1}\n  libraries:\n    - {name: a, version: ^2}\n",
		},
		{
			"only libraries", "name: shop\nversion: 1.0.0\nannotations: {helm.sh/libraries: '[\"a\"]'}\ndependencies: [{name: a, version: ^2}]\n",
			"apiVersion: helm.sh/v3\nkind: Chart\nmetadata:\n  name: shop\n  labels:\n    heritage: helm\n    version: 1.0.0\ndata:\n  libraries: [{name: a, version: ^2}]\n",
		},
		{"order that is not used", "name: shop\nversion: 1.0.0\nannotations: {helm.sh/sequencing: disabled}\n", "apiVersion: helm.sh/v3\nkind: Chart\nmetadata:\n  name: shop\n  labels:\n    heritage: helm\n    version: 1.0.0\n  annotations:\n    helm.sh/sequencing: disabled\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := FromFlat([]byte(c.flat))
			if err != nil || string(got) != c.want {
				t.Fatalf("%v, got\n%s\nwant\n%s", err, got, c.want)
			}
			if problems := Inspect(Source{ChartYAML: got}); len(problems) > 0 {
				t.Errorf("it is not canonical: %v", problems)
			}
		})
	}
}

func TestFromFlatErrors(t *testing.T) {
	for text, want := range map[string]string{
		"name: a\nversion: 1\ncondition: b\n": "Chart.yaml:3: condition: does not exist in charts of helm.sh/v3: remove it",
		"[a]":                                 "Chart.yaml:1: must be a mapping",
		"name: a\nannotations: [b]\n":         "Chart.yaml:2: annotations: must be a mapping",
		"a: [":                                "Chart.yaml:1: invalid YAML",
		"description: &a b\nname: *a\nversion: 1\n": "replace the aliases in the file",
	} {
		if _, err := FromFlat([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want in it %s", text, err, want)
		}
	}
}

// FuzzFromFlat checks that a chart that Helm can read is the same after it was rewritten and
// translated back.
func FuzzFromFlat(f *testing.F) {
	f.Add("apiVersion: v2\nname: shop\nversion: 1.10\nannotations: {a: 7, b: on}\ndependencies: [{name: a, version: 1.0}]\n")
	f.Add("apiVersion: v1\nname: y\nversion: 1.0.0\nmaintainers: [{name: 7}]\nkeywords: [on, 1e3]\nsources: [0x1F]\n")
	f.Fuzz(func(t *testing.T, flat string) {
		var want, got chart.Metadata
		if yaml.UnmarshalStrict([]byte(flat), &want) != nil || want.Validate() != nil || strings.Contains(flat, "*") {
			return
		}
		text, err := FromFlat([]byte(flat))
		if err != nil {
			return
		}
		back, err := Translate(Source{ChartYAML: text})
		if err != nil {
			return
		}
		if err := yaml.Unmarshal(back, &got); err != nil || got.Validate() != nil {
			t.Fatalf("%v\n%s\n%s", err, text, back)
		}
		delete(got.Annotations, annotation.Sequencing)
		delete(want.Annotations, annotation.Sequencing)
		for _, m := range []*chart.Metadata{&want, &got} {
			m.APIVersion = ""
			if len(m.Annotations) == 0 {
				m.Annotations = nil
			}
		}
		wantText, _ := yaml.Marshal(want)
		if gotText, _ := yaml.Marshal(got); !reflect.DeepEqual(wantText, gotText) {
			t.Errorf("got\n%s\nwant\n%s\nfrom\n%s", gotText, wantText, text)
		}
	})
}
