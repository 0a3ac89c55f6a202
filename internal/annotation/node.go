// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"encoding/json"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
	kubeyaml "sigs.k8s.io/yaml"
)

// maxDepth limits how deeply nested lists DecodeNode reads. Nested lists are never valid,
// so their content does not matter.
const maxDepth = 3

// maxNodes limits how many items of nested lists DecodeNode reads, because aliases can make
// nested lists very large.
const maxNodes = 1000

// DecodeNode returns the value of a YAML node, for ReadItems and the other functions that
// read values. Like Kubernetes and Helm it follows YAML 1.1, in which for example on and y
// are booleans. Numbers and booleans keep their notation, so that messages can quote it.
func DecodeNode(n *yaml.Node) any {
	inner := maxNodes
	return decodeNode(n, 0, &inner)
}

// decodeNode decodes n, which is in depth lists. inner is the number of items of nested
// lists that can still be read.
func decodeNode(n *yaml.Node, depth int, inner *int) any {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch {
	case n.Kind == yaml.ScalarNode:
		return decodeScalar(n)
	case n.Kind == yaml.SequenceNode && depth < maxDepth:
		items := n.Content
		if depth > 0 {
			items = items[:min(len(items), *inner)]
			*inner -= len(items)
		}
		list := make([]any, len(items))
		for i, item := range items {
			list[i] = decodeNode(item, depth+1, inner)
		}
		return list
	case n.Kind == yaml.SequenceNode:
		return []any{}
	}
	content := map[string]any{}
	if err := n.Decode(&content); err != nil {
		return map[string]any{} // a map is invalid, whatever it contains
	}
	return content
}

// rawNumber is a number or boolean in the notation of the document.
type rawNumber string

// MarshalJSON returns the text unchanged if it is valid JSON.
func (w rawNumber) MarshalJSON() ([]byte, error) {
	if json.Valid([]byte(w)) {
		return []byte(w), nil
	}
	return json.Marshal(string(w))
}

func decodeScalar(n *yaml.Node) any {
	switch {
	case n.Style&yaml.TaggedStyle != 0:
		switch n.ShortTag() {
		case "!!int", "!!float", "!!bool":
			return rawNumber(n.Value)
		case "!!null":
			return nil
		}
		return n.Value
	case n.Style != 0 || strings.Contains(n.Value, "\n") || isPlainText(n.Value):
		return n.Value
	}
	var read struct{ V any }
	if err := kubeyaml.Unmarshal([]byte("v: "+n.Value), &read); err != nil {
		return rawNumber(n.Value)
	}
	switch read.V.(type) {
	case nil, string:
		return read.V
	}
	return rawNumber(n.Value)
}

// isPlainText reports whether a scalar without quotes is certainly a string, because it
// begins with a letter and is not a boolean or null. Almost all scalars are, and need not
// be parsed.
func isPlainText(value string) bool {
	if value == "" {
		return false
	}
	first := value[0] | 0x20 // lower case
	return first >= 'a' && first <= 'z' && !slices.Contains(
		[]string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}, strings.ToLower(value))
}
