// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSchema prints, writes and compares the schema of a chart.
func TestSchema(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const header = "$schema: http://json-schema.org/draft-07/schema#\ntype: object\n"
	const derived = header + "properties:\n  port:\n    type: integer\n"
	write("Chart.yaml", "apiVersion: v2\nname: shop\nversion: 0.1.0\n")
	write("values.yaml", "port: 80\n")
	for _, c := range []struct {
		name           string
		before         func()
		args           []string
		code           int
		stdout, stderr string
	}{
		{"print", nil, nil, 0, derived, ""},
		{"no schema", nil, []string{"--check"}, 2, "there is no schema\n", ""},
		{"JSON", nil, []string{"-o", "json"}, 0, "{\n  \"$schema\": \"http://json-schema.org/draft-07/schema#\",\n  \"properties\": {\n    \"port\": {\n      \"type\": \"integer\"\n    }\n  },\n  \"type\": \"object\"\n}\n", ""},
		{"write", nil, []string{"--write"}, 0, "", ""},
		{"no differences", nil, []string{"--check"}, 0, "", ""},
		{"no differences as JSON", nil, []string{"--check", "-o", "json"}, 0, "{\n  \"differences\": []\n}\n", ""},
		{"difference", func() { write("values.yaml", "port: 80\nhost: a\n") }, []string{"--check"}, 2, "host: is not in the schema\n", ""},
		{"the values match the schema", nil, []string{"-o", "yaml"}, 0, derived + "  host:\n    type: string\n", ""},
		{"invalid schema", func() { write("values.schema.yaml", "\ntype: int\n") }, nil, 1, "", "values.schema.yaml:2: is not a JSON Schema: type: "},
		{"block", func() {
			write("values.schema.yaml", derived)
			write("values.yaml", "# @schema\n# type: integer\n# @schema\nport: 80\n")
		}, nil, 1, "", "values.yaml:1: blocks between two lines"},
		{"only JSON", func() {
			write("values.yaml", "port: 80\n")
			write("values.schema.json", `{"required": ["port"]}`)
			if err := os.Remove(filepath.Join(dir, "values.schema.yaml")); err != nil {
				t.Fatal(err)
			}
		}, nil, 0, "required:\n  - port\nproperties:\n  port:\n    type: integer\n", ""},
		{"write beside JSON", nil, []string{"--write"}, 1, "", "remove values.schema.json"},
		{"write beside JSON and YAML", func() { write("values.schema.yaml", header) }, []string{"--write"}, 1, "", "remove values.schema.json"},
		{"dependencies", func() {
			write("Chart.yaml", "apiVersion: helm.sh/v3\nkind: Chart\nmetadata: {name: shop, labels: {version: 0.1.0}}\ndata: {dependencies: [{name: db, version: 1.0.0, alias: main, condition: 'flags.db'}]}\n")
			write("values.schema.yaml", derived+"  db: true\n  main: true\n  flags: {properties: {db: true}}\n  tags: true\n  global: true\n  other: true\n")
		}, []string{"--check"}, 2, "other: is in the schema, but neither in values.yaml nor in a comment of it, such as \"# other:\"\n", ""},
		{"invalid chart", func() { write("Chart.yaml", "apiVersion: helm.sh/v3\nkind: Chart\n") }, []string{"--check"}, 1, "", "Chart.yaml:"},
		{"two ways", nil, []string{"--write", "--check"}, 1, "", "write"},
		{"write as JSON", nil, []string{"--write", "-o", "json"}, 1, "", "--write cannot be used with --output"},
	} {
		if c.before != nil {
			c.before()
		}
		got := runHelm(t, append([]string{"schema", dir}, c.args...)...)
		if got.code != c.code || got.stdout != c.stdout || !strings.Contains(got.stderr, c.stderr) {
			t.Errorf("%s: got %d\n%s\n%s", c.name, got.code, got.stdout, got.stderr)
		}
	}
	if got := runHelm(t, "schema", t.TempDir()); got.code != 1 || !strings.Contains(got.stderr, "is not a chart") {
		t.Errorf("got %+v", got)
	}
}

// TestInvalidValues checks the errors about values that a schema in YAML rejects.
func TestInvalidValues(t *testing.T) {
	dir, packages := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: shop\nversion: 0.1.0\ndependencies: [{name: db, version: 0.1.0}]\n", "charts/db/Chart.yaml": "apiVersion: v2\nname: db\nversion: 0.1.0\n",
		"charts/db/values.schema.yaml": "properties:\n  port: {type: integer}\n  password: {pattern: '^.{12}'}\n", "charts/db/values.yaml": "port: 1\n", "templates/a.yaml": "",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := runHelm(t, "package", dir, "--destination", packages); got.code != 0 {
		t.Fatalf("got %+v", got)
	}
	values := filepath.Join(packages, "values.yaml")
	if err := os.WriteFile(values, []byte("db: {port: a, password: hunter2}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const want = "shop/charts/db:\n- at '/db/password': does not match pattern '^.{12}'\n- at '/db/port': got string, want integer\n"
	for _, chart := range []string{dir, filepath.Join(packages, "shop-0.1.0.tgz")} {
		for _, command := range []string{"template", "lint", "dag"} {
			got := runHelm(t, command, chart, "--values", values)
			if output := got.stdout + got.stderr; got.code != 1 || strings.Count(output, "want integer") != 1 || !strings.Contains(output, want) || strings.Contains(output, "hunter2") {
				t.Errorf("%s: got %+v", command, got)
			}
			for _, args := range [][]string{{"--set", "db.port=1,db.password=hunter2hunter2"}, {"--skip-schema-validation"}} {
				if got := runHelm(t, append([]string{command, chart, "--values", values}, args...)...); got.code != 0 {
					t.Errorf("%s %v: got %+v", command, args, got)
				}
			}
		}
	}
}
