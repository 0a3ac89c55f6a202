// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package luapattern_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/yuin/gopher-lua/pm"

	"github.com/ordered-helm/helm/internal/luasandbox/luapattern"
)

// limitedCheck returns a check that ends a search that the limit of steps has not ended.
func limitedCheck() func() error {
	calls := 0
	return func() error {
		if calls++; calls > 20_000 {
			return errors.New("the number of steps is not limited")
		}
		return nil
	}
}

// describe returns the matched text and the captures of the first match.
func describe(t testing.TB, pattern, text string) string {
	t.Helper()
	p, err := luapattern.Parse(pattern)
	if err != nil {
		return err.Error()
	}
	match, found, err := luapattern.NewMatcher(p, text, limitedCheck()).Find(0)
	if err != nil {
		return err.Error()
	}
	if !found {
		return "no match"
	}
	result := fmt.Sprintf("%q", text[match.Start:match.End])
	for _, c := range match.Captures {
		if c.Position {
			result += fmt.Sprintf(" %d", c.Start+1)
		} else {
			result += fmt.Sprintf(" %q", text[c.Start:c.End])
		}
	}
	return result
}

func TestFind(t *testing.T) {
	tests := []struct{ pattern, text, want string }{
		{"", "abc", `""`},
		{"b", "abc", `"b"`},
		{"^b", "abc", "no match"},
		{"c$", "abc", `"c"`},
		{"a$", "a$b", "no match"},
		{"a$b", "a$b", `"a$b"`},
		{".", "\n", `"\n"`},
		{"%a+", "12ab3", `"ab"`},
		{"%A+", "ab12c", `"12"`},
		{"[a-c]+", "xabcd", `"abc"`},
		{"[^a-c]+", "abxyc", `"xy"`},
		{"[%a_]+", "1a_b", `"a_b"`},
		{"[]]", "a]", `"]"`},
		{"[^]]+", "]ab]", `"ab"`},
		{"[a-]+", "b-a", `"-a"`},
		{"a*", "aaab", `"aaa"`},
		{"a-b", "aaab", `"aaab"`},
		{"a?b", "ab", `"ab"`},
		{"a?b", "b", `"b"`},
		{"a+", "b", "no match"},
		{"(a)(b)", "ab", `"ab" "a" "b"`},
		{"((a)b)", "ab", `"ab" "ab" "a"`},
		{"()b()", "abc", `"b" 2 3`},
		{"(.)%1", "abccd", `"cc" "c"`},
		{"%b()", "x(a(b)c)d", `"(a(b)c)"`},
		{"%f[%w]%w+", "  word ", `"word"`},
		{"%f[%z]", "ab", `""`},
		{"%.", "a.b", `"."`},
		{"%x+", "xyz1F", `"1F"`},
		{"%s%p%c%u%l%d", " !\x01Aa1", `" !\x01Aa1"`},
		{"%", "a", "malformed pattern: ends with '%'"},
		{"[a", "a", "malformed pattern: missing ']'"},
		{"(a", "a", "malformed pattern: unfinished capture"},
		{"a)", "a", "malformed pattern: ')' without '('"},
		{"%1", "a", "malformed pattern: invalid capture index %1"},
		{"(a%1)", "a", "malformed pattern: invalid capture index %1"},
		{"%b(", "a", "malformed pattern: missing characters after '%b'"},
		{"%fa", "a", "malformed pattern: missing '[' after '%f'"},
		{strings.Repeat("()", 33), "a", "malformed pattern: more than 32 captures"},
		{strings.Repeat("a", 5000), "a", "a pattern can have at most 4096 characters"},
		{strings.Repeat("a-", 30) + "b", strings.Repeat("a", 300), "the pattern needs too many steps to match"},
		// Each back reference takes two steps.
		{".-.-.-.-(................)%1b", strings.Repeat("a", 5000), "the pattern needs too many steps to match"},
	}
	for _, tt := range tests {
		t.Run(tt.pattern[:min(len(tt.pattern), 20)], func(t *testing.T) {
			if got := describe(t, tt.pattern, tt.text); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestCheckEndsMatch(t *testing.T) {
	p, err := luapattern.Parse(strings.Repeat("a-", 30) + "b")
	if err != nil {
		t.Fatal(err)
	}
	stop := errors.New("stop")
	if _, _, err := luapattern.NewMatcher(p, strings.Repeat("a", 300), func() error { return stop }).Find(0); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}

// isComparable reports whether the interpreter's matcher is expected to treat a pattern as ours
// does. It knows no frontiers, accepts invalid sets and captures, and treats a few forms
// differently from Lua 5.1.
func isComparable(pattern string) bool {
	for i := range len(pattern) {
		switch pattern[i] {
		case '%':
			// Escapes in sets and of letters without a class differ.
			if i+1 == len(pattern) || !strings.ContainsRune("adlswuxp.()", rune(pattern[i+1])) {
				return false
			}
		case '[', ']', '$', '^':
			return false
		case '*', '+', '-', '?':
			// A repetition needs an element that it can repeat.
			if i == 0 || strings.ContainsRune("*+-?()", rune(pattern[i-1])) {
				return false
			}
		}
	}
	return !strings.Contains(pattern, "()") || !strings.Contains(pattern, "%")
}

// FuzzFind checks that no pattern makes the matcher panic, and compares it with the matcher of
// the interpreter on short input.
func FuzzFind(f *testing.F) {
	for _, seed := range [][2]string{{"a", "a"}, {"(a*)b", "aab"}, {"%a+%d-", "ab12"}, {"[^%s]*$", "a b"}, {"(.)%1", "aa"}, {"%b()", "(())"}, {"%f[a]", "ba"}, {"a-b?", "aab"}, {"()", "x"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		got := describe(t, pattern, text)
		if len(pattern) > 12 || len(text) > 12 || !isComparable(pattern) || strings.HasPrefix(got, "malformed") {
			return
		}
		matches, err := pm.Find(pattern, []byte(text), 0, 1)
		if err != nil {
			return
		}
		want := "no match"
		if len(matches) == 1 {
			m := matches[0]
			want = fmt.Sprintf("%q", text[m.Capture(0):m.Capture(1)])
			for i := 2; i < m.CaptureLength(); i += 2 {
				if m.IsPosCapture(i) {
					want += fmt.Sprintf(" %d", m.Capture(i))
				} else {
					want += fmt.Sprintf(" %q", text[m.Capture(i):m.Capture(i+1)])
				}
			}
		}
		if got != want {
			t.Errorf("%q in %q: got %s, the interpreter %s", pattern, text, got, want)
		}
	})
}
