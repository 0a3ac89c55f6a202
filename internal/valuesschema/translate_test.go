// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package valuesschema_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/ordered-helm/helm/internal/valuesschema"
)

// source returns the schema of a chart in the folder charts/db/.
func source(text string, files map[string]string) valuesschema.Source {
	return valuesschema.Source{Folder: "charts/db/", Text: []byte(text), File: func(name string) ([]byte, bool) {
		content, found := files[name]
		return []byte(content), found
	}}
}

func TestTranslate(t *testing.T) {
	const comment = `"$comment":"Generated from values.schema.yaml."`
	for _, c := range []struct{ name, schema, want string }{
		{"mapping", "type: object\nproperties: {port: {type: integer, maximum: 1e5}}\n", `{` + comment + `,"properties":{"port":{"maximum":100000,"type":"integer"}},"type":"object"}`},
		{"YAML of values", "enum: [yes, 0x10, 2020-01-01, ~]", `{` + comment + `,"enum":[true,16,"2020-01-01",null]}`},
		{"aliases", "properties: {a: &p {type: integer}, b: *p}", `{` + comment + `,"properties":{"a":{"type":"integer"},"b":{"type":"integer"}}}`},
		{"merged mappings", "properties: {a: &p {type: integer}, b: {<<: *p, minimum: 1}}", `{` + comment + `,"properties":{"a":{"type":"integer"},"b":{"minimum":1,"type":"integer"}}}`},
		{"true", "true", `{` + comment + `}`},
		{"false", "false", `{` + comment + `,"not":{}}`},
		{"comment of the author", "$comment: mine", `{"$comment":"Generated from values.schema.yaml. mine"}`},
		{"reference in the file", "$defs: {a: {type: string}}\n$ref: '#/$defs/a'", `{"$comment":"Generated from values.schema.yaml.","$defs":{"a":{"type":"string"}},"$ref":"#/$defs/a"}`},
		{"anchor", "$defs: {a: {$anchor: x}}\n$ref: '#x'", `{"$comment":"Generated from values.schema.yaml.","$defs":{"a":{"$anchor":"x"}},"$ref":"#x"}`},
		{"property with the name of a keyword", "properties: {$ref: {type: string}, $id: {type: string}}", `{` + comment + `,"properties":{"$id":{"type":"string"},"$ref":{"type":"string"}}}`},
		{"data with the name of a keyword", "default: {$ref: 'http://example.com'}", `{` + comment + `,"default":{"$ref":"http://example.com"}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := valuesschema.Translate(source(c.schema, nil))
			if err != nil || string(got) != c.want+"\n" {
				t.Errorf("got %s, %v\nwant %s", got, err, c.want)
			}
		})
	}
}

// TestTranslateFiles translates a schema that refers to other files of the chart.
func TestTranslateFiles(t *testing.T) {
	files := map[string]string{
		"schemas/net~1.yaml": "$schema: http://json-schema.org/draft-07/schema#\n$id: https://example.com/net\n" +
			"definitions:\n  port: {type: integer}\n  ports: {items: {$ref: '#/definitions/port'}}\n  self: {$ref: '../values.schema.yaml#/definitions/name'}\n" +
			"  all: {$ref: names.json}\n",
		"schemas/names.json": `{"enum": ["a", "b"]}`,
	}
	const schema = "$schema: http://json-schema.org/draft-07/schema#\ndefinitions: {name: {type: string}}\nproperties:\n" +
		"  ports: {$ref: 'schemas/net~1.yaml#/definitions/ports'}\n  self: {$ref: './schemas/net~1.yaml#/definitions/self'}\n  all: {$ref: 'schemas/net~1.yaml#/definitions/all'}\n"
	text, err := valuesschema.Translate(source(schema, files))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		values map[string]any
		valid  bool
	}{
		{map[string]any{"ports": []any{1}, "self": "a", "all": "b"}, true},
		{map[string]any{"ports": []any{"1"}}, false},
		{map[string]any{"self": 1}, false},
		{map[string]any{"all": "c"}, false},
	} {
		if err := chartutil.ValidateAgainstSingleSchema(c.values, text); (err == nil) != c.valid {
			t.Errorf("Helm validates %v: %v", c.values, err)
		}
	}
}

func TestTranslateErrors(t *testing.T) {
	files := map[string]string{
		"broken.yaml": "a: b\n  c: d\n", "away.yaml": "items:\n  $ref: http://example.com\n", "text.yaml": "text", "charts/sub/a.yaml": "true",
		"anchor.yaml": "$anchor: x", "old.yaml": "$schema: http://json-schema.org/draft-07/schema#",
	}
	for i := range 4 {
		files[fmt.Sprintf("%d.yaml", i)] = "x: &x " + strings.Repeat("y", 20_000) + "\nz: [" + strings.Repeat("*x, ", 100) + "]\n"
	}
	for _, c := range []struct {
		name, schema, want string
		leaves             bool
	}{
		{"empty", "# nothing\n", "charts/db/values.schema.yaml: is not a JSON Schema: it must be a mapping", false},
		{"text", "\ntext", "values.schema.yaml:2: is not a JSON Schema: it must be a mapping", false},
		{"no YAML", "type: object\n a: b", "values.schema.yaml:2: invalid YAML: mapping values are not allowed", false},
		{"a key twice", "type: object\nproperties: {}\ntype: array", `values.schema.yaml:3: invalid YAML: key "type" already set in map`, false},
		{"two documents", "type: object\n---\ntype: array", "contains more than one document", false},
		{"unknown type", "properties:\n  port:\n    type: number\n    items:\n      type: strng\n", "values.schema.yaml:5: is not a JSON Schema: type: value must be one of 'array', 'boolean'", false},
		{"wrong type of a keyword", "properties:\n  port:\n    minimum: '1'\n", "values.schema.yaml:3: is not a JSON Schema: minimum: got string, want number", false},
		{"regular expression", "properties:\n  a:\n    pattern: '['\n", "values.schema.yaml:3: is not a JSON Schema: ", false},
		{"unknown draft", "$schema: https://example.com/schema", `values.schema.yaml:1: $schema "https://example.com/schema" is not a draft`, false},
		{"URL", "properties:\n  a:\n    $ref: https://example.com/a.json", `values.schema.yaml:3: the reference "https://example.com/a.json" leaves the chart`, true},
		{"URL of a file", "items:\n- $ref: file:///etc/passwd", "values.schema.yaml:2: ", true},
		{"host", "$ref: //example.com/a", "leaves the chart", true},
		{"path of Windows", `$ref: 'C:\schemas\a.json'`, "leaves the chart", true},
		{"backslashes", `$ref: '..\a.json'`, "leaves the chart", true},
		{"parent directory", "$ref: schemas/../../a.json", "values.schema.yaml:1: the reference leads to ../a.json, which is outside the chart", true},
		{"escaped parent directory", "$ref: '%2e%2e/a.json'", "which is outside the chart", true},
		{"absolute path", "$ref: /etc/passwd", "which is outside the chart", true},
		{"dynamic reference", "$dynamicRef: https://example.com/a.json", "leaves the chart", true},
		{"reference under an unknown keyword", "x-schemas: {a: {$ref: https://example.com/a.json}}", "leaves the chart", true},
		{"reference in data to which another refers", "default: {$ref: https://example.com/a.json}\n$ref: '#/default'", "https://example.com/a.json is outside the chart", true},
		{"reference in a file", "$ref: away.yaml", "charts/db/away.yaml:2: the reference \"http://example.com\" leaves the chart", true},
		{"missing file", "$ref: a.yaml", "values.schema.yaml:1: the reference leads to a.yaml, which is not a file of the chart", false},
		{"missing place", "\n$ref: '#/$defs/a'", `values.schema.yaml:2: the reference "#/$defs/a" leads to nothing in charts/db/values.schema.yaml`, false},
		{"missing place in a file", "\n$ref: 'anchor.yaml#/$defs/a'", `values.schema.yaml:2: the reference "anchor.yaml#/$defs/a" leads to nothing in charts/db/anchor.yaml`, false},
		{"missing anchor", "$ref: '#a'", "is not a JSON Schema", false},
		{"anchor in a file", "$ref: 'anchor.yaml#x'", "must have a path after #", false},
		{"broken file", "$ref: broken.yaml", "charts/db/broken.yaml:2: invalid YAML", false},
		{"file that is no schema", "$ref: text.yaml", "charts/db/text.yaml:1: is not a JSON Schema", false},
		{"file of a subchart", "$ref: charts/sub/a.yaml", "refer to another file of the same chart", false},
		{"values.schema.json", "$ref: values.schema.json", "refer to another file of the same chart", false},
		{"file of another draft", "$ref: old.yaml", "charts/db/old.yaml:1: $schema", false},
		{"$id below the top", "$defs:\n  a:\n    $id: https://example.com/a", "values.schema.yaml:3: $id is allowed only at the top", false},
		{"id below the top, in draft 4", "$schema: http://json-schema.org/draft-04/schema#\nproperties:\n  a:\n    id: https://example.com/a", "values.schema.yaml:4: id is allowed only at the top", false},
		{"definitions that are no mapping", "$defs: []\n$ref: anchor.yaml", "values.schema.yaml:1: must be a mapping", false},
		{"name of a file among definitions", "$defs:\n  anchor.yaml: true\n$ref: anchor.yaml", "values.schema.yaml:2: has the name of a file", false},
		{"deep", strings.Repeat("{not: ", 600) + "{}" + strings.Repeat("}", 600), "more than 500 levels deep", false},
		{"large", "$comment: " + strings.Repeat("x", 6<<20), "more than 5 MiB as JSON", false},
		{"aliases", aliasBomb(), "its aliases expand", false},
		{"aliases in several files", "allOf: [{$ref: '1.yaml'}, {$ref: '2.yaml'}, {$ref: '3.yaml'}]", "values.schema.yaml:1: the schema has more than 5 MiB with the files to which it refers", false},
		{"regular expressions", manyExpressions(), "the regular expressions of the schema are too complex", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := valuesschema.Translate(source(c.schema, files))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got\n%.300v\nwant\n%s", err, c.want)
			}
			if leaves := strings.Contains(fmt.Sprintf("%+v", problems(err)), "LeavesChart:true"); leaves != c.leaves {
				t.Errorf("leaves the chart: %v", leaves)
			}
		})
	}
}

// problems returns the errors that err joins.
func problems(err error) []valuesschema.Error {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		var all []valuesschema.Error
		for _, one := range joined.Unwrap() {
			all = append(all, problems(one)...)
		}
		return all
	}
	if e, ok := errors.AsType[*valuesschema.Error](err); ok {
		return []valuesschema.Error{*e}
	}
	return nil
}

// manyExpressions returns a schema with regular expressions that need much memory.
func manyExpressions() string {
	text := "properties:\n"
	for i := range 1000 {
		text += fmt.Sprintf("  a%[1]d: {pattern: '%[1]d\\pL{1000}'}\n", i)
	}
	return text
}

// aliasBomb returns a schema whose aliases expand to a very long text.
func aliasBomb() string {
	text := "$defs:\n  a0: &a0 {description: " + strings.Repeat("x", 1000) + "}\n"
	for i := 1; i < 10; i++ {
		text += fmt.Sprintf("  a%d: &a%d {allOf: [%s*a%d]}\n", i, i, strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9), i-1)
	}
	return text
}

func TestCompare(t *testing.T) {
	const schema = "type: object\nproperties:\n  a: {$ref: a.yaml}\n  b:\n    maximum: 1.0\n    enum: [\"\\U0001F600\", x]\n"
	files := map[string]string{"a.yaml": "type: string"}
	translated, err := valuesschema.Translate(source(schema, files))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, json, want string }{
		{"translation", string(translated), ""},
		{"other format", "{\n\t\"$defs\": {\"a.yaml\": {\"type\": \"string\"}},\n\t\"properties\": {\"b\": {\"enum\": [\"\\ud83d\\ude00\", \"x\"], \"maximum\": 1.0}, \"a\": {\"$ref\": \"#/$defs/a.yaml\"}}, \"type\": \"object\"}\n", ""},
		{"other form of a number", `{"$defs": {"a.yaml": {"type": "string"}}, "type": "object", "properties": {"a": {"$ref": "#/$defs/a.yaml"}, "b": {"enum": ["😀", "x"], "maximum": 1e0}}}`, ""},
		{"with the reference", `{"type": "object", "properties": {"a": {"$ref": "a.yaml"}, "b": {"enum": ["😀", "x"], "maximum": 1}}}`, "charts/db/values.schema.json: refers to files, which Helm would not find: remove it, and it will be generated from values.schema.yaml"},
		{"with the file", `{"$defs": {"a.yaml": {"type": "string"}}, "properties": {"a": {"$ref": "#/$defs/a.yaml"}, "b": {"enum": ["😀", "x"], "maximum": 1}}, "type": "object"}`, ""},
		{"missing key", `{"type": "object"}`, ":2: differs from values.schema.json at /properties:"},
		{"additional key", `{"type": "object", "properties": {"a": {"$ref": "a.yaml"}, "b": {"enum": ["😀", "x"], "maximum": 1, "minimum": 0}}}`, ":4: differs from values.schema.json at /properties/b/minimum:"},
		{"other value", `{"type": "array", "properties": {"a": {"$ref": "a.yaml"}, "b": {"enum": ["😀", "x"], "maximum": 1}}}`, ":1: differs from values.schema.json at /type:"},
		{"shorter list", `{"type": "object", "properties": {"a": {"$ref": "a.yaml"}, "b": {"enum": ["😀"], "maximum": 1}}}`, ":6: differs from values.schema.json at /properties/b/enum/1:"},
		{"other number", `{"type": "object", "properties": {"a": {"$ref": "a.yaml"}, "b": {"enum": ["😀", "x"], "maximum": 2}}}`, ":5: differs from values.schema.json at /properties/b/maximum:"},
		{"no mapping", `true`, ":1: differs from values.schema.json:"},
		{"no JSON", `{`, ":1: differs from values.schema.json:"},
		{"two values", `{} {}`, ":1: differs from values.schema.json:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := ""
			if err := valuesschema.Compare([]byte(c.json), source(schema, files)); err != nil {
				got = strings.TrimSuffix(strings.TrimPrefix(err.Error(), "charts/db/values.schema.yaml"), " remove one of the files, or make them agree")
			}
			if got != c.want {
				t.Errorf("got %q\nwant %q", got, c.want)
			}
		})
	}
	if err := valuesschema.Compare([]byte(`{}`), source("type: strng", nil)); err == nil || !strings.Contains(err.Error(), "is not a JSON Schema") {
		t.Errorf("got %v", err)
	}
}

func FuzzTranslate(f *testing.F) {
	f.Add("type: object\nproperties: {a: {$ref: other.yaml#/a}}\n", "a: {type: string}\n")
	f.Add("$ref: '#/$defs/a'\n$defs: {a: &a {items: [*b]}, b: &b true}", "$ref: '#'")
	f.Fuzz(func(t *testing.T, schema, other string) {
		s := source(schema, map[string]string{"other.yaml": other})
		text, err := valuesschema.Translate(s)
		if err != nil {
			return
		}
		if !valuesschema.IsTranslation(text, s) {
			t.Errorf("%s is not recognized", text)
		}
		if err := chartutil.ValidateAgainstSingleSchema(map[string]any{}, text); err != nil && !strings.HasPrefix(err.Error(), "- at ") && !strings.HasPrefix(err.Error(), "at ") {
			t.Errorf("Helm cannot read %s: %v", text, err)
		}
	})
}
