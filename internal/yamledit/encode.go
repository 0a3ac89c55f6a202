// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"bytes"
	"errors"
	"fmt"

	"gopkg.in/yaml.v3"
)

// encode returns the changed document with the node root as YAML. text is the document before
// the changes, whose comments at the start and end are kept. If the YAML encoder puts a
// comment where it makes the document invalid, encode omits all comments. If the encoder still
// cannot write the document as it was, for example because of tags in front of scalars, encode
// writes it in a plain style.
func encode(text string, root *yaml.Node) (string, error) {
	if err := restoreAliases(root); err != nil {
		return "", err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(WithFinalNewline(text)), &doc); err != nil {
		return "", fmt.Errorf("parse the document: %w", err)
	}
	doc.Content = []*yaml.Node{root}
	for _, simplify := range []func(*yaml.Node){dropComments, plainStyle, nil} {
		encoded, err := encodeDocument(&doc)
		if err != nil {
			return "", fmt.Errorf("encode the changed document: %w", err)
		}
		if contentEquals(encoded, root) {
			return encoded, nil
		}
		if simplify != nil {
			simplify(&doc)
		}
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

// plainStyle removes what a document can have besides its content: explicit tags, flow style, block
// scalars, and null values that are written as nothing.
func plainStyle(n *yaml.Node) {
	n.Style &^= yaml.TaggedStyle | yaml.FlowStyle | yaml.LiteralStyle | yaml.FoldedStyle
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
		n.Value = "null"
	}
	for _, c := range n.Content {
		plainStyle(c)
	}
}

// restoreAliases replaces each alias that refers to a node that is no longer part of the
// document, because of a change, with a copy of this node.
func restoreAliases(root *yaml.Node) error {
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
		restored, err := copyNode(alias.Alias, inTree, map[*yaml.Node]bool{})
		if err != nil {
			return err
		}
		*alias = *restored
	}
	return nil
}

// copyNode returns a copy of n, which is no longer part of the document, without anchors.
// inTree contains the nodes that are still part of the document. copying contains the nodes
// that contain n and are being copied, to detect cycles.
func copyNode(n *yaml.Node, inTree, copying map[*yaml.Node]bool) (*yaml.Node, error) {
	if n.Kind == yaml.AliasNode {
		if inTree[n.Alias] {
			alias := *n
			return &alias, nil
		}
		n = n.Alias
	}
	if copying[n] {
		return nil, errors.New("encode the changed document: an anchor contains itself")
	}
	copying[n] = true
	defer delete(copying, n)
	c := *n
	c.Anchor, c.Content = "", make([]*yaml.Node, len(n.Content))
	for i := range n.Content {
		var err error
		if c.Content[i], err = copyNode(n.Content[i], inTree, copying); err != nil {
			return nil, err
		}
	}
	return &c, nil
}

// contentEquals reports whether text has the content want, apart from formatting and comments.
func contentEquals(text string, want *yaml.Node) bool {
	got, err := Parse(text)
	return err == nil && got != nil && equal(got, want, map[*yaml.Node]*yaml.Node{})
}

// equal reports whether two nodes have equal content, and their aliases refer to corresponding
// nodes. anchored maps the anchored nodes in a that were already compared to those in b.
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
