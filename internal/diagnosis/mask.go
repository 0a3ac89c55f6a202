// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"
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

// Mask hides the secrets in a text. Each stretch that secrets cover becomes one
// row of stars, so that nothing shows through where they overlap. The text may
// be a piece of a longer one: the rest of a secret at its start and the
// beginning of one at its end are hidden too. A text with a secret also loses
// what a terminal would act upon; any other is returned as it is.
func (m *Masker) Mask(text string) string {
	if m == nil || len(m.secrets) == 0 {
		return text
	}
	cleaned := clean(text)
	spans := m.spans(cleaned)
	if len(spans) == 0 {
		return text
	}
	var out strings.Builder
	end := -1
	for _, span := range spans {
		if span[0] > end {
			out.WriteString(cleaned[max(end, 0):span[0]])
			out.WriteString(masked)
		}
		end = max(end, span[1])
	}
	out.WriteString(cleaned[end:])
	return out.String()
}

// spans lists from where to where secrets are, in the order of their beginnings.
func (m *Masker) spans(text string) [][2]int {
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
		if n := overlap(secret, text); n > 0 {
			spans = append(spans, [2]int{0, n})
		}
		if n := overlap(text, secret); n > 0 {
			spans = append(spans, [2]int{len(text) - n, len(text)})
		}
	}
	slices.SortFunc(spans, func(a, b [2]int) int { return cmp.Compare(a[0], b[0]) })
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

// escapes are the control sequences of terminals: CSI, OSC and the short ones.
var escapes = regexp.MustCompile(
	`\x1b\[[\x30-\x3f]*[\x20-\x2f]*[\x40-\x7e]|\x1b\][^\x07\x1b\n]*(\x07|\x1b\\)?|\x1b[\x20-\x2f]*[\x30-\x7e]`)

// clean takes out of a text what a terminal would act upon. Lines end with \n.
func clean(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = escapes.ReplaceAllString(text, "")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return '\n'
		case r == '\t':
			return ' '
		case r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)):
			return -1
		}
		return r
	}, text)
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
