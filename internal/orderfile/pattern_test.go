// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package orderfile

import (
	"strings"
	"testing"
)

// TestChartPattern checks which paths a pattern matches.
//   - "* stands for any part of a name"
//   - "alone between slashes, stands for any number of names, also none"
//   - "matches kafka and all charts below it"
func TestChartPattern(t *testing.T) {
	tests := []struct{ pattern, matching, others string }{
		{".", ".", "a a/b"},
		{"a", "a", ". b a/a ab"},
		{"a/b", "a/b", "a b a/b/c x/a/b"},
		{"*", "a b", ". a/b"},
		{"a*", "a ab", "ba a/b ."},
		{"*a*b", "ab aab xaxbxb", "abx ba"},
		{"a/*", "a/b a/c", "a a/b/c"},
		{"*/b", "a/b b/b", "b a/b/c"},
		{"**", ". a a/b a/b/c", ""},
		{"a/**", "a a/b a/b/c", ". b b/a"},
		{"**/b", "b a/b a/a/b b/b", ". a b/a"},
		{"a/**/b", "a/b a/x/b a/b/b", "a b a/b/c"},
		{"**/a/**/b/**", "a/b x/a/b/c a/x/y/b", "a b b/a"},
		{"**/*", "a a/b", "."},
	}
	for _, tt := range tests {
		t.Run(tt.pattern, func(t *testing.T) {
			p, problem := parseChartPattern(tt.pattern)
			if problem != "" || p.wildcard != strings.Contains(tt.pattern, "*") {
				t.Fatalf("got %v, %s", p, problem)
			}
			for _, path := range strings.Fields(tt.matching) {
				if !p.matches(segmentsOf(path)) {
					t.Errorf("%s does not match", path)
				}
			}
			for _, path := range strings.Fields(tt.others) {
				if p.matches(segmentsOf(path)) {
					t.Errorf("%s matches", path)
				}
			}
		})
	}
}

// TestMatchesAbove checks which patterns are about a disabled subchart or a chart below it.
func TestMatchesAbove(t *testing.T) {
	tests := []struct{ pattern, matching, others string }{
		{"a", "a", "b a/b"},
		{"a/b", "a a/b", "b a/b/c"},
		{"*", "a b", "a/b"},
		{"a/**", "a", "b a/b"},
		{"**", "", "a a/b"},
		{"**/b", "b a/b", "a"},
		{"**/b/c", "b a/b b/c", "a c/a"},
	}
	for _, tt := range tests {
		t.Run(tt.pattern, func(t *testing.T) {
			p, _ := parseChartPattern(tt.pattern)
			for _, path := range strings.Fields(tt.matching) {
				if !p.matchesAbove(segmentsOf(path)) {
					t.Errorf("%s does not match", path)
				}
			}
			for _, path := range strings.Fields(tt.others) {
				if p.matchesAbove(segmentsOf(path)) {
					t.Errorf("%s matches", path)
				}
			}
		})
	}
}

// TestMatchManyStars checks that the time does not grow exponentially with the number of stars.
func TestMatchManyStars(t *testing.T) {
	if matchName(strings.Repeat("*a", 500)+"b", strings.Repeat("a", 2000)) {
		t.Error("the name matches")
	}
	p, _ := parseChartPattern(strings.Repeat("**/a/", 200) + "b")
	if p.matches(strings.Split(strings.Repeat("a/", 500)+"a", "/")) {
		t.Error("the path matches")
	}
}

// segmentsOf returns the segments of a path, in which . is the own chart.
func segmentsOf(path string) []string {
	if path == ownChart {
		return nil
	}
	return strings.Split(path, "/")
}

// simpleMatchName does the same as matchName, but tries all texts that * can stand for.
func simpleMatchName(pattern, name string) bool {
	switch {
	case pattern == "":
		return name == ""
	case pattern[0] == '*':
		return simpleMatchName(pattern[1:], name) || name != "" && simpleMatchName(pattern, name[1:])
	}
	return name != "" && name[0] == pattern[0] && simpleMatchName(pattern[1:], name[1:])
}

// simpleMatchSegments does the same as matchSegments, but tries all paths that ** can stand for.
func simpleMatchSegments(pattern, path []string) bool {
	switch {
	case len(pattern) == 0:
		return len(path) == 0
	case pattern[0] == anySegments:
		return simpleMatchSegments(pattern[1:], path) || len(path) > 0 && simpleMatchSegments(pattern, path[1:])
	}
	return len(path) > 0 && simpleMatchName(pattern[0], path[0]) && simpleMatchSegments(pattern[1:], path[1:])
}

// FuzzMatch compares the matching of names and paths with simple implementations.
func FuzzMatch(f *testing.F) {
	for _, seed := range [][2]string{
		{"*-postgresql", "keycloak-postgresql"}, {"a*b*c", "abxbc"}, {"**/a", "b/a"}, {"a/**/b/*", "a/x/b/c"}, {"**", "."}, {"", ""}, {"a/*", "a/"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		const maxLength, maxStars = 40, 8 // simple implementations take exponential time
		if len(pattern) > maxLength || len(text) > maxLength || strings.Count(pattern, "*") > maxStars {
			return
		}
		if got, want := matchName(pattern, text), simpleMatchName(pattern, text); got != want {
			t.Errorf("name: got %t, want %t", got, want)
		}
		p, problem := parseChartPattern(pattern)
		if problem != "" {
			return
		}
		if got, want := p.matches(segmentsOf(text)), simpleMatchSegments(p.segments, segmentsOf(text)); got != want {
			t.Errorf("path: got %t, want %t", got, want)
		}
	})
}
