// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package orderfile

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/joinederror"
)

// header are the first two lines of an order file.
const header = "apiVersion: helm.sh/v1alpha1\nkind: Order\n"

const example = header + `charts:
  - path: kafka
    dependsOn: [zookeeper]
    hookScope: chart
    readinessTimeout: 5m
  - path: airflow
    ownDependsOn: [postgresql]
    external: ["release:platform/vault"]
resources:
  - match: {chart: keycloak, kind: StatefulSet.apps, name: "*-postgresql", labels: {tier: db}}
    layer: database
    dependsOn: [config, secrets]
    external: [Secret/registry]
    readiness:
      success: ["{.readyReplicas} >= 1"]
      failure: []
      timeout: 5m
  - match: {}
`

// parse parses an order file of the chart shop that is valid.
func parse(t testing.TB, text string) *File {
	t.Helper()
	f, err := Parse("shop/order.yaml", "shop", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestParse(t *testing.T) {
	f := parse(t, example)
	ready, err := annotation.ParseExpression("{.readyReplicas} >= 1")
	if err != nil {
		t.Fatal(err)
	}
	place := func(path string, line int) Rule { return Rule{"shop/order.yaml", path, line} }
	want := &File{
		Name: "shop/order.yaml", Chart: "shop", Text: []byte(example),
		Charts: []ChartRule{
			{
				Rule: place("charts[0]", 4), Path: "kafka", DependsOn: []string{"zookeeper"}, HookScope: "chart",
				ReadinessTimeout: 5 * time.Minute, path: chartPattern{segments: []string{"kafka"}},
			},
			{
				Rule: place("charts[1]", 8), Path: "airflow", OwnDependsOn: []string{"postgresql"},
				External: []string{"release:platform/vault"}, path: chartPattern{segments: []string{"airflow"}},
			},
		},
		Resources: []ResourceRule{
			{
				Rule: place("resources[0]", 12),
				Match: Match{
					Chart: "keycloak", Kind: "StatefulSet", Group: "apps", Name: "*-postgresql",
					Labels: map[string]string{"tier": "db"},
				},
				Layer: "database", DependsOn: []string{"config", "secrets"}, External: []string{"Secret/registry"},
				Success: []annotation.ReadinessExpression{ready}, Timeout: 5 * time.Minute,
				chart: chartPattern{segments: []string{"keycloak"}},
			},
			{Rule: place("resources[1]", 20), chart: chartPattern{segments: []string{"**"}, wildcard: true}},
		},
	}
	if !reflect.DeepEqual(f, want) {
		t.Errorf("got %+v\nwant %+v", f, want)
	}
}

// TestParseValid checks what is valid.
//   - "Order files can be written as JSON"
//   - "YAML anchors and aliases can be used"
//   - "Names, expressions and durations are written as in annotations"
//   - "Empty values are ignored"
func TestParseValid(t *testing.T) {
	tests := []struct{ name, text string }{
		{"no rules", header},
		{"empty lists", header + "charts:\nresources: []\n"},
		{"JSON", `{"apiVersion": "helm.sh/v1alpha1", "kind": "Order", "charts": [{"path": "a", "dependsOn": ["b"]}]}`},
		{"an empty document at the end", header + "---\n"},
		{"anchors", header + "charts: [{path: a, dependsOn: &d [c]}, {path: b, dependsOn: *d}]\n"},
		{"names as in annotations", header + "charts: [{path: a, dependsOn: 'b, c'}]\n"},
		{"values that are empty", header + "charts: [{path: a, dependsOn: , hookScope: '', readinessTimeout: ''}]\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { parse(t, tt.text) })
	}
}

// TestParseProblems checks what is invalid. Each error names the line.
//   - "path | the chart to which the rule applies; required"
//   - "match | the resources to which the rule applies; required"
//   - "but not merge keys (<<)"
//   - "a path with .. is an error, and so is dependsOn for ."
//   - "If the path names only this chart, it is an error that the chart depends on itself"
//   - "Unknown fields, fields that are defined twice, values of the wrong type, and a file with several documents are errors"
//   - "So is another version of helm.sh in an order file"
//   - "Names, expressions and durations are written as in annotations"
func TestParseProblems(t *testing.T) {
	tests := []struct {
		name, text string
		// want are the errors without the name of the file.
		want []string
	}{
		{"another version", "kind: Order\napiVersion: helm.sh/v1beta1\n", []string{
			`2: apiVersion: "helm.sh/v1beta1" is not supported: this version of Ordered Helm reads helm.sh/v1alpha1; upgrade Ordered Helm`,
		}},
		{"invalid YAML", header + "charts: [\n", []string{"invalid YAML"}},
		{"two documents", header + "---\n" + header, []string{"4: has more than one document"}},
		{"invalid YAML in a second document", header + "---\na: [\n", []string{"invalid YAML"}},
		{"unknown fields", header + "chart: []\ncharts:\n- path: a\n  depends-on: [b]\n  layer: x\n", []string{
			"3: chart: unknown field: did you mean charts?",
			"6: charts[0].depends-on: unknown field: did you mean dependsOn?",
			"7: charts[0].layer: unknown field: must be one of path, dependsOn,",
		}},
		{"unknown fields in resources", header + "resources:\n- match: {charts: a}\n  readiness: {timout: 1s}\n", []string{
			"4: resources[0].match.charts: unknown field: did you mean chart?",
			"5: resources[0].readiness.timout: unknown field: did you mean timeout?",
		}},
		{"a field twice", header + "charts: []\ncharts: []\n", []string{"4: charts: is defined twice"}},
		{"merge keys", header + "charts:\n- &a {path: a}\n- {<<: *a}\n", []string{
			"5: charts[1]: YAML merge keys (<<) are not supported", "5: charts[1]: path is required",
		}},
		{"a mapping as a key", header + "? {a: b}\n: c\n", []string{"3: the name of a field must be a string"}},
		{"no lists", header + "charts: {}\nresources: a\n", []string{"3: charts: must be a list", "4: resources: must be a list"}},
		{"rules that are no mappings", header + "charts: [a]\nresources: [[]]\n", []string{
			"3: charts[0]: must be a mapping", "4: resources[0]: must be a mapping",
		}},
		{"paths that leave the subtree", header + "charts:\n- path: ../kafka\n- path: /kafka\nresources:\n- match: {chart: ../b}\n", []string{
			`4: charts[0].path: "../kafka" must not contain ..: an order file applies to its own chart and the charts below it`,
			`5: charts[1].path: "/kafka" must not begin with /`,
			`7: resources[0].match.chart: "../b" must not contain ..`,
		}},
		{"other invalid paths", header + "charts:\n- path: a//b\n- path: ./a\n- path: a**\n- path: ''\n- path: 1\n- path: [a]\n", []string{
			`4: charts[0].path: "a//b" must consist of names`, `5: charts[1].path: "./a" must consist of names`,
			`6: charts[2].path: "a**" must not contain ** beside other characters`, "7: charts[3].path: must not be empty",
			"8: charts[4].path: must be a string", "9: charts[5].path: must be a string",
		}},
		{"a chart that depends on itself", header + "charts:\n- path: a/b\n  dependsOn: [c, b]\n", []string{
			`5: charts[0].dependsOn: "a/b" cannot depend on itself`,
		}},
		{"siblings of the own chart", header + "charts:\n- path: .\n  dependsOn: [c]\n", []string{
			"5: charts[0].dependsOn: the path . is the chart that the file belongs to",
		}},
		{"a layer that depends on itself", header + "resources:\n- match: {}\n  layer: a\n  dependsOn: [a]\n", []string{
			`6: resources[0].dependsOn: the layer "a" cannot depend on itself`,
		}},
		{"names", header + "charts:\n- path: a\n  dependsOn: [1]\n  external: {}\nresources:\n- match: {}\n  layer: [a]\n  dependsOn: [a b]\n", []string{
			"5: charts[0].dependsOn: [1]: item 1 must be a string", "6: charts[0].external: {}: must be a list of strings, not a map",
			`9: resources[0].layer: ["a"]: a resource belongs to one layer`,
			`10: resources[0].dependsOn: ["a b"]: "a b" must not contain whitespace`,
		}},
		{"durations", header + "charts:\n- path: a\n  readinessTimeout: 5\nresources:\n- match: {}\n  readiness: {timeout: 0s}\n", []string{
			"5: charts[0].readinessTimeout: 5: must be a duration", `8: resources[0].readiness.timeout: "0s": must be greater than 0`,
		}},
		{"expressions", header + "resources:\n- match: {}\n  readiness:\n    success: [a, b]\n    failure: ['{.a} = 1']\n", []string{
			`6: resources[0].readiness.success: ["a","b"]: "a" is not a readiness expression`,
			`6: resources[0].readiness.success: ["a","b"]: "b" is not a readiness expression`,
			`7: resources[0].readiness.failure: ["{.a} = 1"]: is not a readiness expression`,
		}},
		{"hookScope", header + "charts:\n- path: a\n  hookScope: Chart\n- path: b\n  hookScope: true\n", []string{
			"5: charts[0].hookScope: must be chart or release", "7: charts[1].hookScope: must be chart or release",
		}},
		{"match", header + "resources:\n- match:\n    kind: apps/Deployment\n    name:\n    labels: {b: true, a: [x]}\n- layer: a\n", []string{
			`5: resources[0].match.kind: "apps/Deployment" must be KIND or KIND.GROUP`, "6: resources[0].match.name: must not be empty",
			"7: resources[0].match.labels.a: must be a string: quote it", "7: resources[0].match.labels.b: must be a string: quote it",
			"8: resources[1]: match is required",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { checkProblems(t, tt.text, tt.want) })
	}
}

// checkProblems checks that parsing text reports exactly the problems in want.
func checkProblems(t *testing.T, text string, want []string) {
	t.Helper()
	f, err := Parse("shop/order.yaml", "shop", []byte(text))
	problems := joinederror.Split(err)
	if f != nil || len(problems) != len(want) {
		t.Fatalf("got %v, %v", f, err)
	}
	for i, p := range problems {
		if e, is := errors.AsType[*Error](p); !is || e.Line < 1 || e.File != "shop/order.yaml" {
			t.Errorf("got %#v", p)
		}
		if got := p.Error(); !strings.Contains(got, want[i]) {
			t.Errorf("got  %s\nwant %s", got, want[i])
		}
	}
}

// TestParseOther checks which files are not order files.
//   - "An order.yaml of another API group or kind is ignored"
func TestParseOther(t *testing.T) {
	tests := []struct{ name, text string }{
		{"empty", ""},
		{"a comment", "# nothing\n"},
		{"text", "helm.sh/v1alpha1 Order\n"},
		{"a list", "- a\n"},
		{"another group", "apiVersion: shop.example.com/v1alpha1\nkind: Order\n"},
		{"the core group", "apiVersion: v1\nkind: Order\n"},
		{"a group without a version", "apiVersion: helm.sh\nkind: Order\n"},
		{"another kind", "apiVersion: helm.sh/v1alpha1\nkind: Chart\n"},
		{"no apiVersion", "kind: Order\n"},
		{"no kind", "apiVersion: helm.sh/v1alpha1\n"},
		{"an apiVersion that is a list", "apiVersion: [helm.sh/v1alpha1]\nkind: Order\n"},
		{"no YAML", "{{ template }}: [\n"},
		{"too large", strings.Repeat("a: b\n", MaxSize)},
		{"another document first", "a: b\n---\n" + header},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if f, err := Parse("shop/order.yaml", "shop", []byte(tt.text)); f != nil || !errors.Is(err, ErrOther) {
				t.Errorf("got %v, %v", f, err)
			}
		})
	}
}

func TestParseLimits(t *testing.T) {
	rules := func(n int) string { return header + "charts:\n" + strings.Repeat("- path: a\n", n) }
	name := func(n int) string {
		return fmt.Sprintf("%sresources: [{match: {name: %s}}]\n", header, strings.Repeat("a", n))
	}
	expanding := header + "charts:\n- path: a\n  dependsOn: &a [" + strings.Repeat("a", MaxSize/2) + "]\n" +
		strings.Repeat("- {path: b, dependsOn: *a}\n", 100)
	tests := []struct {
		name, text string
		want       []string
	}{
		{"size", header + strings.Repeat("#", MaxSize-len(header)), nil},
		{"more", header + strings.Repeat("#", MaxSize-len(header)+1), []string{"1: has 1048577 bytes; the maximum is 1048576"}},
		{"rules", rules(MaxRules), nil},
		{"more rules", rules(MaxRules) + "resources: [{match: {}}]\n", []string{"1: has 10001 rules; the maximum is 10000"}},
		{"a pattern", name(MaxPatternLength), nil},
		{"a longer pattern", name(MaxPatternLength + 1), []string{"3: resources[0].match.name: has 1025 bytes; the maximum is 1024"}},
		{"aliases", expanding, []string{"its aliases expand to more than 16 MiB"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.want == nil {
				parse(t, tt.text)
				return
			}
			checkProblems(t, tt.text, tt.want)
		})
	}
}

// FuzzParse checks that every text is an order file, something else, or reported with lines.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", example, header, header + "charts: [{path: '**', dependsOn: [a]}]", header + "charts: &a [*a]", header + "resources: [{match: {labels: {<<: x}}}]",
		"apiVersion: helm.sh/v1\nkind: Order", header + "---\n" + header, header + "? &a [*a]\n: *a", header + "charts:\n- path: *b",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := Parse("order.yaml", "shop", text)
		switch {
		case err == nil && file == nil, err != nil && file != nil:
			t.Fatalf("got %v, %v", file, err)
		case err == nil:
			e := NewSet([]*File{file}).Evaluate([]ChartNode{{Path: "shop", Disabled: []string{"x"}}, {Path: "shop/a"}})
			if len(e.Unmatched()) > len(file.Charts)+len(file.Resources) {
				t.Fatal("too many rules")
			}
		case errors.Is(err, ErrOther):
		default:
			for _, p := range joinederror.Split(err) {
				if e, is := errors.AsType[*Error](p); !is || e.Line < 1 || e.Problem == "" {
					t.Fatalf("got %#v", p)
				}
			}
		}
	})
}
