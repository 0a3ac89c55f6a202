// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package text formats parts of messages and of the program's output: counts with nouns, lists
// of names, text that must fit on one line, and JSON.
package text

import (
	"fmt"
	"strings"
)

// OneLine converts s to one line: it replaces each sequence of white space, including line
// breaks, with one space.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Truncate converts s to one line. If that has more than limit characters, Truncate cuts off
// the rest and appends "…".
func Truncate(limit int, s string) string {
	line := []rune(OneLine(s))
	if len(line) > limit {
		return string(line[:limit]) + "…"
	}
	return string(line)
}

// List joins names with commas. If there are more than limit, it lists only the first ones and
// the number of the others, as in "a, b and 3 more".
func List(names []string, limit int) string {
	if len(names) > limit {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:limit], ", "), len(names)-limit)
	}
	return strings.Join(names, ", ")
}

// Count returns n with a noun in the singular or plural, as in "1 resource", "3 resources" or
// "2 batches".
func Count(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "ch"):
		return fmt.Sprintf("%d %ses", n, noun)
	case strings.HasSuffix(noun, "cy"):
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(noun, "y"))
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Indent removes white space around s, and inserts prefix before each line except the first.
func Indent(s, prefix string) string {
	return strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n"+prefix)
}

// JoinErrors joins the messages of errors with semicolons.
func JoinErrors(errs []error) string {
	texts := make([]string, len(errs))
	for i, err := range errs {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}
