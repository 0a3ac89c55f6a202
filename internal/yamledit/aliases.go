// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"
)

const (
	// MaxExpanded limits the size of a document if each alias is replaced with a copy of
	// its anchor, in bytes.
	MaxExpanded = 16 << 20
	// nodeSize is the size of a node in addition to its text.
	nodeSize = 16
)

// AliasError reports that the aliases of a document expand to more than MaxExpanded.
type AliasError struct{}

func (*AliasError) Error() string {
	return fmt.Sprintf("its aliases expand to more than %d MiB: shorten the anchored value, or use fewer aliases", MaxExpanded>>20)
}

// CheckAliases rejects a document whose aliases expand to more than MaxExpanded. The YAML
// parser limits only the number of nodes, not their size. CheckAliases ignores a document
// that cannot be parsed, because others reject it.
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

// MayHaveAliases reports whether a text may contain an anchor and an alias. This avoids
// parsing almost all documents.
func MayHaveAliases(text string) bool {
	return mayContainToken(text, '&') && mayContainToken(text, '*')
}

// mayContainToken reports whether a character occurs where an anchor or alias can begin.
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

// expansion contains the sizes of the nodes that are already known.
type expansion map[*yaml.Node]int

// size returns the size of a node with everything that it refers to, but at most
// MaxExpanded+1.
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
