// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package terminalsafe makes text from other sources, such as a chart or a server, safe to
// print on a terminal: it removes control characters and sequences, which could change what
// the user sees.
package terminalsafe

import (
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// controlSequences matches terminal control sequences: CSI sequences such as those for
// colors, OSC sequences such as those for the title, and sequences of an escape character
// and a letter.
var controlSequences = regexp.MustCompile(
	`\x1b\[[\x30-\x3f]*[\x20-\x2f]*[\x40-\x7e]|\x1b\][^\x07\x1b\n]*(\x07|\x1b\\)?|\x1b[\x20-\x2f]*[\x30-\x7e]`)

// ControlSequences returns the start and end offsets of the terminal control sequences in
// text, as regexp.Regexp.FindAllStringIndex does.
func ControlSequences(text string) [][]int { return controlSequences.FindAllStringIndex(text, -1) }

// Sanitize removes control sequences, control characters, and invisible formatting characters
// such as those that reverse the direction of text. It keeps line breaks and tabs.
func Sanitize(text string) string {
	if !strings.ContainsFunc(text, isControlCharacter) {
		return text
	}
	return strings.Map(func(r rune) rune {
		if isControlCharacter(r) {
			return -1
		}
		return r
	}, controlSequences.ReplaceAllString(text, ""))
}

// isControlCharacter reports whether Sanitize must remove r: a control or formatting character
// other than a line break or tab.
func isControlCharacter(r rune) bool {
	return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r))
}

// Writer is an io.Writer that sanitizes text, as Sanitize does, and writes it to another one.
type Writer struct {
	out io.Writer
	// rest contains the bytes of an incomplete UTF-8 character at the end of the last write.
	// The next write completes it.
	rest []byte
}

// NewWriter returns a Writer that writes the sanitized text to out.
func NewWriter(out io.Writer) *Writer { return &Writer{out: out} }

// Write writes p without control characters and sequences. If a control sequence is split
// between two writes, its printable characters can remain, which is harmless.
func (w *Writer) Write(p []byte) (int, error) {
	data := slices.Concat(w.rest, p)
	end := len(data)
	for i := 1; i < utf8.UTFMax && i <= len(data); i++ {
		if utf8.RuneStart(data[len(data)-i]) {
			if !utf8.FullRune(data[len(data)-i:]) {
				end -= i
			}
			break
		}
	}
	w.rest = slices.Clone(data[end:])
	if _, err := io.WriteString(w.out, Sanitize(string(data[:end]))); err != nil {
		return 0, err
	}
	return len(p), nil
}
