// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package similar_test

import (
	"strings"
	"testing"

	"github.com/ordered-helm/helm/internal/similar"
)

func TestNearest(t *testing.T) {
	names := []string{"database", "queue", "web"}
	for name, want := range map[string]string{
		"datebase": "database", "Queue": "queue", "wbe": "web", "bew": "", "we": "web", "x": "", "": "", "databases": "database",
	} {
		if got := similar.Nearest(name, names); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

// TestNearestOfLongNames checks that very long names are not compared, because the time for a
// comparison grows with the square of the length.
func TestNearestOfLongNames(t *testing.T) {
	for length, found := range map[int]bool{256: true, 257: false} {
		name := strings.Repeat("a", length)
		if got := similar.Nearest(name[1:]+"b", []string{name}); (got == name) != found {
			t.Errorf("%d bytes: got %.10q", length, got)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"abc", "abd", 1}, {"abc", "ac", 1}, {"ac", "abc", 1}, {"abc", "cba", 2}, {"abcd", "acbd", 1}, {"ab", "ba", 1}} {
		if got := similar.Distance(c.a, c.b); got != c.want {
			t.Errorf("%q, %q: got %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
