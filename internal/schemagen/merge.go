// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package schemagen

import (
	"bytes"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ordered-helm/helm/internal/yamledit"
)

const (
	// draft is the draft of JSON Schema of new schemas. All versions of Helm support it.
	draft = "http://json-schema.org/draft-07/schema#"
	// laterDraft is the draft of new schemas with keywords that draft does not have.
	laterDraft = "https://json-schema.org/draft/2020-12/schema"
	// laterKeyword is such a keyword.
	laterKeyword = "unevaluatedProperties"
)

// Input contains the files from which a schema is derived.
type Input struct {
	// Values is the content of values.yaml, and ValuesFile its name for errors.
	Values     []byte
	ValuesFile string
	// Schema is the existing schema, as YAML or JSON, which must be valid; nil if there is none.
	Schema []byte
	// Known are names of values that need not be in values.yaml, such as those of subcharts.
	Known []string
}

// Result is a derived schema.
type Result struct {
	// Schema is the schema as YAML. If there are no differences, it is the existing schema,
	// byte for byte.
	Schema []byte
	// Differences says in what the existing schema, or an empty one, differs from the values.
	Differences []Difference
}

// Difference is a difference between a schema and the values.
type Difference struct {
	// Path is the path of the value, such as image.tag, or items of a list, such as ports[].name.
	Path string `json:"path"`
	// Problem says what differs.
	Problem string `json:"problem"`
}

