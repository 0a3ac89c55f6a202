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

// maxDepth is the maximum depth of nested lists that DecodeYAML reads. It decodes deeper
// lists as empty. Nested lists are always invalid, so their content does not matter.
const maxDepth = 3

// maxNestedItems limits how many items of nested lists DecodeYAML reads, because aliases
// can make nested lists very large.
const maxNestedItems = 1000

// DecodeYAML returns the value of a YAML node in the form that ReadItems and the other
// functions of this package accept. Like Kubernetes and Helm, it follows YAML 1.1, in
// which on and y, for example, are booleans. Numbers and booleans keep their notation, so
// that messages can quote them.
func DecodeYAML(n *yaml.Node) any {
	remaining := maxNestedItems
	return decodeYAML(n, 0, &remaining)
}

// decodeYAML decodes n. depth is the number of lists that contain n. remaining is the
// number of items of nested lists that can still be read.
func decodeYAML(n *yaml.Node, depth int, remaining *int) any {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch {
	case n.Kind == yaml.ScalarNode:
		return decodeScalar(n)
	case n.Kind == yaml.SequenceNode && depth < maxDepth:
		items := n.Content
		if depth > 0 {
			items = items[:min(len(items), *remaining)]
			*remaining -= len(items)
		}
		list := make([]any, len(items))
		for i, item := range items {
			list[i] = decodeYAML(item, depth+1, remaining)
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

// rawScalar is a number or boolean in the notation of the YAML document.
type rawScalar string

// MarshalJSON returns the scalar unchanged if it is valid JSON, and otherwise as a string.
func (w rawScalar) MarshalJSON() ([]byte, error) {
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
			return rawScalar(n.Value)
		case "!!null":
			return nil
		}
		return n.Value
	case n.Style != 0 || strings.Contains(n.Value, "\n") || isPlainText(n.Value):
		return n.Value
	}
	var read struct{ V any }
	if err := kubeyaml.Unmarshal([]byte("v: "+n.Value), &read); err != nil {
		return rawScalar(n.Value)
	}
	switch read.V.(type) {
	case nil, string:
		return read.V
	}
	return rawScalar(n.Value)
}

// isPlainText reports whether a scalar without quotes is certainly a string, because it
// begins with a letter and is not a boolean or null. Most scalars are such strings, and
// need not be parsed.
func isPlainText(value string) bool {
	if value == "" {
		return false
	}
	first := value[0] | 0x20 // lower case
	return first >= 'a' && first <= 'z' && !slices.Contains(
		[]string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}, strings.ToLower(value))
}
