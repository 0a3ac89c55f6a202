// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"cmp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ordered-helm/helm/internal/text"
)

// edit replaces the bytes of a document from offset start to offset end with text.
type edit struct {
	start, end int
	text       string
}

// splice returns text with the edits applied. If edits overlap, it returns an empty string,
// for which contentEquals is false.
func splice(text string, edits []edit) string {
	slices.SortStableFunc(edits, func(a, b edit) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end))
	})
	var b strings.Builder
	at := 0
	for _, e := range edits {
		if e.start < at {
			return ""
		}
		b.WriteString(text[at:e.start])
		b.WriteString(e.text)
		at = e.end
	}
	b.WriteString(text[at:])
	return b.String()
}

// planEdits converts changes to edits of the text. It returns false if it cannot. Because it
// does not understand all of YAML, the caller must check the result with contentEquals.
func planEdits(text string, changes []Change) ([]edit, bool) {
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

// replace returns the edits that replace the key or value of an entry.
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
		e, ok := s.removeValue(keyEnd, c.Mapping.Content[i+1])
		if !ok {
			return nil, false
		}
		text := inline(c.NewValue, isFlow(c.Mapping))
		if text != "" {
			text = e.text + text
		} else if strings.HasSuffix(s.text[:e.start], " ") {
			e.start-- // an empty value needs no space before it
		}
		edits = append(edits, edit{e.start, e.end, text})
	}
	return edits, true
}

// keySpan returns the start and end offsets of a key, without its quotes.
func (s *source) keySpan(key *yaml.Node) (start, end int, ok bool) {
	at, ok := s.offset(key)
	if !ok {
		return 0, 0, false
	}
	if isQuoted(key) {
		at++
	}
	if at > len(s.text) || !strings.HasPrefix(s.text[at:], key.Value) {
		return 0, 0, false
	}
	return at, at + len(key.Value), true
}

// removeValue returns an edit that removes the value v of an entry. To replace the value, the
// caller appends the new value to the text of the edit. keyEnd is the end offset of the key
// of the entry. If v is on lines of its own, the edit also removes comments on these lines.
func (s *source) removeValue(keyEnd int, v *yaml.Node) (edit, bool) {
	start, startKnown := s.offset(v)
	end, endKnown := s.end(v)
	colon := strings.IndexByte(s.text[keyEnd:], ':')
	switch {
	case !startKnown || !endKnown || colon < 0:
		return edit{}, false
	case v.Kind == yaml.ScalarNode && v.Value == "" && !isQuoted(v):
		return edit{start: start, end: end, text: " "}, true
	case v.Kind == yaml.ScalarNode || v.Kind == yaml.AliasNode || isFlow(v):
		return edit{start: start, end: end}, true
	}
	return edit{start: keyEnd + colon + 1, end: s.lineOf(end).end, text: " "}, true
}

// insert returns the edit that inserts an entry at the start of a mapping.
func (s *source) insert(c Change) ([]edit, bool) {
	if isFlow(c.Mapping) {
		return s.insertInFlow(c)
	}
	if len(c.Mapping.Content) == 0 {
		return nil, false
	}
	at, ok := s.offset(c.Mapping.Content[0])
	if !ok {
		return nil, false
	}
	start := s.lineOf(at).start
	indent := s.text[start:at]
	if strings.Trim(indent, " ") != "" {
		return nil, false
	}
	return []edit{{start, start, indent + c.Key + ": " + inline(c.NewValue, false) + s.newline}}, true
}

func (s *source) insertInFlow(c Change) ([]edit, bool) {
	entry := quote(c.Key) + ": " + inline(c.NewValue, true)
	if len(c.Mapping.Content) > 0 {
		at, ok := s.offset(c.Mapping.Content[0])
		return []edit{{at, at, entry + ", "}}, ok
	}
	at, ok := s.offset(c.Mapping)
	if !ok || !strings.HasPrefix(s.text[at:], "{") {
		return nil, false
	}
	return []edit{{at + 1, at + 1, entry}}, true
}

// remove returns the edit that removes an entry. In a block mapping, the edit removes whole
// lines.
func (s *source) remove(c Change) ([]edit, bool) {
	i := find(c.Mapping, c.Key)
	if i < 0 {
		return nil, true
	}
	if isFlow(c.Mapping) {
		return s.removeFromFlow(c.Mapping, i)
	}
	at, ok := s.offset(c.Mapping.Content[i])
	if !ok {
		return nil, false
	}
	end, ok := s.end(c.Mapping.Content[i+1])
	if !ok {
		return nil, false
	}
	start := s.lineOf(at).start
	if strings.Trim(s.text[start:at], " ") != "" {
		return nil, false
	}
	if next, ok := s.nextLine(end); ok {
		return []edit{{start, next, ""}}, true
	}
	if start > 0 {
		start = s.lineOf(start - 1).end
	}
	return []edit{{start, len(s.text), ""}}, true
}

// removeFromFlow returns the edit that removes entry i of a flow mapping, with the comma
// after it or, if it is the last entry, the comma before it.
func (s *source) removeFromFlow(mapping *yaml.Node, i int) ([]edit, bool) {
	start, ok := s.offset(mapping.Content[i])
	if !ok {
		return nil, false
	}
	if i+2 < len(mapping.Content) {
		next, ok := s.offset(mapping.Content[i+2])
		return []edit{{start, next, ""}}, ok
	}
	end, ok := s.end(mapping.Content[i+1])
	if !ok {
		return nil, false
	}
	if i > 0 {
		start, ok = s.end(mapping.Content[i-1])
	}
	return []edit{{start, end, ""}}, ok
}

// inline returns n as YAML on one line. flow is true if n will be part of a flow mapping; then
// inline uses the syntax of JSON, because the document can be JSON.
func inline(n *yaml.Node, flow bool) string {
	if n.Kind == yaml.MappingNode {
		entries := make([]string, 0, len(n.Content)/2)
		for i := 0; i < len(n.Content); i += 2 {
			key := n.Content[i].Value
			if flow {
				key = quote(key)
			}
			entries = append(entries, key+": "+inline(n.Content[i+1], flow))
		}
		return "{" + strings.Join(entries, ", ") + "}"
	}
	switch {
	case n.ShortTag() == "!!null":
		return n.Value
	case flow:
		return quote(n.Value)
	}
	return "'" + strings.ReplaceAll(n.Value, "'", "''") + "'"
}

// quote returns value as a JSON string, which is also valid in YAML.
func quote(value string) string {
	quoted, _ := text.JSON(value) // a string can always be encoded
	return quoted
}
