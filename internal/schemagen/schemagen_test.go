// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package schemagen_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/schemagen"
	"github.com/ordered-helm/helm/internal/testutil/golden"
	"github.com/ordered-helm/helm/internal/valuesschema"
)

const values = `# -- How many pods run
replicas: 1
image:
  # -- (string) The repository,
  # without a tag
  # @default -- the public one
  repository: example.com/web
  # @schema type:[string, null]; pattern:^[a-z0-9.]+$
  tag:   # -- The tag
  pullPolicy: IfNotPresent # @schema enum:[Always, IfNotPresent, Never]
# service.port -- The port of the service
service: {port: 80, ratio: 1.0, enabled: on}
ports:
- {name: http, port: 80}
- {name: debug, port: 81.5, host: a}
# @schema item:string; minItems:0; required
hosts: []
# @schema hidden
internal: true
# @schema skipProperties
labels: {a: b}
mixed: [1, a, [x]]
nothing:
text: |
  # @schema type:integer
after: 1
# tag: ""
`

func generate(t *testing.T, values, schema string) *schemagen.Result {
	t.Helper()
	in := schemagen.Input{Values: []byte(values), ValuesFile: "values.yaml"}
	if schema != "" {
		in.Schema = []byte(schema)
	}
	result, err := schemagen.Generate(in)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestGenerate(t *testing.T) {
	result := generate(t, values, "")
	golden.Assert(t, string(result.Schema), "schema.yaml")
	if again := generate(t, values, string(result.Schema)); len(again.Differences) > 0 || string(again.Schema) != string(result.Schema) {
		t.Errorf("the derived schema differs from the values: %v", again.Differences)
	}
}

// TestMerge checks what of an existing schema is kept, and which differences are found.
func TestMerge(t *testing.T) {
	for _, c := range []struct{ name, values, schema, want, differences string }{
		{"equal", "a: 1", "# mine\nproperties:   {a: {type: [integer, 'null']}}\n", "# mine\nproperties:   {a: {type: [integer, 'null']}}\n", ""},
		{"new value", "a: 1\nb: {c: x}", "# mine\nproperties:\n  a: {maximum: 5} # few\n", "# mine\nproperties:\n  a: {maximum: 5} # few\n  b:\n    type: object\n    properties:\n      c:\n        type: string\n", "b: is not in the schema"},
		{"JSON", "a: 1", `{"type": "object"}`, "type: object\nproperties:\n  a:\n    type: integer\n", "a: is not in the schema"},
		{"other type", "a: x", "properties:\n  a: {type: integer, description: mine}\n", "properties:\n  a: {type: string, description: mine}\n", "a: the schema does not allow the type string, but integer"},
		{"other type in a list", "a: x", "properties:\n  a: {type: [integer, 'null']}\n", "properties:\n  a: {type: [integer, \"null\", string]}\n", "a: the schema does not allow the type string, but integer, null"},
		{"number for an integer", "a: 1", "properties: {a: {type: number}}", "properties: {a: {type: number}}", ""},
		{"comment", "# -- new\n# @schema minimum:2\na: 3", "properties:\n  a: {type: integer, description: old, minimum: 1, maximum: 9}\n", "properties:\n  a: {type: integer, description: new, minimum: 2, maximum: 9}\n", "a: description in the schema differs from the comment in values.yaml; a: minimum in the schema differs from the comment in values.yaml"},
		{"required", "# @schema required\na: 3", "properties: {a: {type: integer}}\nrequired: [b]\n", "properties: {a: {type: integer}}\nrequired: [b, a]\n", "a: the schema does not require it, but the comment in values.yaml does"},
		{"removed value", "a: {b: 1}", "properties: {a: {properties: {b: true, c: true}}}\n", "properties: {a: {properties: {b: true, c: true}}}\n", `a.c: is in the schema, but neither in values.yaml nor in a comment of it, such as "# c:"`},
		{"value in a comment, and global", "a:\n  b: 1\n  # c: 2", "properties: {a: {properties: {b: true, c: true}}, global: true}", "properties: {a: {properties: {b: true, c: true}}, global: true}", ""},
		{"entries of an empty value", "a: {}", "properties: {a: {properties: {b: true}}}", "properties: {a: {properties: {b: true}}}", ""},
		{"reference", "a: {b: 1}\nc: {d: 1}", "properties: {a: {$ref: '#/$defs/x'}, c: {additionalProperties: {type: integer}}}", "properties: {a: {$ref: '#/$defs/x'}, c: {additionalProperties: {type: integer}}}", ""},
		{"keys that are booleans", "on: 1 # @schema minimum:1\n'n': 2\n", "properties: {on: {type: integer}, 'n': {type: integer}}\n", "properties: {on: {type: integer, minimum: 1}, 'n': {type: integer}}\n", "true: minimum in the schema differs from the comment in values.yaml"},
		{"items", "a: [{b: 1}]", "properties: {a: {type: array, items: {properties: {c: true}}}}\n", "properties: {a: {type: array, items: {properties: {c: true, b: {type: integer}}}}}\n", "a[].b: is not in the schema"},
	} {
		t.Run(c.name, func(t *testing.T) {
			result := generate(t, c.values, c.schema)
			var differences []string
			for _, d := range result.Differences {
				differences = append(differences, d.Path+": "+d.Problem)
			}
			if got := strings.Join(differences, "; "); got != c.differences {
				t.Errorf("got the differences %s\nwant %s", got, c.differences)
			}
			if !sameYAML(t, result.Schema, []byte(c.want)) || c.differences == "" && string(result.Schema) != c.schema || strings.HasPrefix(c.want, "#") != strings.HasPrefix(string(result.Schema), "#") {
				t.Errorf("got\n%s\nwant\n%s", result.Schema, c.want)
			}
		})
	}
}

func sameYAML(t *testing.T, a, b []byte) bool {
	t.Helper()
	var contentA, contentB any
	if err := yaml.Unmarshal(a, &contentA); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(b, &contentB); err != nil {
		t.Fatal(err)
	}
	return reflect.DeepEqual(contentA, contentB)
}

// TestComments derives the schema of a value from its comments.
func TestComments(t *testing.T) {
	for _, c := range []struct{ name, values, want string }{
		{"list without brackets", "a: x # @schema enum:x, y,null", "{enum: [x, y, null]}"},
		{"one item without brackets", "a: x # @schema enum:x; examples: y", "{enum: [x], examples: [y]}"},
		{"types without brackets", "a: # @schema type:integer, null", "{type: [integer, 'null']}"},
		{"types of items", "a: [] # @schema item: string, integer; itemEnum: 1,b", "{type: array, items: {type: [string, integer], enum: [1, b]}}"},
		{"pattern that starts with a bracket", "a: x # @schema pattern:[a-z]+(/[a-z]+)*; minLength:1", "{type: string, pattern: '[a-z]+(/[a-z]+)*', minLength: 1}"},
		{"text with a colon and quotes", `a: x # @schema description: "x" means: the default; title: 'A; B'`, `{description: '"x" means: the default', title: 'A; B', type: string}`},
		{"no limit", "a: x # @schema maxLength:null", "{type: string}"},
		{"flags without a value", "a: {} # @schema additionalProperties; readOnly", "{type: object, additionalProperties: true, readOnly: true}"},
		{"flags that are false", "a: x # @schema required:false; hidden:false; readOnly: false", "{type: string, readOnly: false}"},
		{"several lines", "# @schema minLength:1\n# @schema maxLength:2\na: x # @schema pattern:^x", "{type: string, minLength: 1, maxLength: 2, pattern: ^x}"},
		{"below the value", "a:\n  b: 1\n# @schema additionalProperties:false\n\nc: 1 # @schema hidden", "{type: object, additionalProperties: false, properties: {b: {type: integer}}}"},
		{"below the last value", "a:\n  b: 1\n# @schema additionalProperties:false\n", "{type: object, additionalProperties: false, properties: {b: {type: integer}}}"},
		{"above the next value", "c: 1 # @schema hidden\n# @schema minimum:1\na: 1", "{type: integer, minimum: 1}"},
		{"before an empty line", "# @schema minimum:1\n\na: 1", "{type: integer}"},
		{"reference", "a: {b: 1} # @schema $ref: '#/definitions/x'", "{$ref: '#/definitions/x'}"},
		{"reference and description", "# -- text\na: 1 # @schema $ref: #/definitions/x", "{description: text, $ref: '#/definitions/x'}"},
		{"reference and limit", "a: 1 # @schema $ref: #/definitions/x; minimum:1", "{minimum: 1, allOf: [{$ref: '#/definitions/x'}]}"},
		{"reference and allOf", "a: 1 # @schema allOf:[{minimum: 1}]; $ref: #/definitions/x", "{allOf: [{$ref: '#/definitions/x'}, {minimum: 1}]}"},
		{"references in a list", "a: 1 # @schema anyOf:[{$ref: '#/definitions/x'}, {$ref: schemas/a.yaml}]", "{anyOf: [{$ref: '#/definitions/x'}, {$ref: schemas/a.yaml}]}"},
		{"name of a schema", "a: 1 # @schema $id: https://example.com/a; minimum:1", "{type: integer, minimum: 1}"},
		{"item of a list", "a:\n- b # @schema type:[string, null]", "{type: array, items: {type: [string, 'null']}}"},
		{"alias in a list", "a:\n- *c # @schema type:string\nc: &c {d: 1} # @schema hidden", ""},
		{"entries of items", "a:\n# -- no description of the name\n- name: b # @schema pattern:^b; required\n  # -- The port\n  # @schema minimum:1\n  port: 1\n- name: c # @schema minLength:1\n  id: 1 # @schema hidden", "{type: array, items: {type: object, required: [name], properties: {name: {type: string, pattern: ^b, minLength: 1}, port: {description: The port, type: integer, minimum: 1}}}}"},
		{"merged properties", "# @schema mergeProperties\na: {x: {c: 1}, z: {c: 1.5, b: true}}", "{type: object, additionalProperties: {type: object, properties: {c: {type: number}, b: {type: boolean}}}}"},
		{"type of helm-docs", "# -- (tpl/array) The list\na: x", "{description: The list, type: string}"},
		{"type without a space", "# --(k8s.io/string) The list\na: x", "{description: The list, type: string}"},
		{"line of dashes", "# ------------\na: x", "{type: string}"},
		{"description without a space", "# --The list\na: x", "{description: The list, type: string}"},
		{"path of helm-docs", "a:\n  # a.\"b.c/d\" -- The label\n  b.c/d: x", "{type: object, properties: {b.c/d: {description: The label, type: string}}}"},
		{"entries on the same line", "# -- The map\n# @schema required\na: {b: 1, c: {d: 1}}", "{description: The map, type: object, properties: {b: {type: integer}, c: {type: object, properties: {d: {type: integer}}}}}"},
		{"other path", "# b -- The label\na: x", "{type: string}"},
		{"number", "a: [1, 2.0]", "{type: array, items: {type: number}}"},
		{"block in a text", "a: |\n  # @schema\n  # type: integer\n  # @schema\n", "{type: string}"},
		{"Windows line endings", "# -- The\r\n# name\r\n# @schema minLength:1\r\na: x # @schema pattern:^x\r\n", "{description: The name, type: string, minLength: 1, pattern: ^x}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			schema := map[string]any{}
			if c.want == "" {
				if _, err := schemagen.Generate(schemagen.Input{Values: []byte(c.values), ValuesFile: "values.yaml"}); err == nil {
					t.Error("there is no error")
				}
				return
			}
			result := generate(t, c.values, "")
			if err := yaml.Unmarshal(result.Schema, &schema); err != nil {
				t.Fatal(err)
			}
			got, err := yaml.Marshal(schema["properties"].(map[string]any)["a"])
			if err != nil || !sameYAML(t, got, []byte(c.want)) {
				t.Errorf("got\n%s\nwant\n%s", result.Schema, c.want)
			}
			if again := generate(t, c.values, string(result.Schema)); len(again.Differences) > 0 {
				t.Errorf("the derived schema differs from the values: %v", again.Differences)
			}
		})
	}
}

