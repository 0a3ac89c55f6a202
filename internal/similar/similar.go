// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package similar finds what was most likely meant by a name that is not known.
package similar

import "strings"

// maxLength is how many bytes a name may have that is compared: the time for it grows
// with the square, and nobody mistypes what is longer.
const maxLength = 256

// Nearest gives the candidate that needs the fewest changes to become the
// name, if it is like it at all.
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

// Distance is the number of characters to insert, delete or replace.
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
