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

// maxDepth limits the nesting of lists that DecodeNode reads. Nested lists are never
// valid.
const maxDepth = 3

// maxNodes limits the items that DecodeNode reads from nested lists. These are never
// valid, and aliases can make them very large.
const maxNodes = 1000

// DecodeNode returns the value of a YAML node. Like Kubernetes and Helm it uses YAML 1.1,
// in which on and y are booleans as well.
func DecodeNode(n *yaml.Node) any {
	inner := maxNodes
	return decodeNode(n, 0, &inner)
}

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

// rawNumber is a number or boolean as written in a document.
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

// isPlainText reports whether a plain scalar is certainly a string, because it begins
// with a letter and is not a special word. This avoids parsing almost all scalars.
func isPlainText(value string) bool {
	if value == "" {
		return false
	}
	first := value[0] | 0x20 // lower case
	return first >= 'a' && first <= 'z' && !slices.Contains(
		[]string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}, strings.ToLower(value))
}
