// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package similar proposes corrections for misspelled names, for messages such as "did you
// mean ...?".
package similar

import "strings"

// maxLength limits the length of the names to compare, in bytes. The time that a comparison
// takes grows with the square of the length.
const maxLength = 256

// Nearest returns the candidate that is most similar to name, ignoring case. It returns an
// empty string if none is similar enough to be what the user meant.
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

// Distance returns how many bytes must be inserted, deleted or replaced to change a to b.
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
