// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"
)

const (
	// MaxExpanded is how large a document with anchors may be with a copy in the
	// place of each alias, in bytes.
	MaxExpanded = 16 << 20
	// nodeSize is what a node counts for besides its text.
	nodeSize = 16
)

// AliasError says that the aliases of a document make too much of it.
type AliasError struct{}

func (*AliasError) Error() string {
	return fmt.Sprintf("its aliases expand to more than %d MiB: shorten the anchored value, or use fewer aliases", MaxExpanded>>20)
}

// CheckAliases refuses the text of a document whose aliases make very much of little.
// YAML's parser counts nodes alone, not how long they are. What does not parse is for
// others to refuse.
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

// MayHaveAliases reports whether a text has what looks like an anchor and an alias. It
// spares almost every document the parser.
func MayHaveAliases(text string) bool { return mayContainToken(text, '&') && mayContainToken(text, '*') }

// mayContainToken finds a sign that stands where an anchor or alias may begin.
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

// expansion holds the sizes of nodes, as far as they are known.
type expansion map[*yaml.Node]int

// size is that of a node with all it refers to, but not more than what is too much.
func (e expansion) size(n *yaml.Node) int {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
		if size, known := e[n]; known {
			return size
		}
	}
	if n.Anchor != "" {
		e[n] = 0 // one that contains itself is for the parser to refuse
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
