// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartsource

import (
	"encoding/json"
	"errors"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
)

// TestForeignReferences checks which schemas refer to other documents:
//   - "Schemas that refer to other documents"
//   - "References within a schema (#/…) and the drafts of json-schema.org in $schema are allowed"
func TestForeignReferences(t *testing.T) {
	for name, c := range map[string]struct{ schema, want string }{
		"none":                  {`{"type": "object"}`, ""},
		"within the schema":     {`{"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {}}}`, ""},
		"draft":                 {`{"$schema": "http://json-schema.org/draft-07/schema#"}`, ""},
		"newest draft":          {`{"$schema": "https://json-schema.org/draft/2020-12/schema"}`, ""},
		"property of this name": {`{"properties": {"$ref": {"type": "string"}}}`, ""},
		"server":                {`{"$ref": "https://example.com/a.json"}`, "https://example.com/a.json"},
		"file":                  {`{"items": [{"$ref": "file:///etc/passwd"}]}`, "file:///etc/passwd"},
		"relative":              {`{"$ref": "a.json"}`, "a.json"},
		"dynamic":               {`{"$dynamicRef": "a.json#b"}`, "a.json#b"},
		"other schema":          {`{"$schema": "https://example.com/schema"}`, "https://example.com/schema"},
		"draft of another host": {`{"$schema": "file://json-schema.org/draft-07/schema"}`, "file://json-schema.org/draft-07/schema"},
	} {
		t.Run(name, func(t *testing.T) {
			var schema any
			if err := json.Unmarshal([]byte(c.schema), &schema); err != nil {
				t.Fatal(err)
			}
			if got := foreignReference(schema); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			sub := &chart.Chart{Metadata: &chart.Metadata{Name: "db"}, Schema: []byte(c.schema)}
			parent := &chart.Chart{Metadata: &chart.Metadata{Name: "shop"}}
			parent.AddDependency(sub)
			refused, ok := errors.AsType[*Error](checkSchemas(parent))
			if ok != (c.want != "") || ok && refused.Reason != ReasonInvalid {
				t.Errorf("in a subchart: got %v", refused)
			}
		})
	}
}
