// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package valuesschema

import (
	"errors"
	"maps"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
)

// bundle is a schema with the files to which it refers.
type bundle struct {
	source Source
	root   *document
	// keyword is the keyword of the schema that contains the other files, and idKeyword the one
	// that names a schema.
	keyword, idKeyword string
	// documents contains all documents, in the order in which they were found; byName
	// contains them by their path in the chart.
	documents []*document
	byName    map[string]*document
	problems  []error
	size      int
}

func newBundle(s Source) (*bundle, error) {
	root := &document{file: s.Folder + YAMLFile, folder: ".", text: s.Text}
	if err := root.decode(); err != nil {
		return nil, err
	}
	schema, _ := root.content.(map[string]any)
	return &bundle{
		source: s, root: root, keyword: definitionsKeyword(schema), idKeyword: idKeyword(schema),
		documents: []*document{root}, byName: map[string]*document{YAMLFile: root}, size: root.size,
	}, nil
}

// resolve adds the files to which the schema refers, and makes all references refer to places
// in the schema.
func (b *bundle) resolve() error {
	schema, isMapping := b.root.content.(map[string]any)
	if !isMapping {
		return nil
	}
	b.checkDraft(b.root)
	for i := 0; i < len(b.documents); i++ { // visit can add documents
		d := b.documents[i]
		if i > 0 {
			b.checkDraft(d)
			if content, ok := d.content.(map[string]any); ok {
				delete(content, b.idKeyword)
				delete(content, "$schema")
			}
		}
		b.visit(d, d.content, nil)
	}
	b.embed(schema)
	return errors.Join(b.problems...)
}

// embed adds the content of the other documents to the schema.
func (b *bundle) embed(schema map[string]any) {
	if len(b.documents) == 1 || len(b.problems) > 0 {
		return
	}
	definitions, isMapping := schema[b.keyword].(map[string]any)
	if !isMapping {
		if schema[b.keyword] != nil {
			b.failf(b.root, []string{b.keyword}, "must be a mapping")
			return
		}
		definitions = map[string]any{}
		schema[b.keyword] = definitions
	}
	for _, d := range b.documents[1:] {
		name := d.pointer[1]
		if _, exists := definitions[name]; exists {
			b.failf(b.root, d.pointer, "has the name of a file to which the schema refers: rename it")
			return
		}
		definitions[name] = d.content
	}
}

func (b *bundle) failf(d *document, at []string, format string, args ...any) {
	b.problems = append(b.problems, d.newError(at, format, args...))
}

// leaves adds the error about a reference to something outside the chart.
func (b *bundle) leaves(d *document, at []string, format string, args ...any) {
	e := d.newError(at, format, args...)
	e.LeavesChart = true
	b.problems = append(b.problems, e)
}

// drafts are the values of $schema, without the scheme of the URL.
var drafts = []string{
	"json-schema.org/draft-04/schema", "json-schema.org/draft-06/schema", "json-schema.org/draft-07/schema",
	"json-schema.org/draft/2019-09/schema", "json-schema.org/draft/2020-12/schema", "json-schema.org/schema",
}

// checkDraft checks the draft of JSON Schema that a document declares. All must have the same.
func (b *bundle) checkDraft(d *document) {
	content, _ := d.content.(map[string]any)
	draft, declared := content["$schema"]
	if !declared {
		return
	}
	text, _ := draft.(string)
	_, name, _ := strings.Cut(strings.TrimSuffix(text, "#"), "://")
	main, _ := b.root.content.(map[string]any)
	switch {
	case !slices.Contains(drafts, name):
		b.failf(d, []string{"$schema"}, "$schema %q is not a draft of JSON Schema that Helm supports, such as http://json-schema.org/draft-07/schema#", text)
	case d != b.root && definitionsKeyword(content) != definitionsKeyword(main):
		b.failf(d, []string{"$schema"}, "$schema %q differs from that of %s", text, b.root.file)
	}
}

