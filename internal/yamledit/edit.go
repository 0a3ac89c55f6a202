// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package yamledit changes entries of mappings in a YAML document, and keeps every other byte
// of its text, including comments, quotes and indentation. If the text cannot be changed in
// place, the package encodes the changed document anew, which can change the formatting, but
// not the content.
package yamledit

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Change describes one change for Apply: it replaces the key or value of an entry in a
// mapping, or deletes or inserts an entry.
type Change struct {
	// Mapping is the node of the mapping to change.
	Mapping *yaml.Node
	// Key is the key of the entry to change or, with Insert, the key of the new entry.
	Key string
	// NewKey, if not empty, replaces the key.
	NewKey string
	// NewValue, if not nil, replaces the value. With Insert, it is the value of the new
	// entry. It must be a scalar, or a mapping of scalars.
	NewValue *yaml.Node
	// If Delete is true, the entry is deleted. If Insert is true, a new entry is inserted
	// at the start of the mapping.
	Delete, Insert bool
}

// Text returns a YAML node for a string.
func Text(value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value, Style: yaml.SingleQuotedStyle}
}

// Mapping returns a YAML node for a mapping with one entry, which is written on one line.
func Mapping(key, value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Style: yaml.FlowStyle, Content: []*yaml.Node{
		{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, Text(value),
	}}
}

// Null returns a YAML node for null. text is how the document writes null: for example "null",
// "~" or an empty string.
func Null(text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: text}
}

// WithFinalNewline returns text with a line break at the end, which it adds if there is none.
// Helm removes the last line break of each document when it splits a YAML stream. Without it,
// a block scalar at the end of the document would have a different value.
func WithFinalNewline(text string) string {
	if strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// Parse returns the root node of a document, or nil if the document is empty.
func Parse(text string) (*yaml.Node, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(WithFinalNewline(text)), &doc); err != nil {
		return nil, err
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) == 0 {
		return nil, nil
	}
	return doc.Content[0], nil
}

// Lookup returns the node to which the keys lead from node through nested mappings. It returns
// nil if there is no such node. It follows aliases, so that the result is never an alias.
func Lookup(node *yaml.Node, keys ...string) *yaml.Node {
	for _, key := range keys {
		i := find(Resolve(node), key)
		if i < 0 {
			return nil
		}
		node = Resolve(node).Content[i+1]
	}
	return Resolve(node)
}

// Resolve returns the node that an alias refers to. It returns any other node unchanged.
func Resolve(node *yaml.Node) *yaml.Node {
	for node != nil && node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	return node
}

// find returns the index of key in mapping.Content, or -1 if mapping has no such key.
func find(mapping *yaml.Node, key string) int {
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		return -1
	}
	for i := 0; i < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return i
		}
	}
	return -1
}

// Apply makes the changes in text and returns the result. root must be the result of Parse for
// text. Apply also makes the changes in root.
func Apply(text string, root *yaml.Node, changes []Change) (string, error) {
	if len(changes) == 0 {
		return text, nil
	}
	edits, inPlace := planEdits(text, changes)
	for _, c := range changes {
		c.apply()
	}
	if inPlace {
		if edited := splice(text, edits); contentEquals(edited, root) {
			return edited, nil
		}
	}
	return encode(text, root)
}

// apply makes the change in the nodes of the document.
func (c Change) apply() {
	if c.Insert {
		key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: c.Key}
		c.Mapping.Content = slices.Insert(c.Mapping.Content, 0, key, c.NewValue)
		return
	}
	i := find(c.Mapping, c.Key)
	if i < 0 {
		return
	}
	if c.Delete {
		c.Mapping.Content = slices.Delete(c.Mapping.Content, i, i+2)
		return
	}
	if c.NewKey != "" {
		c.Mapping.Content[i].Value = c.NewKey
	}
	if c.NewValue != nil {
		c.Mapping.Content[i+1] = c.NewValue
	}
}
