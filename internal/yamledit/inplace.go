// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// edit replaces the bytes from start to end.
type edit struct {
	start, end int
	text       string
}

// splice makes the edits, which do not overlap.
func splice(text string, edits []edit) string {
	slices.SortFunc(edits, func(a, b edit) int { return a.start - b.start })
	var b strings.Builder
	at := 0
	for _, e := range edits {
		if e.start < at {
			return "" // overlapping: no document, so the caller falls back
		}
		b.WriteString(text[at:e.start])
		b.WriteString(e.text)
		at = e.end
	}
	b.WriteString(text[at:])
	return b.String()
}

// plan turns changes into edits of the text, or says that it cannot. Whether
// the edits mean what they should is for the caller to check.
func plan(text string, changes []Change) ([]edit, bool) {
	src := newSource(text)
	var edits []edit
	for _, c := range changes {
		var more []edit
		ok := false
		switch {
		case c.Insert:
			more, ok = src.insert(c)
		case c.Delete:
			more, ok = src.remove(c)
		default:
			more, ok = src.replace(c)
		}
		if !ok {
			return nil, false
		}
		edits = append(edits, more...)
	}
	return edits, true
}

// source is a text with the offsets at which its lines begin.
type source struct {
	text  string
	lines []int
}

func newSource(text string) *source {
	s := &source{text: text, lines: []int{0}}
	for i := range len(text) {
		if text[i] == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	return s
}

// offset is where the node begins. The parser counts columns in characters.
func (s *source) offset(n *yaml.Node) (int, bool) {
	if n.Line < 1 || n.Line > len(s.lines) {
		return 0, false
	}
	at := s.lines[n.Line-1]
	for range n.Column - 1 {
		if at >= len(s.text) {
			return 0, false
		}
		_, size := utf8.DecodeRuneInString(s.text[at:])
		at += size
	}
	return at, true
}

// lineEnd is the offset of the end of the line (from 1), its newline left out.
func (s *source) lineEnd(line int) int {
	if line >= len(s.lines) {
		return len(s.text)
	}
	return s.lines[line] - 1
}

func (s *source) replace(c Change) ([]edit, bool) {
	i := find(c.Mapping, c.Key)
	if i < 0 {
		return nil, true
	}
	keyStart, keyEnd, ok := s.keySpan(c.Mapping.Content[i])
	if !ok {
		return nil, false
	}
	var edits []edit
	if c.NewKey != "" {
		edits = append(edits, edit{keyStart, keyEnd, c.NewKey})
	}
	if c.NewValue != nil {
		e, ok := s.value(keyEnd, c.Mapping.Content[i+1])
		if !ok {
			return nil, false
		}
		e.text += inline(c.NewValue, c.Mapping.Style&yaml.FlowStyle != 0)
		edits = append(edits, e)
	}
	return edits, true
}

// keySpan finds the characters of a key, its quotes left out.
func (s *source) keySpan(key *yaml.Node) (start, end int, ok bool) {
	at, ok := s.offset(key)
	if !ok {
		return 0, 0, false
	}
	if key.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
		at++
	}
	if !strings.HasPrefix(s.text[at:], key.Value) {
		return 0, 0, false
	}
	return at, at + len(key.Value), true
}

// value finds what to take out for a value: the edit's text is what must stand
// before the new value.
func (s *source) value(keyEnd int, v *yaml.Node) (edit, bool) {
	start, ok := s.offset(v)
	if !ok {
		return edit{}, false
	}
	switch {
	case v.Kind == yaml.SequenceNode && v.Style&yaml.FlowStyle != 0:
		end, ok := flowEnd(s.text, start)
		return edit{start: start, end: end}, ok
	case v.Kind == yaml.SequenceNode && len(v.Content) > 0:
		colon := strings.IndexByte(s.text[keyEnd:], ':')
		if colon < 0 {
			return edit{}, false
		}
		last := v.Content[len(v.Content)-1]
		return edit{start: keyEnd + colon + 1, end: s.lineEnd(last.Line), text: " "}, true
	case v.Kind == yaml.ScalarNode && v.Style == 0 && strings.HasPrefix(s.text[start:], v.Value):
		return edit{start: start, end: start + len(v.Value)}, true
	}
	return edit{}, false
}

// flowEnd finds the end of the flow sequence that begins at start.
func flowEnd(text string, start int) (int, bool) {
	depth := 0
	for i := start; i < len(text); i++ {
		switch c := text[i]; c {
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth == 0 {
				return i + 1, true
			}
		case '"', '\'':
			end := quotedEnd(text, i)
			if end < 0 {
				return 0, false
			}
			i = end
		case '#':
			nl := strings.IndexByte(text[i:], '\n')
			if i > start && !strings.ContainsRune(" \t\n", rune(text[i-1])) {
				continue
			}
			if nl < 0 {
				return 0, false
			}
			i += nl
		}
	}
	return 0, false
}

// quotedEnd finds the closing quote of the quoted text that begins at start.
func quotedEnd(text string, start int) int {
	quote := text[start]
	for i := start + 1; i < len(text); i++ {
		switch {
		case quote == '"' && text[i] == '\\':
			i++
		case text[i] == quote && quote == '\'' && i+1 < len(text) && text[i+1] == quote:
			i++
		case text[i] == quote:
			return i
		}
	}
	return -1
}

// insert puts a line before the first entry of a block mapping.
func (s *source) insert(c Change) ([]edit, bool) {
	if len(c.Mapping.Content) == 0 || c.Mapping.Style&yaml.FlowStyle != 0 {
		return nil, false
	}
	first := c.Mapping.Content[0]
	at, ok := s.offset(first)
	if !ok {
		return nil, false
	}
	lineStart := s.lines[first.Line-1]
	indent := s.text[lineStart:at]
	if strings.Trim(indent, " ") != "" {
		return nil, false
	}
	return []edit{{lineStart, lineStart, indent + c.Key + ": " + inline(c.NewValue, false) + "\n"}}, true
}

// remove takes out the lines of an entry of a block mapping whose value stands
// on the line of its key.
func (s *source) remove(c Change) ([]edit, bool) {
	i := find(c.Mapping, c.Key)
	if i < 0 {
		return nil, true
	}
	key := c.Mapping.Content[i]
	if c.Mapping.Style&yaml.FlowStyle != 0 || key.Line > len(s.lines) {
		return nil, false
	}
	start, end := s.lines[key.Line-1], s.lineEnd(key.Line)
	if end < len(s.text) {
		end++
	} else if start > 0 {
		start--
	}
	return []edit{{start, end, ""}}, true
}

// inline writes a node in one line; in a flow mapping, which may be JSON, with
// the quotes of JSON.
func inline(n *yaml.Node, flow bool) string {
	if n.Kind == yaml.MappingNode {
		entries := make([]string, 0, len(n.Content)/2)
		for i := 0; i < len(n.Content); i += 2 {
			entries = append(entries, n.Content[i].Value+": "+inline(n.Content[i+1], flow))
		}
		return "{" + strings.Join(entries, ", ") + "}"
	}
	if flow {
		return strconv.Quote(n.Value)
	}
	return "'" + strings.ReplaceAll(n.Value, "'", "''") + "'"
}