var (
	// referenceKeywords are the keywords whose value refers to another schema.
	referenceKeywords = []string{"$ref", "$dynamicRef", "$recursiveRef"}
	// dataKeywords are the keywords whose value is not a schema.
	dataKeywords = []string{"const", "default", "enum", "example", "examples"}
	// namedSchemas are the keywords whose value contains schemas by names.
	namedSchemas = []string{"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}
)

// visit resolves the references in value, to which the path at leads in d.
func (b *bundle) visit(d *document, value any, at []string) {
	switch value := value.(type) {
	case []any:
		for i, item := range value {
			b.visit(d, item, append(at, strconv.Itoa(i)))
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			b.visitKeyword(d, value, append(at, key))
		}
	}
}

// visitKeyword resolves the references in the last keyword of at, which schema contains.
func (b *bundle) visitKeyword(d *document, schema map[string]any, at []string) {
	keyword := at[len(at)-1]
	named, hasNames := schema[keyword].(map[string]any)
	switch {
	case slices.Contains(referenceKeywords, keyword):
		if text, isText := schema[keyword].(string); isText {
			schema[keyword] = b.reference(d, at, text)
		}
	case slices.Contains(dataKeywords, keyword):
	case keyword == b.idKeyword && len(at) > 1:
		b.failf(d, at, "%s is allowed only at the top of a file: refer to the schema by its place", keyword)
	case hasNames && slices.Contains(namedSchemas, keyword):
		for _, name := range slices.Sorted(maps.Keys(named)) {
			b.visit(d, named[name], append(at, name))
		}
	default:
		b.visit(d, schema[keyword], at)
	}
}

// reference returns a reference that has the meaning in the schema that text has in d.
func (b *bundle) reference(d *document, at []string, text string) string {
	parsed, err := url.Parse(text)
	switch {
	case err != nil:
		b.failf(d, at, "the reference %q is invalid: %v", text, err)
		return text
	case parsed.Scheme != "" || parsed.Host != "" || parsed.Opaque != "" || parsed.RawQuery != "" || strings.Contains(parsed.Path, `\`):
		b.leaves(d, at, "the reference %q leaves the chart: refer to a file of the chart, or to a place in this one, as in #/$defs/port", text)
		return text
	}
	target := d
	if parsed.Path != "" {
		if target = b.open(d, at, parsed.Path); target == nil {
			return text
		}
	}
	fragment := parsed.EscapedFragment()
	if fragment != "" && fragment[0] != '/' {
		if target != b.root {
			b.failf(d, at, "the reference %q must have a path after #, as in %s#/$defs/port", text, path.Base(target.file))
		}
		return "#" + fragment // an anchor
	}
	if _, found := lookup(target.content, splitPointer(parsed.Fragment)); !found {
		b.failf(d, at, "the reference %q leads to nothing in %s", text, target.file)
	}
	return "#" + escapePointer(target.pointer) + fragment
}

// open returns the document with a file to which d refers, or nil after an error.
func (b *bundle) open(d *document, at []string, name string) *document {
	name, isAbsolute := path.Join(d.folder, name), path.IsAbs(name)
	if isAbsolute || name == ".." || strings.HasPrefix(name, "../") {
		b.leaves(d, at, "the reference leads to %s, which is outside the chart: copy the file to the chart", name)
		return nil
	}
	if known := b.byName[name]; known != nil {
		return known
	}
	if name == JSONFile || strings.HasPrefix(name, "charts/") {
		b.failf(d, at, "the reference leads to %s: refer to another file of the same chart", name)
		return nil
	}
	opened, err := b.source.open(name)
	switch {
	case err != nil:
		b.problems = append(b.problems, err)
		return nil
	case opened == nil:
		b.failf(d, at, "the reference leads to %s, which is not a file of the chart", name)
		return nil
	}
	if b.size += opened.size; b.size > maxSize {
		b.failf(d, at, "the schema has more than %d MiB with the files to which it refers", maxSize>>20)
		return nil
	}
	opened.pointer = []string{b.keyword, name}
	b.byName[name] = opened
	b.documents = append(b.documents, opened)
	return opened
}

// place returns the document and the path in it of a place in the schema.
func (b *bundle) place(at []string) (*document, []string) {
	for _, d := range b.documents[1:] {
		if len(at) >= len(d.pointer) && slices.Equal(at[:len(d.pointer)], d.pointer) {
			return d, at[len(d.pointer):]
		}
	}
	return b.root, at
}

// splitPointer returns the keys of a JSON pointer.
func splitPointer(pointer string) []string {
	if pointer == "" {
		return nil
	}
	keys := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, key := range keys {
		keys[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(key)
	}
	return keys
}

// pointerTo returns the JSON pointer with the keys.
func pointerTo(keys []string) string {
	var b strings.Builder
	for _, key := range keys {
		b.WriteString("/" + escapeKey(key))
	}
	return b.String()
}

// escapePointer returns a JSON pointer as it is written in a URL.
func escapePointer(keys []string) string {
	return (&url.URL{Fragment: pointerTo(keys)}).EscapedFragment()
}

// escapeKey returns a key as it is written in a JSON pointer.
func escapeKey(key string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(key) }