// Generate derives a schema from values. What an existing schema says is kept, unless comments
// in values.yaml say something else, or it does not allow the type of a value.
func Generate(in Input) (*Result, error) {
	s, err := derive(in.ValuesFile, in.Values)
	if err != nil {
		return nil, err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(in.Schema, &doc); err != nil {
		return nil, err
	}
	if len(doc.Content) == 0 {
		return newSchema(s)
	}
	root := doc.Content[0]
	if declared := yamledit.Lookup(root, "$schema"); s.declaresAnywhere(laterKeyword) && declared != nil && strings.Contains(declared.Value, "draft-0") {
		return nil, fmt.Errorf("%s: a comment has the keyword %s, which $schema %s does not have: use %s", in.ValuesFile, laterKeyword, declared.Value, laterDraft)
	}
	original := in.Schema
	if bytes.HasPrefix(bytes.TrimSpace(in.Schema), []byte("{")) {
		clearStyle(root) // it is JSON
		original = nil
	}
	before, err := encode(&doc, original)
	if err != nil {
		return nil, err
	}
	m := &merger{mentioned: mentionedNames(in)}
	m.merge(root, s, "")
	if len(m.differences) == 0 {
		return &Result{Schema: in.Schema}, nil
	}
	after, err := encode(&doc, original)
	if err != nil {
		return nil, err
	}
	return &Result{Schema: keepFormat(original, before, after), Differences: m.differences}, nil
}

// newSchema returns a schema that only contains what was derived.
func newSchema(s *schema) (*Result, error) {
	version := draft
	if s.declaresAnywhere(laterKeyword) {
		version = laterDraft
	}
	root := mappingNode(textNode("$schema"), textNode(version))
	root.Content = append(root.Content, s.node().Content...)
	text, err := encode(root, nil)
	return &Result{Schema: text, Differences: []Difference{{"", "there is no schema"}}}, err
}

// clearStyle makes a node that was parsed from JSON be written as usual in YAML.
func clearStyle(n *yaml.Node) {
	if n.Kind != yaml.MappingNode && n.Kind != yaml.SequenceNode || len(n.Content) > 0 {
		n.Style = 0
	}
	for _, c := range n.Content {
		clearStyle(c)
	}
}

// mention matches a comment that shows an entry of a mapping that is not set.
var mention = regexp.MustCompile(`(?m)^[ \t]*#[# \t-]*["']?([\w./-]+)["']?:`)

// mentionedNames returns the names of entries in comments of values.yaml, and those that are known.
func mentionedNames(in Input) map[string]bool {
	names := map[string]bool{"global": true, "tags": true} // Helm's values for all charts, and for dependencies
	for _, name := range in.Known {
		names[name] = true
	}
	for _, m := range mention.FindAllSubmatch(in.Values, -1) {
		names[string(m[1])] = true
	}
	return names
}

// merger merges a derived schema into an existing one, and collects the differences.
type merger struct {
	mentioned   map[string]bool
	differences []Difference
}

func (m *merger) addDifference(path, format string, args ...any) {
	m.differences = append(m.differences, Difference{path, fmt.Sprintf(format, args...)})
}

// merge merges s into the existing schema of the value at path.
func (m *merger) merge(existing *yaml.Node, s *schema, path string) {
	if existing = yamledit.Resolve(existing); existing.Kind != yaml.MappingNode {
		return // true or false
	}
	for _, k := range s.declared {
		if current := yamledit.Lookup(existing, k.name); current == nil || !equal(current, k.value) {
			m.addDifference(path, "%s in the schema differs from the comment in values.yaml", k.name)
			set(existing, k.name, k.value)
		}
	}
	if !s.declares("type") {
		m.mergeType(existing, s.types, path)
	}
	if len(s.properties) > 0 && !s.declares("properties") {
		m.mergeProperties(existing, s, path)
	}
	if s.items != nil && !s.declares("items") {
		items := yamledit.Lookup(existing, "items")
		if items != nil {
			m.merge(items, s.items, path+"[]")
		} else if !has(existing, "prefixItems", "contains") && !isComposed(existing) {
			m.addDifference(path+"[]", "is not in the schema")
			set(existing, "items", s.items.node())
		}
	}
	m.mergeRequired(existing, s, path)
}

// mergeType changes the type in an existing schema if it does not allow the types of the values.
func (m *merger) mergeType(existing *yaml.Node, types []string, path string) {
	current := yamledit.Lookup(existing, "type")
	if current == nil {
		return
	}
	allowed := textsOf(current)
	var missing []string
	for _, t := range types {
		if !slices.Contains(allowed, t) && (t != "integer" || !slices.Contains(allowed, "number")) {
			missing = append(missing, t)
		}
	}
	if len(missing) == 0 {
		return
	}
	m.addDifference(path, "the schema does not allow the type %s, but %s", strings.Join(missing, ", "), strings.Join(allowed, ", "))
	if current.Kind == yaml.SequenceNode || slices.Contains(types, nullType) {
		types = slices.Concat(allowed, missing)
	}
	set(existing, "type", typesNode(types))
}

// mergeProperties adds the missing properties to an existing schema of a mapping.
func (m *merger) mergeProperties(existing *yaml.Node, s *schema, path string) {
	properties := yamledit.Lookup(existing, "properties")
	known := map[string]bool{}
	for _, name := range s.hidden {
		known[name] = true
	}
	additional := yamledit.Lookup(existing, "additionalProperties")
	isOpen := isComposed(existing) || has(existing, "patternProperties") || additional != nil && additional.Kind == yaml.MappingNode
	for _, p := range s.properties {
		known[p.name] = true
		below := strings.TrimPrefix(path+"."+p.name, ".")
		switch current := lookupProperty(properties, p.name); {
		case current != nil:
			m.merge(current, p.schema, below)
		case !isOpen:
			m.addDifference(below, "is not in the schema")
			if properties == nil || properties.Kind != yaml.MappingNode {
				properties = mappingNode()
				set(existing, "properties", properties)
			}
			properties.Style &^= yaml.FlowStyle
			properties.Content = append(properties.Content, textNode(p.name), p.node())
		}
	}
	if properties == nil || properties.Kind != yaml.MappingNode || strings.HasSuffix(path, "]") || strings.Contains(path, "[].") {
		return // the items of a list need not have the same entries
	}
	for i := 0; i+1 < len(properties.Content); i += 2 {
		if name := keyName(properties.Content[i]); !known[name] && !m.mentioned[name] {
			m.addDifference(strings.TrimPrefix(path+"."+name, "."), "is in the schema, but neither in values.yaml nor in a comment of it, such as \"# %s:\"", name)
		}
	}
}

// lookupProperty returns the schema of an entry in the node of properties, which can be nil.
func lookupProperty(properties *yaml.Node, name string) *yaml.Node {
	if properties == nil || properties.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(properties.Content); i += 2 {
		if keyName(properties.Content[i]) == name {
			return properties.Content[i+1]
		}
	}
	return nil
}

// mergeRequired adds the names of the required entries.
func (m *merger) mergeRequired(existing *yaml.Node, s *schema, path string) {
	current := yamledit.Lookup(existing, "required")
	for _, name := range s.required {
		if slices.Contains(textsOf(current), name) {
			continue
		}
		m.addDifference(strings.TrimPrefix(path+"."+name, "."), "the schema does not require it, but the comment in values.yaml does")
		if current == nil || current.Kind != yaml.SequenceNode {
			current = listNode(nil)
			set(existing, "required", current)
		}
		current.Content = append(current.Content, textNode(name))
	}
}

// isComposed reports whether other schemas say what a schema allows.
func isComposed(schema *yaml.Node) bool { return has(schema, "$ref", "allOf", "anyOf", "oneOf") }

func has(mapping *yaml.Node, keys ...string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { return yamledit.Lookup(mapping, key) != nil })
}

// set sets an entry of a mapping.
func set(mapping *yaml.Node, key string, value *yaml.Node) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			mapping.Content[i+1] = value
			return
		}
	}
	mapping.Style &^= yaml.FlowStyle
	mapping.Content = append(mapping.Content, textNode(key), value)
}

// textsOf returns the texts of a scalar or a list. n can be nil.
func textsOf(n *yaml.Node) []string {
	switch {
	case n == nil:
		return nil
	case n.Kind == yaml.ScalarNode:
		return []string{n.Value}
	}
	var texts []string
	for _, c := range n.Content {
		texts = append(texts, c.Value)
	}
	return texts
}

// equal reports whether two nodes have the same content.
func equal(a, b *yaml.Node) bool {
	var contentA, contentB any
	return a.Decode(&contentA) == nil && b.Decode(&contentB) == nil && reflect.DeepEqual(contentA, contentB)
}
