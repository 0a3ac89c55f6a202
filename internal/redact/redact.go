// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package redact removes the contents of Secrets from texts and errors before they are
// shown or stored (docs/reference.md, "Failure reports").
package redact

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ordered-helm/helm/internal/terminalsafe"
)

const (
	// placeholder is the text that replaces each redacted part.
	placeholder = "******"
	// minLength is the minimum length, in bytes, of a value that is redacted. Redacting
	// shorter values would make other text unreadable.
	minLength = 6
)

// Redactor replaces certain values, such as the contents of Secrets, in texts. It is
// immutable, and safe for concurrent use. A nil or zero Redactor replaces no values.
type Redactor struct {
	values []string // the longest first
}

// New returns a Redactor for values. If a value has several lines, the Redactor also
// replaces each line that occurs alone. It replaces no values and lines shorter than
// minLength.
func New(values []string) *Redactor {
	r := &Redactor{}
	for _, value := range values {
		normalized := Normalize(value)
		for _, text := range append(strings.Split(normalized, "\n"), normalized) {
			if text = strings.TrimSpace(text); len(text) >= minLength {
				r.values = append(r.values, text)
			}
		}
	}
	slices.SortFunc(r.values, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	r.values = slices.Compact(r.values)
	return r
}

// ForObjects returns a Redactor for the contents of the Secrets among objects (see
// SecretValues).
func ForObjects(objects []map[string]any) *Redactor { return New(SecretValues(objects)) }

// Text returns a text in which asterisks replace the values of r.
//
// It also finds values that are escaped for JSON, Go, a URL or HTML, up to four times, and
// values that are part of base64 data. Values that overlap are replaced by a single
// placeholder. The text can be a part of a longer one: if it starts with the end of a
// value, or ends with the beginning of one, that is replaced as well.
//
// If the text contains no value, Text returns it unchanged. Otherwise, Text also removes
// control characters and terminal control sequences, except tabs and line ends.
func (r *Redactor) Text(text string) string {
	if r == nil || len(r.values) == 0 {
		return text
	}
	spans := r.spans(text)
	if len(spans) == 0 {
		return text
	}
	var out strings.Builder
	end := -1
	for _, span := range spans {
		if span[0] > end {
			out.WriteString(text[max(end, 0):span[0]])
			out.WriteString(placeholder)
		}
		end = max(end, span[1])
	}
	out.WriteString(text[end:])
	return terminalsafe.Sanitize(out.String())
}

// Value returns a value of an object (maps, lists, strings, numbers and booleans) with the contents of Secrets masked in
// all texts.
func (r *Redactor) Value(value any) any {
	switch v := value.(type) {
	case map[string]any:
		masked := make(map[string]any, len(v))
		for key, value := range v {
			masked[r.Text(key)] = r.Value(value)
		}
		return masked
	case []any:
		masked := make([]any, len(v))
		for i := range v {
			masked[i] = r.Value(v[i])
		}
		return masked
	case string:
		return r.Text(v)
	}
	return value
}

// Error returns an error that wraps err, and whose text is that of err, redacted by
// ServerMessage. If this does not change the text, Error returns err itself.
func (r *Redactor) Error(err error) error {
	if err == nil {
		return nil
	}
	original := err.Error()
	text := r.ServerMessage(original)
	if text == original {
		return err
	}
	return &redactedError{text: text, err: err}
}

// redactedError wraps err, and has its redacted text.
type redactedError struct {
	text string
	err  error
}

func (e *redactedError) Error() string { return e.text }

func (e *redactedError) Unwrap() error { return e.err }

// spans returns the start and end offsets of all parts of a text that contain a value, in
// any encoding that Text supports, sorted by start. The parts can overlap.
func (r *Redactor) spans(text string) [][2]int {
	var spans [][2]int
	for _, decoded := range decodings(text) {
		for _, span := range r.find(decoded.text) {
			spans = append(spans, [2]int{decoded.offsets[span[0]], decoded.offsets[span[1]]})
		}
	}
	spans = append(spans, r.findInBase64(text, maxBase64Depth)...)
	slices.SortFunc(spans, func(a, b [2]int) int { return cmp.Compare(a[0], b[0]) })
	return spans
}

// find returns the start and end offsets of all values that a text contains without any
// encoding. If the text starts with the end of a value, or ends with the beginning of one,
// that counts too.
func (r *Redactor) find(text string) [][2]int {
	var spans [][2]int
	for _, value := range r.values {
		for from := 0; ; {
			at := strings.Index(text[from:], value)
			if at < 0 {
				break
			}
			spans = append(spans, [2]int{from + at, from + at + len(value)})
			from += at + 1
		}
		if n := overlap(value, text); n > 0 && isWordEnd(text[n:]) {
			spans = append(spans, [2]int{0, n})
		}
		if n := overlap(text, value); n > 0 && isWordStart(text[:len(text)-n]) {
			spans = append(spans, [2]int{len(text) - n, len(text)})
		}
	}
	return spans
}

// overlap returns the length of the longest suffix of a that is a prefix of b, or 0 if that
// is shorter than minLength.
func overlap(a, b string) int {
	for n := min(len(a), len(b)); n >= minLength; n-- {
		if a[len(a)-n:] == b[:n] {
			return n
		}
	}
	return 0
}

// isWordEnd reports whether a word ends where the text following begins. What looks like the
// end of a value at the start of a text counts only if a word ends there. Otherwise "source"
// in "sources" could count as the end of a value.
func isWordEnd(following string) bool {
	r, _ := utf8.DecodeRuneInString(following)
	return following == "" || !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

// isWordStart reports whether a word starts where the text preceding ends. What looks like
// the beginning of a value at the end of a text counts only if a word starts there.
func isWordStart(preceding string) bool {
	r, _ := utf8.DecodeLastRuneInString(preceding)
	return preceding == "" || !unicode.IsLetter(r) && !unicode.IsDigit(r)
}
