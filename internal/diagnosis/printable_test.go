// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ordered-helm/helm/internal/redact"
)

func TestTruncateAtRune(t *testing.T) {
	for text, want := range map[string]string{"äöüß": "äöü…", "äöü": "äöü", "ab c": "ab…", "": ""} {
		limit := 3
		if got := truncate(text, limit); got != want {
			t.Errorf("truncate(%q) is %q, want %q", text, got, want)
		}
	}
}

func TestLogLinesAreRedactedBeforeTheyAreTruncated(t *testing.T) {
	d := New(DiagnoserConfig{Redactor: redact.New([]string{"hunter22-and-more"})})
	long := strings.Repeat("ü", maxLineLength-4)
	got := d.redactLines("first\nlast but one\n"+long+"hunter22-and-more\n\n", 2)
	if want := []string{"last but one", long + "****…"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if !utf8.ValidString(got[1]) {
		t.Error("cut inside a rune")
	}
}
