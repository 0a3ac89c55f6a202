// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"bytes"
	"errors"
	"fmt"

	"gopkg.in/yaml.v3"
)

// encode encodes the changed tree root. It keeps the comments at the start and end of text.
// Sometimes the YAML encoder places a comment where it makes the document invalid. Then
// encode drops all comments.
func encode(text string, root *yaml.Node) (string, error) {
	if err := restoreLost(root); err != nil {
		return "", err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(EndLine(text)), &doc); err != nil {
		return "", fmt.Errorf("read the document again: %w", err)
	}
	doc.Content = []*yaml.Node{root}
	for range 2 {
		encoded, err := encodeDocument(&doc)
		if err != nil {
			return "", fmt.Errorf("encode the changed document: %w", err)
		}
		if sameMeaning(encoded, root) {
			return encoded, nil
		}
		dropComments(&doc)
	}
	return "", errors.New("the document uses YAML syntax that cannot be edited: simplify it")
}

func encodeDocument(doc *yaml.Node) (string, error) {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(doc); err != nil {
		return "", err
	}
	if err := enc.Close(); err != nil {
		return "", err
	}
	return string(bytes.TrimRight(b.Bytes(), "\n")), nil
}

func dropComments(n *yaml.Node) {
	n.HeadComment, n.LineComment, n.FootComment = "", "", ""
	for _, c := range n.Content {
		dropComments(c)
	}
}

// restoreLost makes aliases valid whose anchored value a change has removed: it replaces
// each with a copy of that value.
func restoreLost(root *yaml.Node) error {
	inTree := map[*yaml.Node]bool{}
	var aliases []*yaml.Node
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		inTree[n] = true
		if n.Kind == yaml.AliasNode {
			aliases = append(aliases, n)
		}
		for _, c := range n.Content {
			walk(c)
		}
	}
	walk(root)
	for _, alias := range aliases {
		if inTree[alias.Alias] {
			continue
		}
		restored, err := copied(alias.Alias, inTree, map[*yaml.Node]bool{})
		if err != nil {
			return err
		}
		*alias = *restored
	}
	return nil
}

// copied returns a copy of n, which is no longer in the tree, without its anchors. inTree
// has the nodes that are still in the tree, and within the nodes that are being copied, to
// find cycles.
func copied(n *yaml.Node, inTree, within map[*yaml.Node]bool) (*yaml.Node, error) {
	if n.Kind == yaml.AliasNode {
		if inTree[n.Alias] {
			again := *n
			return &again, nil
		}
		n = n.Alias
	}
	if within[n] {
		return nil, errors.New("encode the changed document: an anchor contains itself")
	}
	within[n] = true
	defer delete(within, n)
	c := *n
	c.Anchor, c.Content = "", make([]*yaml.Node, len(n.Content))
	for i := range n.Content {
		var err error
		if c.Content[i], err = copied(n.Content[i], inTree, within); err != nil {
			return nil, err
		}
	}
	return &c, nil
}

// sameMeaning reports whether parsing text results in the tree want.
func sameMeaning(text string, want *yaml.Node) bool {
	got, err := Parse(text)
	return err == nil && got != nil && equal(got, want, map[*yaml.Node]*yaml.Node{})
}

// equal reports whether two trees are equal. Aliases must refer to corresponding nodes.
// anchored maps the anchored nodes of a to those of b.
func equal(a, b *yaml.Node, anchored map[*yaml.Node]*yaml.Node) bool {
	if a.Kind != b.Kind || a.ShortTag() != b.ShortTag() || a.Value != b.Value ||
		a.Anchor != b.Anchor || len(a.Content) != len(b.Content) {
		return false
	}
	if a.Anchor != "" {
		anchored[a] = b
	}
	if a.Kind == yaml.AliasNode {
		return anchored[a.Alias] == b.Alias
	}
	for i := range a.Content {
		if !equal(a.Content[i], b.Content[i], anchored) {
			return false
		}
	}
	return true
}
