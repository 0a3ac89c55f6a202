// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package text formats what messages are made of: counts, lists of names, and text that
// has to fit into one line.
package text

import (
	"fmt"
	"strings"
)

// OneLine replaces all white space, including line breaks, with single spaces.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Truncate puts s into one line of at most limit characters.
func Truncate(limit int, s string) string {
	line := []rune(OneLine(s))
	if len(line) > limit {
		return string(line[:limit]) + "…"
	}
	return string(line)
}

// List joins the first limit names, and says how many more there are.
func List(names []string, limit int) string {
	if len(names) > limit {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:limit], ", "), len(names)-limit)
	}
	return strings.Join(names, ", ")
}

// Count is a number with its noun, as in "1 resource" and "3 resources".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Indent indents all lines but the first.
func Indent(s, by string) string {
	return strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n"+by)
}

// JoinErrors puts the texts of errors into one line, with semicolons between them.
func JoinErrors(errs []error) string {
	texts := make([]string, len(errs))
	for i, err := range errs {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}