// TestLaterDraft derives a schema with a keyword that draft 7 does not have.
func TestLaterDraft(t *testing.T) {
	const values = "a: {b: 1} # @schema unevaluatedProperties:false\n"
	schema := string(generate(t, values, "").Schema)
	if !strings.HasPrefix(schema, "$schema: https://json-schema.org/draft/2020-12/schema\n") || !strings.Contains(schema, "unevaluatedProperties: false\n") {
		t.Errorf("got %s", schema)
	}
	in := schemagen.Input{Values: []byte(values), ValuesFile: "values.yaml", Schema: []byte("$schema: http://json-schema.org/draft-07/schema#\n")}
	if _, err := schemagen.Generate(in); err == nil || !strings.Contains(err.Error(), "unevaluatedProperties, which $schema http://json-schema.org/draft-07/schema# does not have") {
		t.Errorf("got %v", err)
	}
}

// TestFormatIsKept checks that the lines of a schema that do not change keep their formatting.
func TestFormatIsKept(t *testing.T) {
	for _, c := range []struct{ name, values, schema, want string }{
		{
			"empty lines, comments and spaces", "a: 1\nb: {x: 1, v: z}\nc: 1\n",
			"# My schema\n\ntype:   object   # always\n\nproperties:\n\n  # first\n  a: { type: integer,   maximum: 5 }   # few\n\n  b:\n    type: object\n    properties:\n      x: {}\n\nrequired:\n- a\n",
			"# My schema\n\ntype:   object   # always\n\nproperties:\n\n  # first\n  a: { type: integer,   maximum: 5 }   # few\n\n  b:\n    type: object\n    properties:\n      x: {}\n      v:\n        type: string\n  c:\n    type: integer\n\nrequired:\n- a\n",
		},
		{
			"other indentation", "a: 1\nb: x\n",
			"type: object\n\nproperties:\n    a:\n        type: integer\n        enum:\n        - 1\n\n",
			"type: object\n\nproperties:\n    a:\n        type: integer\n        enum:\n        - 1\n\n    b:\n        type: string\n",
		},
		{
			"Windows line endings", "a: 1\nb: x\n",
			"# mine\r\ntype: object\r\n\r\nproperties:\r\n  a: {type: integer}\r\n",
			"# mine\r\ntype: object\r\n\r\nproperties:\r\n  a: {type: integer}\r\n  b:\r\n    type: string\r\n",
		},
		{
			"other type", "a: x\n", "type: object\n\n\nproperties:\n  # mine\n  a: {type: integer} # too\n", "type: object\n\n\nproperties:\n  # mine\n  a: {type: string} # too\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := string(generate(t, c.values, c.schema).Schema)
			if got != c.want {
				t.Errorf("got\n%q\nwant\n%q", got, c.want)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ name, values, want string }{
		{"block", "a: 1\n# @schema\n# type: string\n# @schema\nb: 1", "values.yaml:2: blocks between two lines \"# @schema\" are not supported"},
		{"root block", "# @schema.root\n# title: a\n# @schema.root\n\na: 1", "values.yaml:1: blocks between two lines \"# @schema.root\" are not supported"},
		{"block that is not above a key", "a: 1\n\n# @schema\n# type: string\n# @schema\n\n# b:", "values.yaml:3: blocks between two lines"},
		{"block in a list", "a:\n- b: 1\n  # @schema\r\n  # type: string\n  # @schema\n  c: 1", "values.yaml:3: blocks between two lines"},
		{"block at the end of a line", "a:\n- 1 # @schema", "values.yaml:2: blocks between two lines"},
		{"unknown keyword", "a: 1\nb: 1 # @schema typ:string", "values.yaml:2: @schema: typ: unknown keyword"},
		{"no value", "a: 1 # @schema minimum", "values.yaml:1: @schema: minimum: has no value"},
		{"wrong value", "a: 1 # @schema minimum:a", "values.yaml:1: @schema: is not a JSON Schema: minimum: got string, want number"},
		{"unknown type", "a: 1 # @schema type:int", "values.yaml:1: @schema: is not a JSON Schema: type: value must be one of"},
		{"reference to a URL", "a: 1\nb: 1 # @schema $ref: https://example.com/a.json", "values.yaml:2: @schema: the reference \"https://example.com/a.json\" leaves the chart"},
		{"URL in a list", "a: 1 # @schema anyOf:[{$ref: 'a.yaml'}, {$ref: '../a.json'}]; itemRef: b.yaml", "@schema: the reference leads to ../a.json, which is outside the chart"},
		{"flag", "a: 1 # @schema required:maybe", "@schema: required: must be true or false"},
		{"twice", "a: 1 # @schema minimum:1; minimum:2", "@schema: minimum: is written twice"},
		{"open bracket", "a: 1 # @schema enum:[a", "@schema: enum: a quote or bracket is not closed"},
		{"no semicolon", "a: 1 # @schema enum:[a] type:string", `@schema: enum: unexpected "type:string": separate keywords with semicolons`},
		{"no YAML", "a: [", "values.yaml: yaml: line 1"},
		{"no mapping", "[a]", "values.yaml: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := schemagen.Generate(schemagen.Input{Values: []byte(c.values), ValuesFile: "values.yaml"})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got\n%v\nwant\n%s", err, c.want)
			}
		})
	}
}

