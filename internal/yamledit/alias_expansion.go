// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"
)

const (
	// MaxExpandedSize is the maximum expanded size of a document, in bytes. The expanded
	// size is that of the document after each alias is replaced with a copy of the value to
	// which it refers.
	MaxExpandedSize = 16 << 20
	// nodeOverhead is what each YAML node adds to the expanded size, besides its text.
	nodeOverhead = 16
)

// AliasExpansionError reports that the expanded size of a document exceeds MaxExpandedSize.
type AliasExpansionError struct{}

func (*AliasExpansionError) Error() string {
	return fmt.Sprintf("its aliases expand to more than %d MiB: shorten the anchored value, or use fewer aliases", MaxExpandedSize>>20)
}

// CheckAliases returns an *AliasExpansionError if the expanded size of a document exceeds
// MaxExpandedSize. The YAML parser limits only the number of nodes, not their size. If the
// document cannot be parsed, CheckAliases returns nil, because a parser will reject it anyway.
func CheckAliases(text string) error {
	if !MayHaveAliases(text) {
		return nil
	}
	root, err := Parse(text)
	if err != nil || root == nil {
		return nil //nolint:nilerr // see above
	}
	if size := (aliasExpansion{}).size(root); size > MaxExpandedSize {
		return &AliasExpansionError{}
	}
	return nil
}

// MayHaveAliases reports whether a text may contain an anchor and an alias. It is fast, and
// true for few documents without aliases.
func MayHaveAliases(text string) bool {
	return mayContainToken(text, '&') && mayContainToken(text, '*')
}

// mayContainToken reports whether sign occurs where an anchor or alias can begin.
func mayContainToken(text string, sign byte) bool {
	for at := 0; ; {
		next := strings.IndexByte(text[at:], sign)
		if next < 0 {
			return false
		}
		at += next + 1
		canBegin := at == 1 || strings.IndexByte(" \t\r\n[{,:\"'}]", text[at-2]) >= 0
		if canBegin && at < len(text) && strings.IndexByte(" \t\r\n&*", text[at]) < 0 {
			return true
		}
	}
}

// aliasExpansion computes expanded sizes. It contains the results for anchored nodes.
type aliasExpansion map[*yaml.Node]int

// size returns the expanded size of n, or MaxExpandedSize+1 if it is larger.
func (e aliasExpansion) size(n *yaml.Node) int {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
		if size, known := e[n]; known {
			return size
		}
	}
	if n.Anchor != "" {
		e[n] = 0 // the parser rejects an anchor that contains itself
	}
	size := len(n.Value) + nodeOverhead
	for _, c := range n.Content {
		size = min(size+e.size(c), MaxExpandedSize+1)
	}
	if n.Anchor != "" {
		e[n] = size
	}
	return size
}
