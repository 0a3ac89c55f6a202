// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"cmp"
	"slices"
	"strings"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"github.com/ordered-helm/helm/internal/terminal"
)

const (
	masked = "******"
	// minSecret is the length in bytes from which a text counts as a secret:
	// masking shorter ones would garble everything else.
	minSecret = 6
)

// Masker hides secrets in texts. It is safe for concurrent use; a nil one hides
// nothing.
type Masker struct {
	secrets []string // the longer ones first
}

// NewMasker returns a masker of these texts, and of each line of one that has
// several. What is shorter than six bytes is not masked.
func NewMasker(secrets []string) *Masker {
	m := &Masker{}
	for _, secret := range secrets {
		whole := clean(secret)
		for _, text := range append(strings.Split(whole, "\n"), whole) {
			if text = strings.TrimSpace(text); len(text) >= minSecret {
				m.secrets = append(m.secrets, text)
			}
		}
	}
	slices.SortFunc(m.secrets, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	m.secrets = slices.Compact(m.secrets)
	return m
}

// current is the masker of what the process does, for those who write what comes from
// elsewhere: the log of the Kubernetes client is one for the whole process, too.
var current atomic.Pointer[Masker]

// SetCurrent has Current return a masker.
func SetCurrent(m *Masker) { current.Store(m) }

// Current returns the masker of the operation that has begun last; nil before any has.
func Current() *Masker { return current.Load() }

// Mask hides the secrets in a text, also where it quotes them, in JSON, as Go does, in
// a URL or in HTML, several times over, and where they are part of what it has in
// base64. Each stretch that secrets cover becomes one
// row of stars, so that nothing shows through where they overlap. The text may
// be a piece of a longer one: the rest of a secret at its start and the
// beginning of one at its end are hidden too. A text with a secret also loses
// what a terminal would act upon, but for tabs; any other is returned as it is.
func (m *Masker) Mask(text string) string {
	if m == nil || len(m.secrets) == 0 {
		return text
	}
	spans := m.spans(text)
	if len(spans) == 0 {
		return text
	}
	var out strings.Builder
	end := -1
	for _, span := range spans {
		if span[0] > end {
			out.WriteString(text[max(end, 0):span[0]])
			out.WriteString(masked)
		}
		end = max(end, span[1])
	}
	out.WriteString(text[end:])
	return terminal.Harmless(out.String())
}

// spans lists from where to where secrets are, in the order of their beginnings,
// however a text quotes them.
func (m *Masker) spans(text string) [][2]int {
	var spans [][2]int
	for _, read := range spellings(text) {
		for _, span := range m.find(read.text) {
			spans = append(spans, [2]int{read.at[span[0]], read.at[span[1]]})
		}
	}
	spans = append(spans, m.encoded(text, maxEncoded)...)
	slices.SortFunc(spans, func(a, b [2]int) int { return cmp.Compare(a[0], b[0]) })
	return spans
}

// find lists from where to where secrets are in a text as it is.
func (m *Masker) find(text string) [][2]int {
	var spans [][2]int
	for _, secret := range m.secrets {
		for from := 0; ; {
			at := strings.Index(text[from:], secret)
			if at < 0 {
				break
			}
			spans = append(spans, [2]int{from + at, from + at + len(secret)})
			from += at + 1
		}
		if n := overlap(secret, text); n > 0 && isWordEnd(text[n:]) {
			spans = append(spans, [2]int{0, n})
		}
		if n := overlap(text, secret); n > 0 && isWordStart(text[:len(text)-n]) {
			spans = append(spans, [2]int{len(text) - n, len(text)})
		}
	}
	return spans
}

// overlap is the length of the longest end of a that b begins with, 0 where that
// is too short to be taken for part of a secret.
func overlap(a, b string) int {
	for n := min(len(a), len(b)); n >= minSecret; n-- {
		if a[len(a)-n:] == b[:n] {
			return n
		}
	}
	return 0
}

// isWordEnd reports whether no word goes on into what follows, isWordStart whether
// none does from what comes before: else what looks like part of a secret is part of
// an ordinary word, as "source" is of "resource".
func isWordEnd(after string) bool {
	r, _ := utf8.DecodeRuneInString(after)
	return after == "" || !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

func isWordStart(before string) bool {
	r, _ := utf8.DecodeLastRuneInString(before)
	return before == "" || !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

// cut shortens a text to so many runes.
func cut(text string, limit int) string {
	runes := 0
	for at := range text {
		if runes++; runes > limit {
			return strings.TrimRight(text[:at], " ") + "…"
		}
	}
	return text
}