// TestAcceptsItsValues checks with random values that a derived schema accepts them, and that a
// schema derived from other values accepts them when it is merged.
func TestAcceptsItsValues(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 300 {
		first, second := randomMapping(random, 3), randomMapping(random, 3)
		schema := generate(t, toYAML(t, second), string(generate(t, toYAML(t, first), "").Schema)).Schema
		translated, err := valuesschema.Translate(valuesschema.Source{Text: schema})
		if err != nil {
			t.Fatal(err)
		}
		var decoded map[string]any
		if err := yaml.Unmarshal([]byte(toYAML(t, second)), &decoded, func(d *json.Decoder) *json.Decoder { d.UseNumber(); return d }); err != nil {
			t.Fatal(err)
		}
		if err := chartutil.ValidateAgainstSingleSchema(decoded, translated); err != nil {
			t.Fatalf("%d: %s\ndoes not accept\n%s\n%v", i, schema, toYAML(t, second), err)
		}
	}
}

func randomMapping(random *rand.Rand, depth int) map[string]any {
	m := map[string]any{}
	for range random.IntN(5) {
		m[fmt.Sprintf("k%d", random.IntN(6))] = randomValue(random, depth)
	}
	return m
}

func randomValue(random *rand.Rand, depth int) any {
	if depth > 0 && random.IntN(2) == 0 {
		if random.IntN(2) == 0 {
			return randomMapping(random, depth-1)
		}
		var list []any
		for range random.IntN(4) {
			list = append(list, randomValue(random, depth-1))
		}
		return list
	}
	return []any{nil, true, 1, 1.5, "text", "on", "1", ""}[random.IntN(8)]
}

