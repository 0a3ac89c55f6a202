// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package ignorefile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/internal/fielddiff"
	"github.com/ordered-helm/helm/internal/ignorefile"
)

// replicas is the path spec.replicas.
var replicas = fielddiff.Path{{Name: "spec"}, {Name: "replicas"}}

func parse(t *testing.T, rules string) *ignorefile.File {
	t.Helper()
	file, err := ignorefile.Parse("drift.yaml", []byte("ignore:\n"+rules))
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// TestRules checks which differences are ignored.
//   - "A difference is ignored if a rule has everything in common with it"
//   - "What a rule omits is not checked; match is required"
//   - "the object meets all criteria under match"
//   - "the field is one of fields, or is below one of them"
//   - "the client that has set it is one of managers"
//   - "A rule without fields and managers ignores all differences of its objects, even that they are missing"
func TestRules(t *testing.T) {
	object := ignorefile.Object{Group: "apps", Kind: "Deployment", Namespace: "prod", Name: "web-1", Labels: map[string]string{"a": "b"}}
	for rule, want := range map[string]string{
		"{match: {}}":                                                  "object field",
		"{match: {kind: Deployment}}":                                  "object field",
		"{match: {kind: Deployment.apps, name: 'web*'}}":               "object field",
		"{match: {kind: Deployment.extensions}}":                       "",
		"{match: {kind: StatefulSet}}":                                 "",
		"{match: {name: web}}":                                         "",
		"{match: {namespace: 'p*d', labels: {a: b}}}":                  "object field",
		"{match: {namespace: dev}}":                                    "",
		"{match: {labels: {a: c}}}":                                    "",
		"{match: {}, fields: [spec.replicas]}":                         "field",
		"{match: {}, fields: [spec]}":                                  "field",
		"{match: {}, fields: [spec.paused]}":                           "",
		"{match: {}, managers: ['kube*']}":                             "field",
		"{match: {}, managers: [other]}":                               "",
		"{match: {}, fields: [spec.replicas], managers: [kubectl]}":    "field",
		"{match: {}, fields: [spec.replicas], managers: [controller]}": "",
		"{match: {}, fields: [spec.paused], managers: [kubectl]}":      "",
	} {
		rules := parse(t, "- "+rule).For(object)
		var got []string
		if rules.IgnoreObject() {
			got = append(got, "object")
		}
		if rules.IgnoreField(replicas, "kubectl") {
			got = append(got, "field")
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got %q, want %q", rule, got, want)
		}
		if strings.Contains(rule, "managers") && rules.IgnoreField(replicas, "") {
			t.Errorf("%s ignores a field whose manager is not known", rule)
		}
	}
	var none *ignorefile.File
	if rules := none.For(object); rules.IgnoreObject() || rules.IgnoreField(replicas, "a") || len(none.Unmatched()) > 0 {
		t.Error("there are rules without a file")
	}
}

// TestUnmatched checks the messages about rules that match no object.
//   - "A rule that matches no object of any release is reported as a warning"
func TestUnmatched(t *testing.T) {
	file := parse(t, "- {match: {kind: Job}}\n- match: {kind: Secret}\n")
	file.For(ignorefile.Object{Group: "batch", Kind: "Job"})
	if got := fmt.Sprint(file.Unmatched()); got != "[drift.yaml:3: ignore[1] matches no object: correct the rule, or remove it]" {
		t.Errorf("got %s", got)
	}
}

// TestErrors checks that mistakes are errors which name the place.
//   - "Unknown fields and other mistakes are errors that name the file, the line and the rule"
func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                                        "drift.yaml:1: has no rules: write them under ignore",
		"{}":                                      "drift.yaml:1: has no rules: write them under ignore",
		"[]":                                      "drift.yaml:1: must be a mapping",
		"a: {":                                    "drift.yaml:1: invalid YAML: did not find expected node content",
		"ignores: []":                             "drift.yaml:1: ignores: unknown field: did you mean ignore?",
		"ignore: {}":                              "drift.yaml:1: ignore: must be a list",
		"ignore:\n- fields: [a]":                  "drift.yaml:2: ignore[0]: match is required",
		"ignore: [a]":                             "drift.yaml:1: ignore[0]: must be a mapping",
		"ignore: []\n---\nignore: []":             "drift.yaml:2: has more than one document",
		"ignore: []\nignore: []":                  "drift.yaml:2: ignore: is defined twice",
		"ignore: [{match: {name: 1}}]":            "ignore[0].match.name: must be a string: quote it",
		"ignore: [{match: {name: ''}}]":           "ignore[0].match.name: must not be empty",
		"ignore: [{match: {kind: 'a*'}}]":         `ignore[0].match.kind: "a*" must be KIND or KIND.GROUP`,
		"ignore: [{match: {chart: a}}]":           "ignore[0].match.chart: unknown field",
		"ignore: [{match: {labels: {a: 1}}}]":     "ignore[0].match.labels.a: must be a string",
		"ignore: [{match: {labels: a}}]":          "ignore[0].match.labels: must be a mapping",
		"ignore: [{match: {}, fields: ['a[']}]":   `ignore[0].fields[0]: "a[" has a [ without ]`,
		"ignore: [{match: {}, fields: a}]":        "ignore[0].fields: must be a list",
		"ignore: [{match: {}, fields: []}]":       "ignore[0]: an empty list ignores nothing",
		"ignore: [{match: {}, managers: [[a]]}]":  "ignore[0].managers[0]: must be a string",
		"ignore: [{[a]: b, match: {}}]":           "ignore[0]: the name of a field must be a string",
		strings.Repeat("#", ignorefile.MaxSize+1): "the maximum is 1048576",
		"ignore: [" + strings.Repeat("{match: {}},", 1001) + "]":             "ignore: has 1001 rules; the maximum is 1000",
		"ignore: [{match: {}, fields: [" + strings.Repeat("a", 1025) + "]}]": "is longer than 1024 characters",
	} {
		_, err := ignorefile.Parse("drift.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: got %v, want %q", text, err, want)
		}
	}
}

// FuzzParse checks that Parse accepts or rejects any text, and that rules can be applied.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"ignore: [{match: {kind: Job, labels: {a: b}}, fields: [a.b], managers: [c]}]", "ignore: [&a {match: {}}, *a]", "a: 1", "ignore:\n- match: {name: '*'}\n  fields: ['**[0]']\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file, err := ignorefile.Parse("drift.yaml", []byte(text))
		if (file == nil) == (err == nil) {
			t.Fatalf("got %v and %v", file, err)
		}
		rules := file.For(ignorefile.Object{Kind: "Job"})
		rules.IgnoreField(replicas, "a")
		rules.IgnoreObject()
		file.Unmatched()
	})
}
