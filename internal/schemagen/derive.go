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
	var doc yaml.Node
	err := yaml.Unmarshal([]byte(yamledit.WithFinalNewline(string(text))), &doc)
	var values map[string]any
	if err == nil {
		err = sigsyaml.Unmarshal(text, &values, useNumber)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	s := schemaOf([]any{values})
	s.types = []string{objectType} // also if the file is empty
	c := &commentReader{file: file, lines: strings.Split(string(text), "\n")}
	if err := c.refuseBlocks(&doc); err != nil || len(doc.Content) == 0 {
		return s, err
	}
	return s, c.annotate(s, doc.Content[0], "")
}

func useNumber(d *json.Decoder) *json.Decoder {
	d.UseNumber()
	return d
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
	s.types = unionOfTypes(s.types)
	for _, name := range slices.Sorted(maps.Keys(entries)) { // annotate sorts them as in values.yaml
		s.properties = append(s.properties, property{name, schemaOf(entries[name])})
	}
	if len(items) > 0 {
		s.items = schemaOf(items)
	}
	return s
}

// unionOfTypes sorts types, and removes those that others contain.
func unionOfTypes(types []string) []string {
	slices.Sort(types)
	types = slices.Compact(types)
	if slices.Contains(types, "number") {
		types = slices.DeleteFunc(types, func(t string) bool { return t == "integer" })
	}
	return types
}

// declaresAnywhere reports whether comments declare a keyword of the value or of a value in it.
func (s *schema) declaresAnywhere(name string) bool {
	return s.declares(name) || s.items != nil && s.items.declaresAnywhere(name) ||
		slices.ContainsFunc(s.properties, func(p property) bool { return p.declaresAnywhere(name) })
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
		return objectType
	}
	return nullType
}

// nullType is the type of null, and objectType that of a mapping.
const nullType, objectType = "null", "object"

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

// property returns the schema of an entry, or nil if there is none.
func (s *schema) property(name string) *schema {
	i := slices.IndexFunc(s.properties, func(p property) bool { return p.name == name })
	if i < 0 {
		return nil
	}
	return s.properties[i].schema
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
