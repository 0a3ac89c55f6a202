// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package terminal makes text from other sources, such as a name in a chart, safe to print:
// it removes control sequences and control characters, which could change what the user
// sees.
package terminal

import (
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// controlSequences matches terminal control sequences: CSI, OSC and short sequences.
var controlSequences = regexp.MustCompile(
	`\x1b\[[\x30-\x3f]*[\x20-\x2f]*[\x40-\x7e]|\x1b\][^\x07\x1b\n]*(\x07|\x1b\\)?|\x1b[\x20-\x2f]*[\x30-\x7e]`)

// ControlSequences returns the start and end offset of each terminal control sequence in
// text.
func ControlSequences(text string) [][]int { return controlSequences.FindAllStringIndex(text, -1) }

// Sanitize removes control sequences, control characters and characters that change the
// direction of text. It keeps line breaks and tabs.
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

// isControlCharacter reports whether a character other than a line break or tab can affect
// how a terminal shows the text.
func isControlCharacter(r rune) bool {
	return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r))
}

// Writer is an io.Writer that sanitizes the text and passes it on to another io.Writer.
type Writer struct {
	out io.Writer
	// rest is an incomplete character at the end of the last write, which the next write
	// completes.
	rest []byte
}

// NewWriter returns a Writer that writes the sanitized text to out.
func NewWriter(out io.Writer) *Writer { return &Writer{out: out} }

// Write sanitizes p and writes it. If a control sequence is split between two writes, some
// of its letters remain, but they do not affect a terminal.
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
