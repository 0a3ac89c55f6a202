// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"sort"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// byteOrderMark is a character that can begin a text. The YAML parser does not count it as a
// column.
const byteOrderMark = "\ufeff"

// source contains the text of a document, and converts the lines and columns of its YAML nodes
// to offsets in the text.
type source struct {
	text  string
	lines []lineSpan
	// newline is the first line break in the text, or "\n" if there is none.
	newline string
}

// lineSpan holds the start and end offsets of a line, excluding the line break.
type lineSpan struct{ start, end int }

func newSource(text string) *source {
	s := &source{text: text, newline: "\n"}
	start := 0
	if strings.HasPrefix(text, byteOrderMark) {
		start = len(byteOrderMark)
	}
	for at := start; at < len(text); {
		size := lineBreak(text[at:])
		if size == 0 {
			at++
			continue
		}
		if len(s.lines) == 0 {
			s.newline = text[at : at+size]
		}
		s.lines = append(s.lines, lineSpan{start, at})
		at += size
		start = at
	}
	s.lines = append(s.lines, lineSpan{start, len(text)})
	return s
}

// lineBreak returns the length of the line break at the start of text, or 0 if there is
// none. The YAML parser recognizes more line breaks than \n and \r\n.
func lineBreak(text string) int {
	switch text[0] {
	case '\n':
		return 1
	case '\r':
		return len("\r") + strings.Count(text[1:min(2, len(text))], "\n")
	case "\u0085"[0], "\u2028"[0]:
		for _, mark := range []string{"\u0085", "\u2028", "\u2029"} {
			if strings.HasPrefix(text, mark) {
				return len(mark)
			}
		}
	}
	return 0
}

// offset returns the start offset of n, including its anchor and tag. It returns false if the
// position of n is outside the text. Columns are counted in characters, as by the YAML parser.
func (s *source) offset(n *yaml.Node) (int, bool) {
	if n.Line < 1 || n.Line > len(s.lines) {
		return 0, false
	}
	at := s.lines[n.Line-1].start
	for range n.Column - 1 {
		if at >= len(s.text) {
			return 0, false
		}
		_, size := utf8.DecodeRuneInString(s.text[at:])
		at += size
	}
	return at, true
}

func (s *source) lineOf(offset int) lineSpan {
	after := sort.Search(len(s.lines), func(i int) bool { return s.lines[i].start > offset })
	return s.lines[max(after-1, 0)]
}

// nextLine returns the start offset of the line that follows the line with the given offset.
// It returns false if there is no such line.
func (s *source) nextLine(offset int) (int, bool) {
	after := sort.Search(len(s.lines), func(i int) bool { return s.lines[i].start > offset })
	if after == len(s.lines) {
		return 0, false
	}
	return s.lines[after].start, true
}

// end returns the end offset of v. It returns false if it cannot determine the offset, for
// example for a block scalar.
func (s *source) end(v *yaml.Node) (int, bool) {
	start, ok := s.offset(v)
	if !ok {
		return 0, false
	}
	switch {
	case v.Kind == yaml.AliasNode:
		return start + 1 + len(v.Value), strings.HasPrefix(s.text[start:], "*"+v.Value)
	case v.Kind == yaml.ScalarNode && isQuoted(v):
		end := quotedEnd(s.text, start)
		return end + 1, end >= 0
	case v.Kind == yaml.ScalarNode:
		return start + len(v.Value), v.Style == 0 && strings.HasPrefix(s.text[start:], v.Value)
	case isFlow(v):
		return flowEnd(s.text, start)
	case len(v.Content) > 0:
		return s.end(v.Content[len(v.Content)-1])
	}
	return 0, false
}

func isFlow(n *yaml.Node) bool { return n.Style&yaml.FlowStyle != 0 }

func isQuoted(n *yaml.Node) bool {
	return n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0
}

// flowEnd returns the end offset of the flow sequence or mapping that begins at start. It
// returns false if there is no end.
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
			if !canBeginToken(text[start:i]) {
				continue
			}
			end := quotedEnd(text, i)
			if end < 0 {
				return 0, false
			}
			i = end
		case '#':
			if i > start && !strings.ContainsRune(" \t\n", rune(text[i-1])) {
				continue
			}
			nl := strings.IndexByte(text[i:], '\n')
			if nl < 0 {
				return 0, false
			}
			i += nl
		}
	}
	return 0, false
}

// canBeginToken reports whether a token can begin after the text before, which is part of a
// flow sequence or mapping. Where no token can begin, a quote is an ordinary character.
func canBeginToken(before string) bool {
	before = strings.TrimRight(before, " \t\r\n")
	return before == "" || strings.ContainsRune("[{,:", rune(before[len(before)-1]))
}

// quotedEnd returns the offset of the closing quote of the quoted text that begins at start,
// or -1 if there is none.
func quotedEnd(text string, start int) int {
	if start >= len(text) || text[start] != '"' && text[start] != '\'' {
		return -1
	}
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
