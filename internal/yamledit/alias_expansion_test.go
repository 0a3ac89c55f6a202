// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// laughs returns a document ("billion laughs") in which each line contains nine aliases of the
// previous line.
func laughs(lines int) string {
	var b strings.Builder
	b.WriteString("l0: &l0 [ha, ha, ha, ha, ha, ha, ha, ha, ha]\n")
	for i := 1; i < lines; i++ {
		fmt.Fprintf(&b, "l%d: &l%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*l%d, ", i-1), 9), ", "))
	}
	return b.String()
}

// repeated returns a document with an anchored text of the given length, and the given number
// of aliases of this text.
func repeated(length, times int) string {
	return "a: &a " + strings.Repeat("x", length) + "\nb: [" + strings.Repeat("*a,", times) + "]\n"
}

func TestCheckAliases(t *testing.T) {
	tests := []struct {
		name, text string
		tooMuch    bool
	}{
		{"nothing", "", false},
		{"no YAML", "a: *a &a [\n", false},
		{"an anchor", "a: &a 1\nb: *a\nc: {<<: *a}\n", false},
		{"an anchor that contains itself", "a: &a [*a, *a]\n", false},
		{"long text without an alias", "a: &a " + strings.Repeat("x", MaxExpandedSize) + " *\n", false},
		{"text of a shell", "a: |\n  x && y * z & *.go\n", false},
		{"laughs", laughs(4), false},
		{"more laughs", laughs(20), true},
		{"a text, repeated", repeated(100_000, 100), false},
		{"a text, repeated too often", repeated(100_000, 200), true},
		{"without blanks", `{"a":&a "` + strings.Repeat("x", 100_000) + `","b":[` + strings.Repeat("*a,", 200) + "]}", true},
		{"merged", "a: &a {k: " + strings.Repeat("x", 100_000) + "}\nb:\n" + strings.Repeat("- <<: *a\n", 200), true},
		{"keys", "a: &a " + strings.Repeat("x", 100_000) + "\nb:\n" + strings.Repeat("- *a : 1\n", 200), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := CheckAliases(tt.text)
			var much *AliasExpansionError
			if is := errors.As(err, &much); is != tt.tooMuch || !is && err != nil {
				t.Errorf("got %v", err)
			}
			if _, err := ParseObject(tt.text); errors.As(err, &much) != tt.tooMuch {
				t.Errorf("Object: got %v", err)
			}
		})
	}
}
