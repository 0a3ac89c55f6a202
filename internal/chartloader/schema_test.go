// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartloader_test

import (
	"bytes"
	"strings"
	"testing"

	helmloader "helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/ordered-helm/helm/internal/chartloader"
)

const (
	yamlSchema = "type: object\nproperties: {port: {$ref: 'schemas/port.yaml'}}\n"
	jsonSchema = `{"type": "object", "$defs": {"schemas/port.yaml": {"type": "integer"}}, "properties": {"port": {"$ref": "#/$defs/schemas~1port.yaml"}}}`
)

// TestValuesSchema loads charts with a values.schema.yaml, as they are written and as they are
// packed, at the top and as subcharts.
func TestValuesSchema(t *testing.T) {
	flat := tree{"Chart.yaml": chartYAML("db", ""), "values.schema.yaml": yamlSchema, "schemas/port.yaml": "type: integer"}
	resource := flat.with("Chart.yaml", chartV3YAML("db", ""))
	for _, c := range []struct {
		name  string
		files tree
		path  []string // to the chart
	}{
		{"flat chart", flat, nil},
		{"chart of the format helm.sh/v3", resource, nil},
		{"with both", resource.with("values.schema.json", jsonSchema), nil},
		{"subchart", resource.below("charts/db/").with("Chart.yaml", chartYAML("shop", "")), []string{"db"}},
		{"subchart in an archive", tree{"Chart.yaml": chartV3YAML("shop", ""), "charts/db.tgz": flat.archive(t, "db")}, []string{"db"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ch, err := chartloader.LoadFiles(c.files.buffered())
			if err != nil {
				t.Fatal(err)
			}
			packed, err := chartloader.CanonicalFiles(c.files.buffered())
			if err != nil {
				t.Fatal(err)
			}
			stock, err := helmloader.LoadFiles(packed)
			if err != nil {
				t.Fatal(err)
			}
			schema := findSubchart(t, ch, c.path...).Schema
			if got := findSubchart(t, stock, c.path...).Schema; !bytes.Equal(got, schema) {
				t.Errorf("Helm loads the schema %s instead of %s", got, schema)
			}
			valid, invalid := map[string]any{"port": 1}, map[string]any{"port": "a"}
			if chartutil.ValidateAgainstSingleSchema(valid, schema) != nil || chartutil.ValidateAgainstSingleSchema(invalid, schema) == nil {
				t.Errorf("the schema is %s", schema)
			}
			if again, err := chartloader.CanonicalFiles(packed); err != nil || len(again) != len(packed) {
				t.Errorf("the conversion of packed files has %d files instead of %d, %v", len(again), len(packed), err)
			}
		})
	}
}

// TestValuesSchemaPrecedence checks that the JSON counts in flat charts with both schemas.
func TestValuesSchemaPrecedence(t *testing.T) {
	for _, text := range []string{yamlSchema, "not: [a schema", "$ref: https://example.com"} {
		files := tree{"Chart.yaml": chartYAML("db", ""), "values.schema.yaml": text, "values.schema.json": `{"type": "object"}`}
		ch, err := chartloader.LoadFiles(files.buffered())
		if err != nil || string(ch.Schema) != files["values.schema.json"] {
			t.Errorf("%q: the schema is %s, %v", text, ch.Schema, err)
		}
	}
}

// TestValuesSchemaInOtherDirectory checks that files of the same name elsewhere are no schemas.
func TestValuesSchemaInOtherDirectory(t *testing.T) {
	files := tree{"Chart.yaml": chartYAML("db", ""), "files/values.schema.yaml": "a: [", "charts/_a/values.schema.yaml": "a: ["}
	if ch, err := chartloader.LoadFiles(files.buffered()); err != nil || ch.Schema != nil {
		t.Errorf("the schema is %s, %v", ch.Schema, err)
	}
}

func TestValuesSchemaErrors(t *testing.T) {
	for _, c := range []struct {
		name  string
		files tree
		want  string
	}{
		{"invalid", tree{"Chart.yaml": chartYAML("shop", ""), "values.schema.yaml": "\ntype: strng"}, "values.schema.yaml:2: is not a JSON Schema: type: "},
		{
			"invalid in a subchart", tree{"Chart.yaml": chartYAML("shop", ""), "charts/db/Chart.yaml": chartYAML("db", ""), "charts/db/values.schema.yaml": "\ntype: strng"},
			"charts/db/values.schema.yaml:2: is not a JSON Schema: type: ",
		},
		{
			"file of another chart", tree{"Chart.yaml": chartYAML("shop", ""), "a.yaml": "true", "charts/db/Chart.yaml": chartYAML("db", ""), "charts/db/values.schema.yaml": "$ref: ../../a.yaml"},
			"charts/db/values.schema.yaml:1: the reference leads to ../../a.yaml, which is outside the chart",
		},
		{
			"JSON that refers to a file", tree{"Chart.yaml": chartV3YAML("shop", ""), "values.schema.yaml": yamlSchema, "schemas/port.yaml": "true", "values.schema.json": `{"type": "object", "properties": {"port": {"$ref": "schemas/port.yaml"}}}`},
			"values.schema.json: refers to files, which Helm would not find: remove it",
		},
		{
			"schemas that differ", tree{"Chart.yaml": chartV3YAML("shop", ""), "values.schema.yaml": "type: object", "values.schema.json": "{}"},
			"values.schema.yaml:1: differs from values.schema.json at /type: remove one of the files",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := chartloader.LoadFiles(c.files.buffered()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got\n%v\nwant\n%s", err, c.want)
			}
		})
	}
}

// TestCanonicalArchiveAddsNoSchema checks that an archive that is pushed stays as it is.
func TestCanonicalArchiveAddsNoSchema(t *testing.T) {
	packed := []byte(tree{"Chart.yaml": chartYAML("db", ""), "values.schema.yaml": yamlSchema}.archive(t, "db"))
	if got, err := chartloader.CanonicalArchive(packed); err != nil || !bytes.Equal(got, packed) {
		t.Errorf("the archive changes, %v", err)
	}
}
