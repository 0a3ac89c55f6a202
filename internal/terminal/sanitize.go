// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package terminal takes out of texts of others, such as the names in a chart, what a
// terminal would act upon.
package terminal

import (
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// controlSequences are the control sequences of terminals: CSI, OSC and the short ones.
var controlSequences = regexp.MustCompile(
	`\x1b\[[\x30-\x3f]*[\x20-\x2f]*[\x40-\x7e]|\x1b\][^\x07\x1b\n]*(\x07|\x1b\\)?|\x1b[\x20-\x2f]*[\x30-\x7e]`)

// ControlSequences finds the control sequences in a text: where each begins and ends.
func ControlSequences(text string) [][]int { return controlSequences.FindAllStringIndex(text, -1) }

// Sanitize is the text without control sequences, control characters and those that
// change the direction of what follows. Line ends and tabs stay.
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

// isControlCharacter is whether a terminal would act upon a character.
func isControlCharacter(r rune) bool {
	return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r))
}

// Writer writes what is harmless of all that it is given.
type Writer struct {
	out io.Writer
	// rest is the beginning of a character that the next write completes.
	rest []byte
}

// NewWriter returns a Writer that writes to another.
func NewWriter(out io.Writer) *Writer { return &Writer{out: out} }

// Write writes what is harmless. A sequence that is given in two parts leaves some of
// its letters, but not what makes a terminal act.
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
