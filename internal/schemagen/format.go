// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package schemagen

import (
	"bytes"
	"reflect"
	"regexp"
	"slices"
	"strings"

	udiff "github.com/aymanbagabas/go-udiff"
	"gopkg.in/yaml.v3"
)

// firstIndent matches the spaces before the first line that is indented.
var firstIndent = regexp.MustCompile(`(?m)^( +)[^ #\r\n-]`)

// encode returns n as YAML, indented like the text original, which can be nil.
func encode(n *yaml.Node, original []byte) ([]byte, error) {
	indent := 2
	if m := firstIndent.FindSubmatch(original); m != nil {
		indent = min(len(m[1]), 9) // the encoder accepts no more
	}
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(max(indent, 2))
	if err := e.Encode(n); err != nil {
		return nil, err
	}
	err := e.Close()
	return b.Bytes(), err
}

// keepFormat returns the YAML document after with the formatting of the lines of original that
// it contains, such as empty lines. before is original as the encoder writes it.
func keepFormat(original, before, after []byte) []byte {
	if original == nil {
		return after
	}
	text := strings.ReplaceAll(string(original), "\r\n", "\n")
	if formatted := mergeEdits(string(before), text, string(after)); sameContent([]byte(formatted), after) {
		after = []byte(formatted)
	}
	if bytes.Contains(original, []byte("\r\n")) {
		after = bytes.ReplaceAll(after, []byte("\n"), []byte("\r\n"))
	}
	return after
}

// mergeEdits changes the lines of base as in content, and the other lines as in format.
func mergeEdits(base, format, content string) string {
	edits := udiff.Lines(base, content)
	inserted := len(edits)
	for _, f := range udiff.Lines(base, format) {
		overlaps := func(c udiff.Edit) bool {
			return f.Start < c.End && c.Start < f.End || f.Start == f.End && c.Start < f.Start && f.Start < c.End
		}
		if !slices.ContainsFunc(edits[:inserted], overlaps) {
			edits = append(edits, f)
		}
	}
	merged, err := udiff.Apply(base, edits)
	if err != nil {
		return ""
	}
	return merged
}

// sameContent reports whether two YAML documents have the same content.
func sameContent(a, b []byte) bool {
	var contentA, contentB any
	return yaml.Unmarshal(a, &contentA) == nil && yaml.Unmarshal(b, &contentB) == nil && reflect.DeepEqual(contentA, contentB)
}
