// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartformat

import (
	"iter"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/yamledit"
)

// entries returns the keys and values of a mapping, in the order of the file. n can be nil.
func (r *reader) entries(n *yaml.Node, field string) iter.Seq2[string, *yaml.Node] {
	return func(yield func(string, *yaml.Node) bool) {
		n = yamledit.Resolve(n)
		if isNull(n) {
			return
		}
		if n.Kind != yaml.MappingNode {
			r.invalidf(n, field, "must be a mapping")
			return
		}
		seen := map[string]bool{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i].Value
			if seen[key] {
				r.invalidf(n.Content[i], field, "the field %s is defined twice", key)
				continue
			}
			seen[key] = true
			if n.Content[i].Tag == "!!merge" {
				r.invalidf(n.Content[i], field, "YAML merge keys (<<) are not supported: write the fields out")
				continue
			}
			if !yield(key, yamledit.Resolve(n.Content[i+1])) {
				return
			}
		}
	}
}

// items returns the items of a list, which can be nil.
func (r *reader) items(n *yaml.Node, field string) []*yaml.Node {
	n = yamledit.Resolve(n)
	if isNull(n) {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		r.invalidf(n, field, "must be a list")
		return nil
	}
	items := make([]*yaml.Node, len(n.Content))
	for i, item := range n.Content {
		items[i] = yamledit.Resolve(item)
	}
	return items
}

// scalar returns the text of a scalar as it is written, so that 1.10 is not the number 1.1. n can
// be nil.
func (r *reader) scalar(n *yaml.Node, field string) string {
	if isNull(n) {
		return ""
	}
	if n.Kind != yaml.ScalarNode {
		r.invalidf(n, field, "must be a string")
		return ""
	}
	if r.checksObject {
		if _, isString := annotation.DecodeYAML(n).(string); !isString {
			r.notCanonicalf(n, field, "is not a string: write %q", n.Value)
		}
	}
	return n.Value
}

// scalars returns the texts of a list of scalars.
func (r *reader) scalars(n *yaml.Node, field string) []string {
	var texts []string
	for _, item := range r.items(n, field) {
		r.checkItem(item, field)
		texts = append(texts, r.scalar(item, field))
	}
	return texts
}

// checkItem checks whether Kubernetes accepts an item in a list of strings.
func (r *reader) checkItem(item *yaml.Node, field string) {
	if isNull(item) {
		r.notCanonicalf(item, field, "an item has no value: remove it")
	}
}

// names returns the names in a list, which can also be a string.
func (r *reader) names(n *yaml.Node, field string) []string {
	if isNull(n) {
		return nil
	}
	switch n.Kind {
	case yaml.ScalarNode:
		r.notCanonicalf(n, field, "is not a list: write [%s]", n.Value)
	case yaml.SequenceNode:
		for _, item := range r.items(n, field) {
			r.checkItem(item, field)
		}
	}
	names, err := annotation.ReadNames(annotation.DependsOnField, annotation.DecodeYAML(n))
	if err != nil {
		r.invalidf(n, field, "%v", err)
	}
	return names
}

func (r *reader) boolean(n *yaml.Node, field string) bool {
	value, isBoolean := kubernetesBool(n)
	if !isBoolean && !isNull(n) {
		r.invalidf(n, field, "must be true or false")
	}
	return value
}

// kubernetesBool returns the value of a boolean. Like Kubernetes, it follows YAML 1.1, in which
// yes and on, for example, are booleans. isBoolean is false for everything else.
func kubernetesBool(n *yaml.Node) (value, isBoolean bool) {
	if n == nil || n.Kind != yaml.ScalarNode {
		return false, false
	}
	if _, isString := annotation.DecodeYAML(n).(string); isString {
		return false, false
	}
	switch strings.ToLower(n.Value) {
	case "true", "yes", "y", "on":
		return true, true
	case "false", "no", "n", "off":
		return false, true
	}
	return false, false
}

func isNull(n *yaml.Node) bool {
	return n == nil || n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}
