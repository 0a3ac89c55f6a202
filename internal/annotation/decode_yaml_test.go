// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
	kubeyaml "sigs.k8s.io/yaml"
)

func node(t *testing.T, text string) *yaml.Node {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte("x: &anchor [a]\nv: "+text), &doc); err != nil {
		t.Fatal(err)
	}
	return doc.Content[0].Content[3]
}

// TestValueReadsWhatKubernetesReads compares scalars with the YAML parser of Kubernetes and
// Helm.
func TestValueReadsWhatKubernetesReads(t *testing.T) {
	for _, text := range []string{
		"a", "on", "Off", "YES", "n", "y", "True", "FALSE", "null", "~", "", "1", "-1", "+1", "010", "0o7", "0x1F", "1_000",
		"1e3", "1.5", "1.5.0", ".5", "12e03", "1:30", "2024-01-01", "=", "<<", "---", "nope", "yesterday", "null-ish",
		`"on"`, `'1'`, "!!str 1", "!!int 1", "!!null x", "!!bool on", "!mine x", "|\n  on", ">-\n  1", "a\n  b", "a\n\n  b", "é",
	} {
		var theirs struct{ V any }
		if err := kubeyaml.Unmarshal([]byte("v: "+text), &theirs); err != nil && !strings.Contains(text, "!") {
			t.Fatalf("%q: %v", text, err)
		}
		_, wantText := theirs.V.(string)
		got := DecodeYAML(node(t, text))
		if gotText, isText := got.(string); isText != wantText || isText && gotText != theirs.V || (got == nil) != (theirs.V == nil) {
			t.Errorf("%q: got %#v, Kubernetes reads %#v", text, got, theirs.V)
		}
	}
}

func TestValueOfCollections(t *testing.T) {
	for text, want := range map[string]any{
		"[a, on, '1', null]": []any{"a", rawScalar("on"), "1", nil},
		"\n- a\n- b":         []any{"a", "b"},
		"*anchor":            []any{"a"},
		"[*anchor]":          []any{[]any{"a"}},
		"{a: b}":             map[string]any{"a": "b"},
		"&self [*self]":      []any{[]any{[]any{[]any{}}}},
		"&self {a: *self}":   map[string]any{},
	} {
		if got := DecodeYAML(node(t, text)); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %#v, want %#v", text, got, want)
		}
	}
}

// TestLegalValue checks that lists become JSON strings, and that strings are unchanged.
func TestLegalValue(t *testing.T) {
	tests := []struct {
		name, text, want string
		change           bool
		reason           string
	}{
		{"a string stays", "a", "", false, ""},
		{"a string that YAML 1.1 alone quotes stays", `"on"`, "", false, ""},
		{"a JSON list stays, even a malformed one", `'["a"'`, "", false, ""},
		{"no value stays", "", "", false, ""},
		{"a date is text to Kubernetes", "2024-01-01", "", false, ""},
		{"flow list", `[a, "b"]`, `["a","b"]`, true, ""},
		{"block list", "\n- a\n- b", `["a","b"]`, true, ""},
		{"alias of a list", "*anchor", `["a"]`, true, ""},
		{"empty list", "[]", "[]", true, ""},
		{"list is normalized, commas stay", `[" a, b ", "", " a, b"]`, `["a, b"]`, true, ""},
		{"comparison signs stay", `["a<1", "b>2"]`, `["a<1","b>2"]`, true, ""},
		{"number", "1.50", "", false, "k: 1.50: must be a list of strings, not a number or boolean"},
		{"boolean of YAML 1.1", "on", "", false, "k: on: must be a list of strings, not a number or boolean"},
		{"map", "{a: b}", "", false, `k: {"a":"b"}: must be a list of strings, not a map`},
		{"list of lists", "[[a]]", "", false, `k: [["a"]]: must be a list of strings, not a list of lists`},
		{"list with a number", "[a, 010]", "", false, `k: ["a","010"]: item 010 must be a string: quote it`},
		{"list with a boolean of YAML 1.1", "[no]", "", false, `k: ["no"]: item no must be a string: quote it`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, change, err := CanonicalValue("k", node(t, tt.text))
			if got != tt.want || change != tt.change || (err != nil) != (tt.reason != "") {
				t.Fatalf("got %q, %v, %v", got, change, err)
			}
			var invalid *ValueError
			if err != nil && (!errors.As(err, &invalid) || !strings.HasPrefix(err.Error(), tt.reason)) {
				t.Errorf("got %v, want %s", err, tt.reason)
			}
		})
	}
	if got, err := JSONList(nil); got != "[]" || err != nil {
		t.Errorf("JSONList(nil) = %q, %v", got, err)
	}
}
