// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"
)

const (
	// MaxExpanded limits the size of a document after each alias is replaced with a copy of
	// its anchored value, in bytes.
	MaxExpanded = 16 << 20
	// nodeSize is how many bytes a YAML node counts in addition to its text.
	nodeSize = 16
)

// AliasError reports that a document with its aliases replaced exceeds MaxExpanded.
type AliasError struct{}

func (*AliasError) Error() string {
	return fmt.Sprintf("its aliases expand to more than %d MiB: shorten the anchored value, or use fewer aliases", MaxExpanded>>20)
}

// CheckAliases returns an *AliasError if a document with its aliases replaced would exceed
// MaxExpanded. The YAML parser limits only the number of nodes, not their size.
// CheckAliases ignores a document that cannot be parsed, because the caller's parser
// rejects it.
func CheckAliases(text string) error {
	if !MayHaveAliases(text) {
		return nil
	}
	root, err := Parse(text)
	if err != nil || root == nil {
		return nil //nolint:nilerr // see above
	}
	if size := (expansion{}).size(root); size > MaxExpanded {
		return &AliasError{}
	}
	return nil
}

// MayHaveAliases reports whether a text could contain an anchor and an alias. If not, it
// need not be parsed, which is so for almost all documents.
func MayHaveAliases(text string) bool {
	return mayContainToken(text, '&') && mayContainToken(text, '*')
}

// mayContainToken reports whether sign occurs in a place where an anchor or alias can
// begin.
func mayContainToken(text string, sign byte) bool {
	for at := 0; ; {
		next := strings.IndexByte(text[at:], sign)
		if next < 0 {
			return false
		}
		at += next + 1
		begins := at == 1 || strings.IndexByte(" \t\r\n[{,:\"'}]", text[at-2]) >= 0
		if begins && at < len(text) && strings.IndexByte(" \t\r\n&*", text[at]) < 0 {
			return true
		}
	}
}

// expansion has the sizes of the anchored nodes that size has already computed.
type expansion map[*yaml.Node]int

// size returns the size of n after its aliases are replaced, but at most MaxExpanded+1.
func (e expansion) size(n *yaml.Node) int {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
		if size, known := e[n]; known {
			return size
		}
	}
	if n.Anchor != "" {
		e[n] = 0 // the parser rejects an anchor that contains itself
	}
	size := len(n.Value) + nodeSize
	for _, c := range n.Content {
		size = min(size+e.size(c), MaxExpanded+1)
	}
	if n.Anchor != "" {
		e[n] = size
	}
	return size
}
