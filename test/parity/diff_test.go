// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"strings"
	"testing"
)

// diff returns the lines of two texts that differ, marked "-" and "+", with surrounding lines.
// It returns an empty string if the texts are equal.
func diff(a, b string) string {
	if a == b {
		return ""
	}
	const around = 3
	lines := diffLines(strings.Split(a, "\n"), strings.Split(b, "\n"))
	keep := make([]bool, len(lines))
	for i, line := range lines {
		if line[0] == ' ' {
			continue
		}
		for j := max(0, i-around); j <= min(len(lines)-1, i+around); j++ {
			keep[j] = true
		}
	}
	var out strings.Builder
	for i, line := range lines {
		switch {
		case keep[i]:
			out.WriteString(line + "\n")
		case i > 0 && keep[i-1]:
			out.WriteString("  [...]\n")
		}
	}
	return out.String()
}

// diffLines marks the lines of a and b that are not part of their longest common
// subsequence.
func diffLines(a, b []string) []string {
	// common[i][j] is the length of that subsequence of a[i:] and b[j:].
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var out []string
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out = append(out, "  "+a[i])
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			out = append(out, "- "+a[i])
			i++
		default:
			out = append(out, "+ "+b[j])
			j++
		}
	}
	return out
}

func TestDiff(t *testing.T) {
	tests := []struct{ name, a, b, want string }{
		{"equal", "x\ny", "x\ny", ""},
		{"changed", "x\ny\nz", "x\nY\nz", "  x\n- y\n+ Y\n  z\n"},
		{"only in the first", "x\ny", "x", "  x\n- y\n"},
		{"far lines are left out", "1\n2\n3\n4\n5\n6\n7\n8", "0\n2\n3\n4\n5\n6\n7\n9", "- 1\n+ 0\n  2\n  3\n  4\n  5\n  6\n  7\n- 8\n+ 9\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := diff(tt.a, tt.b); got != tt.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, tt.want)
			}
		})
	}
}
