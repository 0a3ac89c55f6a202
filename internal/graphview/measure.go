// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package graphview

import (
	"strings"
	"unicode"
)

// maxColumns is the maximum width of a text in a drawing. The unit is the width of a letter
// in a monospaced font, here called a column. The middle of a longer text is removed,
// because names differ more often at their ends.
const maxColumns = 56

// narrow contains the scripts whose letters are one column wide in every monospaced font.
// Letters of other scripts may come from a different font, whose widths are not known.
var narrow = []*unicode.RangeTable{unicode.Latin, unicode.Greek, unicode.Cyrillic}

// isNarrow reports whether a character is one column wide in every monospaced font.
func isNarrow(r rune) bool {
	return r < 0x80 || r == '…' || r == '−' || r == '→' || unicode.In(r, narrow...)
}

// columns returns the largest number of columns that a text can take.
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

// shorten removes the middle of a text that is wider than maxColumns.
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
