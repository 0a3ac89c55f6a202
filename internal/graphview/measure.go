// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package graphview

import (
	"strings"
	"unicode"
)

// maxColumns is how many columns a text in a drawing has at most; what is longer
// is cut in the middle, where names differ least.
const maxColumns = 56

// narrow are the scripts whose letters are as wide as digits in a font of fixed
// width. Others come from fonts that nobody knows beforehand.
var narrow = []*unicode.RangeTable{unicode.Latin, unicode.Greek, unicode.Cyrillic}

// isNarrow reports whether a rune is one column wide in every font of fixed
// width.
func isNarrow(r rune) bool {
	return r < 0x80 || r == '…' || r == '−' || r == '→' || unicode.In(r, narrow...)
}

// columns is how many columns a text takes at most.
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

// isKnown reports whether the width of a text is known without its font.
func isKnown(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return !isNarrow(r) }) < 0
}

// shorten cuts a text that is too long.
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