func toYAML(t *testing.T, value any) string {
	t.Helper()
	text, err := yaml.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// FuzzAnnotation checks that whatever an annotation says becomes a schema or an error.
func FuzzAnnotation(f *testing.F) {
	f.Add("type:[string, null]; minimum:1; enum:[a,b]")
	f.Add(`pattern:"^a;b$"; required; item:string; description: don't`)
	f.Fuzz(func(t *testing.T, annotation string) {
		if strings.ContainsAny(annotation, "\n\r\u0085\u2028\u2029") {
			return
		}
		in := schemagen.Input{Values: []byte("# @schema " + annotation + "\na: 1\n"), ValuesFile: "values.yaml"}
		result, err := schemagen.Generate(in)
		if err != nil {
			return
		}
		in.Schema = result.Schema
		if again, err := schemagen.Generate(in); err != nil || len(again.Differences) > 0 {
			t.Errorf("the schema\n%s\ndiffers from its values: %v, %v", result.Schema, again, err)
		}
	})
}

// FuzzGenerate checks that a schema that was merged with values has no differences from them.
func FuzzGenerate(f *testing.F) {
	f.Add(values, "type: object\n\nproperties: {a: {type: string}}\n# end\n")
	f.Add("a:\n- b: 1 # @schema required\n# @schema minItems:1\n\nc: {d: &x [1.0], e: *x}\r\n", "$schema: http://json-schema.org/draft-07/schema#\r\nproperties:\r\n  a: {items: {}}\r\n")
	f.Fuzz(func(t *testing.T, values, schema string) {
		in := schemagen.Input{Values: []byte(values), ValuesFile: "values.yaml", Schema: []byte(schema)}
		if _, err := valuesschema.Translate(valuesschema.Source{Text: in.Schema}); err != nil {
			return
		}
		result, err := schemagen.Generate(in)
		if err != nil {
			return
		}
		if _, err := valuesschema.Translate(valuesschema.Source{Text: result.Schema}); err != nil {
			return // comments can contain references to what does not exist
		}
		in.Schema = result.Schema
		again, err := schemagen.Generate(in)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range again.Differences {
			if !strings.HasPrefix(d.Problem, "is in the schema, but neither") {
				t.Errorf("the schema\n%s\ndiffers from its values\n%s\n%v", result.Schema, values, d)
			}
		}
	})
}
