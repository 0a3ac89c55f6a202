// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package valuesschema translates the values.schema.yaml of a chart, which is JSON Schema
// written as YAML, to the values.schema.json that every version of Helm reads, and validates
// values (docs/reference.md, "Values schema").
package valuesschema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
)

const (
	// YAMLFile is the name of the file that contains the schema of a chart as YAML.
	YAMLFile = "values.schema.yaml"
	// JSONFile is the name of the file that contains it as JSON, in which Helm reads it.
	JSONFile = "values.schema.json"

	// generated is a comment in each schema that Translate returns.
	generated = "Generated from " + YAMLFile + "."
)

// Source is the values.schema.yaml of a chart.
type Source struct {
	// Folder is the folder of the chart, for errors: empty, or a path that ends with a slash.
	Folder string
	// Text is the content of the file.
	Text []byte
	// File returns the content of another file of the chart by its path in the chart. If File
	// is nil, there are no other files.
	File func(name string) (content []byte, found bool)
}

// Translate returns the schema as JSON. It contains the files to which the schema refers. If
// something is wrong, the error is an *Error, or joins several.
func Translate(s Source) ([]byte, error) {
	b, err := newBundle(s)
	if err != nil {
		return nil, err
	}
	if err := b.resolve(); err != nil {
		return nil, err
	}
	content := withComment(b.root.content)
	text, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	if len(text) > maxSize {
		return nil, &Error{File: b.root.file, Problem: fmt.Sprintf("has more than %d MiB as JSON, with the files to which it refers", maxSize>>20)}
	}
	if err := b.compile(content); err != nil {
		return nil, err
	}
	return append(text, '\n'), nil
}

// withComment returns a schema with the comment that says that it is generated.
func withComment(content any) map[string]any {
	schema, isMapping := content.(map[string]any)
	if !isMapping { // true accepts all values, and false none
		schema = map[string]any{}
		if content == false {
			schema["not"] = map[string]any{}
		}
	}
	comment := generated
	if own, isText := schema["$comment"].(string); isText {
		comment += " " + own
	}
	schema["$comment"] = comment
	return schema
}

// IsGenerated reports whether Translate has generated a schema.
func IsGenerated(schema []byte) bool { return bytes.Contains(schema, []byte(`"`+generated)) }

// IsTranslation reports whether schema is what Translate returns for s.
func IsTranslation(schema []byte, s Source) bool {
	if !IsGenerated(schema) {
		return false
	}
	text, err := Translate(s)
	return err == nil && bytes.Equal(text, schema)
}

// open returns the document with a file of the chart. name is its path in the chart.
func (s Source) open(name string) (*document, error) {
	d := &document{file: s.Folder + name, folder: path.Dir(name)}
	found := false
	if s.File != nil {
		d.text, found = s.File(name)
	}
	if !found {
		return nil, nil
	}
	if err := d.decode(); err != nil {
		return nil, err
	}
	return d, nil
}

// idKeyword returns the keyword that gives a schema another URL, to which references in it are
// relative.
func idKeyword(schema map[string]any) string {
	if draft, _ := schema["$schema"].(string); strings.Contains(draft, "draft-04") {
		return "id"
	}
	return "$id"
}

// definitionsKeyword returns the keyword under which a schema contains other schemas.
func definitionsKeyword(schema map[string]any) string {
	draft, _ := schema["$schema"].(string)
	if slices.ContainsFunc([]string{"draft-04", "draft-06", "draft-07"}, func(old string) bool { return strings.Contains(draft, old) }) {
		return "definitions"
	}
	return "$defs"
}
