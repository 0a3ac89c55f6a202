// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package yamledit changes single entries of the mappings in a YAML document and leaves
// every other byte unchanged: comments, quoting, order and indentation. If it cannot change
// the text in place, it encodes the changed document instead. The meaning of the result is
// therefore always correct.
package yamledit

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Change is one change to a mapping of a document.
type Change struct {
	// Mapping is the mapping to change, a node of the document.
	Mapping *yaml.Node
	// Key is the key of the entry to change. With Insert it is the new key.
	Key string
	// NewKey, if not empty, replaces the key.
	NewKey string
	// NewValue, if not nil, replaces the value. It is a scalar, or a mapping of
	// scalars.
	NewValue *yaml.Node
	// Delete removes the entry. Insert adds a new entry before the others.
	Delete, Insert bool
}

// Text returns a string scalar.
func Text(value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value, Style: yaml.SingleQuotedStyle}
}

// Null returns a null scalar in a given notation, such as "null" or an empty string.
func Null(written string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: written}
}

// EndLine ensures that a document ends with a line break. Documents that are extracted from
// a stream lose it, which would change the end of a block scalar.
func EndLine(text string) string {
	if strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// Parse parses one document. It returns nil for an empty document.
func Parse(text string) (*yaml.Node, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(EndLine(text)), &doc); err != nil {
		return nil, err
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) == 0 {
		return nil, nil
	}
	return doc.Content[0], nil
}

// Lookup returns the value at a path of keys in nested mappings, or nil if it does not
// exist. It follows aliases.
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

// find returns the index of the key's node in the content of a mapping, or -1.
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

// Apply applies the changes to the text that root was parsed from. It also changes the
// nodes of root.
func Apply(text string, root *yaml.Node, changes []Change) (string, error) {
	if len(changes) == 0 {
		return text, nil
	}
	edits, inPlace := plan(text, changes)
	for _, c := range changes {
		c.apply()
	}
	if inPlace {
		if edited := splice(text, edits); sameMeaning(edited, root) {
			return edited, nil
		}
	}
	return encode(text, root)
}

// apply applies the change to the nodes.
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
