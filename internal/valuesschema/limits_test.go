// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package valuesschema_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/internal/valuesschema"
)

// doubling returns a schema each of whose parts refers to the next one twice.
func doubling(parts int, keyword, last string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "$ref: '#/$defs/a0'\n$defs:\n  a%d: %s\n", parts, last)
	for i := range parts {
		fmt.Fprintf(&b, "  a%d: {%s: [{$ref: '#/$defs/a%d'}, {$ref: '#/$defs/a%d'}]}\n", i, keyword, i+1, i+1)
	}
	return b.String()
}

// TestLimitsOfValidation checks that schemas that are designed to take much time, memory or output
// are rejected.
func TestLimitsOfValidation(t *testing.T) {
	const tooManySteps = "the validation takes more than 1000000 steps"
	nested := map[string]any{}
	for range 20 {
		nested = map[string]any{"a": nested}
	}
	for _, c := range []struct {
		name, schema string
		values       map[string]any
		want         string
	}{
		{"references that double", doubling(20, "allOf", "{type: object}"), nil, tooManySteps},
		{"references that double and fail", doubling(20, "anyOf", "{type: string}"), nil, tooManySteps},
		{"values that double", "properties: {a: {allOf: [{$ref: '#'}, {$ref: '#'}]}}", nested, tooManySteps},
		{"of draft 7", "$schema: http://json-schema.org/draft-07/schema#\n" + doubling(20, "allOf", "{type: object}"), nil, tooManySteps},
		{"of draft 2019", "$schema: https://json-schema.org/draft/2019-09/schema\n" + doubling(20, "allOf", "{type: object}"), nil, tooManySteps},
		{"many problems", doubling(10, "allOf", "{type: string}"), nil, "\n- and 1947 more\n"},
		{"endless references", "$ref: '#/$defs/a'\n$defs: {a: {$ref: '#/$defs/b'}, b: {$ref: '#/$defs/a'}}", nil, "- at '': the schema is endless: its references form a cycle\n"},
		{"references to the whole schema", "properties: {a: {$ref: '#'}}", nested, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := valuesschema.Validate(withSchema(t, "shop", c.schema), c.values)
			if got := fmt.Sprint(err); c.want == "" && err != nil || !strings.Contains(got, c.want) || len(got) > 100_000 {
				t.Errorf("got %.2000s\nwant %s", got, c.want)
			}
		})
	}
}
