// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package schemagen derives the JSON Schema of a chart from its values.yaml, and merges it into
// an existing schema (docs/reference.md, "helm schema").
package schemagen

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/yamledit"
)

// schema describes a value.
type schema struct {
	// types are the types of the value, sorted. A new schema with the type null allows all types,
	// because null often stands for a value that is not set.
	types []string
	// properties are the entries of a mapping, in the order of values.yaml.
	properties []property
	// items describes the items of a list; nil if nothing is known of them.
	items *schema
	// declared contains what comments say. It takes precedence.
	declared []keyword
	// required contains the names of the entries that comments declare as required, and hidden
	// those that the schema does not mention.
	required, hidden []string
}

type property struct {
	name string
	*schema
}

// derive returns the schema of the values in a values.yaml. file is its name for errors.
func derive(file string, text []byte) (*schema, error) {
	if err := yamledit.CheckAliases(string(text)); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	root, err := yamledit.Parse(string(text))
	var values map[string]any
	if err == nil {
		err = sigsyaml.Unmarshal(text, &values, useNumber)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	d := &deriver{comments: commentReader{file: file, lines: strings.Split(string(text), "\n")}}
	s, err := d.mapping(values, yamledit.Resolve(root), "")
	if err != nil {
		return nil, err
	}
	return s, nil
}

func useNumber(d *json.Decoder) *json.Decoder {
	d.UseNumber()
	return d
}

type deriver struct{ comments commentReader }

// mapping returns the schema of a mapping. n is its node, or nil if it has none of its own.
func (d *deriver) mapping(values map[string]any, n *yaml.Node, path string) (*schema, error) {
	s := &schema{types: []string{"object"}}
	seen := map[string]bool{}
	if n != nil && n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			value, exists := values[key.Value]
			if !exists || seen[key.Value] {
				continue
			}
			seen[key.Value] = true
			if err := d.entry(s, key, n.Content[i+1], value, path); err != nil {
				return nil, err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) { // those of merged mappings
		if !seen[name] {
			s.properties = append(s.properties, property{name, schemaOf([]any{values[name]})})
		}
	}
	return s, nil
}

// entry adds an entry of a mapping to s.
func (d *deriver) entry(s *schema, key, n *yaml.Node, value any, path string) error {
	path = strings.TrimPrefix(path+"."+key.Value, ".")
	comment, err := d.comments.of(key, n, path)
	if err != nil {
		return err
	}
	if comment.hidden {
		s.hidden = append(s.hidden, key.Value)
		return nil
	}
	n = yamledit.Resolve(n)
	entry := schemaOf([]any{value})
	if values, isMapping := value.(map[string]any); isMapping {
		if entry, err = d.mapping(values, n, path); err != nil {
			return err
		}
	} else if _, isNumber := value.(json.Number); isNumber && n.ShortTag() == "!!float" {
		entry.types = []string{"number"} // 1.0 is 1 in JSON
	}
	if comment.skipProperties {
		entry.properties, entry.required, entry.hidden = nil, nil, nil
	}
	entry.declared = comment.keywords
	s.properties = append(s.properties, property{key.Value, entry})
	if comment.required {
		s.required = append(s.required, key.Value)
	}
	return nil
}

// schemaOf returns a schema that accepts all of the values.
func schemaOf(values []any) *schema {
	s := &schema{}
	var items []any
	entries := map[string][]any{}
	for _, value := range values {
		s.types = append(s.types, typeOf(value))
		switch value := value.(type) {
		case []any:
			items = append(items, value...)
		case map[string]any:
			for name, v := range value {
				entries[name] = append(entries[name], v)
			}
		}
	}
	slices.Sort(s.types)
	s.types = slices.Compact(s.types)
	if slices.Contains(s.types, "number") {
		s.types = slices.DeleteFunc(s.types, func(t string) bool { return t == "integer" })
	}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		s.properties = append(s.properties, property{name, schemaOf(entries[name])})
	}
	if len(items) > 0 {
		s.items = schemaOf(items)
	}
	return s
}

// typeOf returns the type of a value in JSON Schema.
func typeOf(value any) string {
	switch value := value.(type) {
	case bool:
		return "boolean"
	case json.Number:
		if strings.ContainsAny(value.String(), ".eE") {
			return "number"
		}
		return "integer"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return nullType
}

// nullType is the type of null.
const nullType = "null"

// node returns the schema as a YAML node.
func (s *schema) node() *yaml.Node {
	n := mappingNode()
	for _, k := range s.declared {
		if k.name == "description" || k.name == "title" {
			n.Content = append(n.Content, textNode(k.name), k.value)
		}
	}
	if !slices.Contains(s.types, nullType) && !s.declares("type", "$ref", "enum", "const", "anyOf", "oneOf", "allOf") {
		n.Content = append(n.Content, textNode("type"), typesNode(s.types))
	}
	for _, k := range s.declared {
		if k.name != "description" && k.name != "title" {
			n.Content = append(n.Content, textNode(k.name), k.value)
		}
	}
	if len(s.required) > 0 {
		n.Content = append(n.Content, textNode("required"), listNode(s.required))
	}
	if len(s.properties) > 0 && !s.declares("properties", "$ref") {
		properties := mappingNode()
		for _, p := range s.properties {
			properties.Content = append(properties.Content, textNode(p.name), p.node())
		}
		n.Content = append(n.Content, textNode("properties"), properties)
	}
	if s.items != nil && !s.declares("items", "$ref") {
		n.Content = append(n.Content, textNode("items"), s.items.node())
	}
	if len(n.Content) == 0 {
		n.Style = yaml.FlowStyle
	}
	return n
}

// declares reports whether comments declare any of the keywords.
func (s *schema) declares(names ...string) bool {
	return slices.ContainsFunc(s.declared, func(k keyword) bool { return slices.Contains(names, k.name) })
}

func typesNode(types []string) *yaml.Node {
	if len(types) == 1 {
		return textNode(types[0])
	}
	return listNode(types)
}

func listNode(texts []string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle}
	for _, text := range texts {
		n.Content = append(n.Content, textNode(text))
	}
	return n
}
