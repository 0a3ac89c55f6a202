// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package editorschema validates YAML documents with the JSON schemas in docs/schemas, as an editor does.
package editorschema

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"
)

// Schema is a JSON schema.
type Schema struct{ compiled *jsonschema.Schema }

// Read reads the schema at path, which is relative to the directory of the test.
func Read(tb testing.TB, path string) Schema {
	tb.Helper()
	text, err := os.ReadFile(filepath.FromSlash(path))
	if err != nil {
		tb.Fatal(err)
	}
	content, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		tb.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(path, content); err != nil {
		tb.Fatal(err)
	}
	compiled, err := compiler.Compile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return Schema{compiled}
}

// Validate returns an error if a YAML document does not meet the schema.
func (s Schema) Validate(tb testing.TB, document string) error {
	tb.Helper()
	text, err := yaml.YAMLToJSON([]byte(document))
	if err != nil {
		tb.Fatal(err)
	}
	content, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		tb.Fatal(err)
	}
	return s.compiled.Validate(content)
}
