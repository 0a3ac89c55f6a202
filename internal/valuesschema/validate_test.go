// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package valuesschema_test

import (
	"testing"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/ordered-helm/helm/internal/valuesschema"
)

// withSchema returns a chart with a schema and subcharts.
func withSchema(t *testing.T, name, schema string, subcharts ...*chart.Chart) *chart.Chart {
	t.Helper()
	ch := &chart.Chart{Metadata: &chart.Metadata{Name: name}}
	if schema != "" {
		text, err := valuesschema.Translate(valuesschema.Source{Text: []byte(schema)})
		if err != nil {
			t.Fatal(err)
		}
		ch.Schema = text
	}
	ch.SetDependencies(subcharts...)
	return ch
}

func TestValidate(t *testing.T) {
	const port = "properties: {port: {type: integer}, list: {items: {anyOf: [{type: string}, {type: boolean}]}}}\nadditionalProperties: false\n"
	withJSON := withSchema(t, "json", "")
	withJSON.Schema = []byte(`{"properties": {"port": {"type": "integer"}}}`)
	db := withSchema(t, "db", "properties: {port: {type: integer}, leaf: true}\nadditionalProperties: false", withSchema(t, "leaf", port))
	ch := withSchema(t, "shop", port+"patternProperties: {^d: true, json: true}\n", db, withJSON)
	for _, c := range []struct {
		name   string
		values map[string]any
		want   string
	}{
		{"valid", map[string]any{"port": 1, "db": map[string]any{"port": 1}}, ""},
		{"no values of a subchart", map[string]any{"db": nil}, ""},
		{"root chart", map[string]any{"port": "a"}, "shop:\n- at '/port': got string, want integer\n"},
		{"subchart", map[string]any{"db": map[string]any{"port": "a"}}, "shop/charts/db:\n- at '/db/port': got string, want integer\n"},
		{
			"subchart of a subchart, and JSON",
			map[string]any{"db": map[string]any{"leaf": map[string]any{"list": []any{1}, "x": 1}}, "json": map[string]any{"port": "a"}},
			"shop/charts/db/charts/leaf:\n- at '/db/leaf': additional properties 'x' not allowed\n- at '/db/leaf/list/0': 'anyOf' failed\n" +
				"  - at '/db/leaf/list/0': got number, want boolean\n  - at '/db/leaf/list/0': got number, want string\n" +
				"shop/charts/json:\n- at '/json/port': got string, want integer\n",
		},
		{"values that are no mapping", map[string]any{"db": "a"}, "shop/charts/db:\n- at '/db': got string, want object\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !valuesschema.Used(ch) {
				t.Error("no schema was written as YAML")
			}
			got := ""
			if err := valuesschema.Validate(ch, c.values); err != nil {
				got = err.Error()
			}
			want := c.want
			if want != "" {
				want = "values don't meet the specifications of the schema(s) in the following chart(s):\n" + want
			}
			if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
	ch = withSchema(t, "shop", "$schema: http://json-schema.org/draft-07/schema#\nproperties: {password: {pattern: '^.{12,}$'}, address: {format: ipv4}, names: {propertyNames: {pattern: ^a}}}")
	err := valuesschema.Validate(ch, map[string]any{"password": "hunter2", "address": "hunter2", "names": map[string]any{"b": 1}})
	const wantHidden = "values don't meet the specifications of the schema(s) in the following chart(s):\nshop:\n- at '/address': is not valid ipv4\n- at '/names': invalid propertyName 'b'\n" +
		"  - at '/names': does not match pattern '^a'\n- at '/password': does not match pattern '^.{12,}$'\n"
	if err == nil || err.Error() != wantHidden {
		t.Errorf("got\n%v\nwant\n%s", err, wantHidden)
	}
	if valuesschema.Used(withJSON) {
		t.Error("the schema was written as JSON")
	}
}
