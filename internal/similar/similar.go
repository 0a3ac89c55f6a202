// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package similar finds the name that a user probably meant by a misspelled one, for messages
// such as "did you mean ...?".
package similar

import "strings"

// maxLength is the maximum length of names that are compared, in bytes. The time for a
// comparison grows with the square of the length.
const maxLength = 256

// Nearest returns the candidate that is most similar to name, ignoring case. It returns "" if
// the user can hardly have meant any of them: the limit is one difference, or one for every
// three bytes of a longer name.
func Nearest(name string, candidates []string) string {
	best, least := "", 1+max(1, len(name)/3)
	for _, c := range candidates {
		if len(name) > maxLength || len(c) > maxLength || max(len(name)-len(c), len(c)-len(name)) >= least {
			continue
		}
		d := Distance(strings.ToLower(name), strings.ToLower(c))
		if d < least && d < max(len(name), len(c)) {
			best, least = c, d
		}
	}
	return best
}

// Distance returns how many bytes must be inserted, deleted or replaced, or how many pairs of
// neighboring bytes must be exchanged, to change a to b.
func Distance(a, b string) int {
	// The rows contain the distances of a[:i-1], a[:i] and a[:i+1] to each prefix of b.
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range len(b) {
			replaced := last[j]
			if a[i] != b[j] {
				replaced++
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, replaced)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
