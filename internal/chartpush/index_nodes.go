// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartpush

import (
	"errors"
	"fmt"

	"gopkg.in/yaml.v3"
	"helm.sh/helm/v3/pkg/repo"
	k8syaml "sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/yamledit"
)

// indexNodes contains an index as nodes of YAML, which preserve comments and unknown fields.
type indexNodes struct {
	document, root *yaml.Node
	// entries is the value of the field entries.
	entries *yaml.Node
}

// parseIndex parses an index. If it has no field entries, parseIndex adds it.
func parseIndex(data []byte) (*indexNodes, error) {
	if err := yamledit.CheckAliases(string(data)); err != nil {
		return nil, err
	}
	var known repo.IndexFile
	if err := k8syaml.Unmarshal(data, &known); err != nil {
		return nil, fmt.Errorf("it is not the index of a repository: %w", err)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		return nil, fmt.Errorf("it is not the index of a repository: %w", err)
	}
	if len(document.Content) == 0 || scalar(document.Content[0], "apiVersion") == "" {
		return nil, errors.New("it is not the index of a repository: it has no apiVersion")
	}
	writeNulls(&document)
	index := &indexNodes{document: &document, root: document.Content[0]}
	index.entries = field(index.root, "entries")
	if index.entries == nil || index.entries.Kind == yaml.ScalarNode { // a scalar is null
		index.entries = &yaml.Node{Kind: yaml.MappingNode}
		setField(index.root, "entries", index.entries)
	}
	err := index.checkAliases()
	return index, err
}

// checkAliases returns an error if an alias is used for a node that is going to be changed.
func (n *indexNodes) checkAliases() error {
	if n.root.Kind != yaml.MappingNode || n.entries.Kind != yaml.MappingNode {
		return errors.New("its entries are an alias of YAML")
	}
	for i := 1; i < len(n.entries.Content); i += 2 {
		if n.entries.Content[i].Kind == yaml.AliasNode {
			return fmt.Errorf("the entry %s is an alias of YAML", n.entries.Content[i-1].Value)
		}
	}
	return nil
}

// writeNulls gives null values without text, as in {key}, the text null, because they would become
// empty strings otherwise.
func writeNulls(node *yaml.Node) {
	if node.Kind == yaml.ScalarNode && node.Tag == "!!null" && node.Value == "" {
		node.Value = "null"
	}
	for _, child := range node.Content {
		writeNulls(child)
	}
}

// field returns the value of a field of a mapping, or nil.
func field(mapping *yaml.Node, name string) *yaml.Node {
	for i := 0; mapping != nil && i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == name {
			return mapping.Content[i+1]
		}
	}
	return nil
}

// setField sets a field of a mapping.
func setField(mapping *yaml.Node, name string, value *yaml.Node) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == name {
			mapping.Content[i+1] = value
			return
		}
	}
	key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name}
	mapping.Content = append(mapping.Content, key, value)
}

// scalar returns the text of a field of a mapping, or "".
func scalar(mapping *yaml.Node, name string) string {
	if mapping.Kind != yaml.MappingNode {
		return ""
	}
	if value := field(mapping, name); value != nil {
		return value.Value
	}
	return ""
}

// versionPosition returns the position of a version in the list of versions of a chart, or -1.
func versionPosition(list *yaml.Node, version string) int {
	if list != nil && list.Kind == yaml.SequenceNode {
		for i, entry := range list.Content {
			if scalar(entry, "version") == version {
				return i
			}
		}
	}
	return -1
}
