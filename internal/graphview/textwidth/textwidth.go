// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package textwidth measures and shortens the texts in a drawing of a deployment graph.
package textwidth

import (
	"strings"
	"unicode"
)

// maxColumns is the maximum width of a text in a drawing, in columns. A column is the width of
// a letter in a monospaced font. Longer texts are shortened in the middle, because names
// often differ only at the end.
const maxColumns = 56

// narrow contains the scripts whose letters are one column wide in every monospaced font. For
// other scripts, a viewer may use a different font, and the width is unknown.
var narrow = []*unicode.RangeTable{unicode.Latin, unicode.Greek, unicode.Cyrillic}

// isNarrow reports whether a character is one column wide in every monospaced font.
func isNarrow(r rune) bool {
	return r < 0x80 || r == '…' || r == '−' || r == '→' || unicode.In(r, narrow...)
}

// Columns returns the maximum width of a text, in columns.
func Columns(text string) int {
	n := 0
	for _, r := range text {
		n += columnsOf(r)
	}
	return n
}

func columnsOf(r rune) int {
	switch {
	case unicode.Is(unicode.Mn, r):
		return 0
	case isNarrow(r):
		return 1
	}
	return 2
}

// HasKnownWidth reports whether a text has the same width in all monospaced fonts.
func HasKnownWidth(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return !isNarrow(r) }) < 0
}

// Shorten replaces the middle of a text that is wider than maxColumns with an ellipsis.
func Shorten(text string) string {
	if Columns(text) <= maxColumns {
		return text
	}
	runes := []rune(text)
	head, n := 0, 0
	for n+columnsOf(runes[head]) <= maxColumns/2 {
		n += columnsOf(runes[head])
		head++
	}
	tail := len(runes)
	for n = 0; n+columnsOf(runes[tail-1]) < maxColumns/2; {
		tail--
		n += columnsOf(runes[tail])
	}
	for tail < len(runes) && unicode.Is(unicode.Mn, runes[tail]) {
		tail++
	}
	return string(runes[:head]) + "…" + string(runes[tail:])
}
