// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package text formats parts of the output: counts, lists of names, text that must fit into
// one line, and JSON.
package text

import (
	"fmt"
	"strings"
)

// OneLine replaces each sequence of white space, including line breaks, with one space.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Truncate converts s to one line and cuts it after limit characters.
func Truncate(limit int, s string) string {
	line := []rune(OneLine(s))
	if len(line) > limit {
		return string(line[:limit]) + "…"
	}
	return string(line)
}

// List joins names with commas. If there are more than limit, it ends with the number of
// the others, for example "a, b and 3 more".
func List(names []string, limit int) string {
	if len(names) > limit {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:limit], ", "), len(names)-limit)
	}
	return strings.Join(names, ", ")
}

// Count returns a number with a noun, for example "1 resource", "3 resources" or "2 batches".
func Count(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "ch"):
		return fmt.Sprintf("%d %ses", n, noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Indent adds the text by at the start of each line except the first.
func Indent(s, by string) string {
	return strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n"+by)
}

// JoinErrors returns the messages of errors in one line, separated by semicolons.
func JoinErrors(errs []error) string {
	texts := make([]string, len(errs))
	for i, err := range errs {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}
