// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"reflect"
	"strings"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// FuzzObject checks that ParseObject returns the same as Kubernetes' API machinery for all
// documents, and that no document that CheckAliases accepts becomes much larger than
// MaxExpandedSize.
func FuzzObject(f *testing.F) {
	for _, tt := range append(replaceTests, insertAndDeleteTests...) {
		f.Add(tt.in)
	}
	for _, seed := range []string{
		`{"a": 1, "b": 1.0, "c": 9007199254740993}`, `{a: 1}`, "{\"a\": 1, \"a\": 2}", "a: |\n  x", "a: on\n", "- a\n", "null", `{"a": "\ud800"}`, `{"a": 1} # c`,
		laughs(3), repeated(10, 10), "a: &a\n  b: *a\n", "\ufeffa: 1", "? [a]\n: b\n", "1: a\n", "a: !!binary eA==\n", "a: 1e400\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseObject(text)
		if CheckAliases(text) != nil {
			if err == nil && text[0] != '{' {
				t.Fatal("ParseObject accepts a document that CheckAliases rejects")
			}
			return
		}
		var want map[string]any
		if strings.HasPrefix(text, "{") && utiljson.Unmarshal([]byte(text), &want) == nil {
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("got %v, %v, want %v as it is JSON", got, err, want)
			}
			return
		}
		want = nil
		asJSON, wantErr := yaml.YAMLToJSON([]byte(WithFinalNewline(text)))
		if len(asJSON) > 8*(MaxExpandedSize+len(text)) {
			t.Fatalf("it has %d bytes as JSON", len(asJSON))
		}
		if wantErr == nil {
			wantErr = utiljson.Unmarshal(asJSON, &want)
		}
		if wantErr == nil && (err != nil || !reflect.DeepEqual(got, want)) {
			t.Fatalf("got %v, %v, want %v", got, err, want)
		}
	})
}
