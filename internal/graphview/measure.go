// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package graphview

import (
	"strings"
	"unicode"
)

// maxColumns limits the length of a text in a drawing, in columns. A longer text is cut in
// the middle, because names differ more often at their ends.
const maxColumns = 56

// narrow are the scripts whose letters are as wide as digits in a monospaced font. The
// letters of other scripts come from fallback fonts, whose widths are not known in advance.
var narrow = []*unicode.RangeTable{unicode.Latin, unicode.Greek, unicode.Cyrillic}

// isNarrow reports whether a rune is one column wide in every monospaced font.
func isNarrow(r rune) bool {
	return r < 0x80 || r == '…' || r == '−' || r == '→' || unicode.In(r, narrow...)
}

// columns returns the maximum number of columns that a text takes.
func columns(text string) int {
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

// isKnown reports whether the width of a text is the same in all monospaced fonts.
func isKnown(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return !isNarrow(r) }) < 0
}

// shorten cuts a text that exceeds maxColumns.
func shorten(text string) string {
	if columns(text) <= maxColumns {
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
