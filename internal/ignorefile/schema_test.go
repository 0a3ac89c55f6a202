// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package ignorefile_test

import (
	"testing"

	"github.com/ordered-helm/helm/internal/ignorefile"
	"github.com/ordered-helm/helm/internal/testutil/editorschema"
)

// TestSchema checks that Parse and the schema for editors accept the same documents. The schema cannot express the
// syntax of paths.
//   - "is a JSON schema for editors"
//   - "It does not check the syntax of paths"
func TestSchema(t *testing.T) {
	schema := editorschema.Read(t, "../../docs/schemas/ignore.schema.json")
	rule := func(text string) string { return "ignore: [{" + text + "}]" }
	match := func(text string) string { return rule("match: {" + text + "}") }
	for name, tt := range map[string]struct {
		valid bool
		texts []string
	}{
		"documents":         {true, []string{"ignore:", "ignore: []"}},
		"invalid documents": {false, []string{"", "[]", "{}", "ignored: []", "ignore: {}", "ignore: [a]", "ignore: [null]", "ignore: []\nmore: 1"}},
		"rules": {true, []string{
			rule("match: "), rule("match: {}"), rule("match: {}, fields: [a]"), rule("match: {}, managers: [a*]"),
			rule("match: {}, fields: [a], managers: []"), rule("match: {}, fields: , managers: [a]"),
		}},
		"invalid rules": {false, []string{
			rule(""), rule("fields: [a]"), rule("match: a"), rule("match: {}, fields: a"), rule("match: {}, fields: []"), rule("match: {}, fields: "),
			rule("match: {}, fields: [], managers: []"), rule("match: {}, fields: ['']"), rule("match: {}, managers: [1]"), rule("match: {}, field: [a]"),
		}},
		"criteria":         {true, []string{match("kind: Deployment"), match("kind: Deployment.apps"), match("name: web*, namespace: '*'"), match("labels: {a: b}"), match("labels: ")}},
		"invalid criteria": {false, []string{match("kind: apps/Deployment"), match("kind: "), match("name: ''"), match("name: 1"), match("labels: {a: 1}"), match("labels: []"), match("group: apps")}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, text := range tt.texts {
				if err := schema.Validate(t, text); (err == nil) != tt.valid {
					t.Errorf("the schema says of %q: %v", text, err)
				}
				if _, err := ignorefile.Parse("drift.yaml", []byte(text)); (err == nil) != tt.valid {
					t.Errorf("Parse says of %q: %v", text, err)
				}
			}
		})
	}
}
