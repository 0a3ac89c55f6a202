// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"html"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/ordered-helm/helm/internal/terminalsafe"
)

// maxEscapes is how many times escapes are decoded to find a value. A text is escaped
// several times if, for example, a log quotes a JSON message that contains JSON.
const maxEscapes = 4

// decodedText is a text after decoding escapes. It knows where each of its bytes comes
// from, so that a value found in it can be replaced in the original text.
type decodedText struct {
	text string
	// offsets contains, for each byte of text and for its end, the offset in the original
	// text.
	offsets []int
}

// undecoded returns a decodedText that equals its original text.
func undecoded(text string) decodedText {
	offsets := make([]int, len(text)+1)
	for i := range offsets {
		offsets[i] = i
	}
	return decodedText{text, offsets}
}

// decodedBuilder builds a decodedText rune by rune.
type decodedBuilder struct {
	text    strings.Builder
	offsets []int
}

// add appends r, which begins at the given offset in the original text.
func (b *decodedBuilder) add(r rune, offset int) {
	before := b.text.Len()
	b.text.WriteRune(r)
	for range b.text.Len() - before {
		b.offsets = append(b.offsets, offset)
	}
}

// build returns the decodedText. end is the offset at which the original text ends.
func (b *decodedBuilder) build(end int) decodedText {
	return decodedText{b.text.String(), append(b.offsets, end)}
}

// decodings returns a text before and after each round of decoding escapes, as unescapeAll
// does. If the text contains plus signs, it also returns all of this with spaces instead of
// plus signs, which have this meaning in the query of a URL.
func decodings(text string) []decodedText {
	original := undecoded(text)
	list := original.unescapeAll()
	if strings.Contains(text, "+") {
		original.text = strings.ReplaceAll(text, "+", " ")
		list = append(list, original.unescapeAll()...)
	}
	return list
}

// unescapeAll returns d, and d after decoding its escapes once, twice and so on, up to
// maxEscapes times. All results are normalized.
func (d decodedText) unescapeAll() []decodedText {
	list := []decodedText{d.normalize()}
	for range maxEscapes {
		last := list[len(list)-1]
		if !strings.ContainsAny(last.text, `\%&`) {
			break
		}
		next := last.unescape().normalize()
		if next.text == last.text {
			break
		}
		list = append(list, next)
	}
	return list
}

// unescape decodes the escapes of JSON, Go, URLs and HTML in d once. It drops an incomplete
// escape at the end.
func (d decodedText) unescape() decodedText {
	var out decodedBuilder
	for i := 0; i < len(d.text); {
		if raw, offsets, next := d.byteEscapes(i); next > i {
			for from := 0; from < len(raw); {
				r, size := utf8.DecodeRune(raw[from:])
				out.add(r, offsets[from])
				from += size
			}
			i = next
			continue
		}
		r, size := unescapeRune(d.text[i:])
		if size == 0 {
			break
		}
		out.add(r, d.offsets[i])
		i += size
	}
	return out.build(d.offsets[len(d.text)])
}

// byteEscapes decodes a sequence of escaped bytes, as in \xc3\xa9 or %C3%A9, that starts at
// index i. It returns the bytes, their offsets in the original text, and the index after
// the sequence. This is i if no such sequence starts there.
func (d decodedText) byteEscapes(i int) (raw []byte, offsets []int, next int) {
	for {
		rest := d.text[i:]
		digits := 0 // the index of the hexadecimal digits
		switch {
		case strings.HasPrefix(rest, `\x`):
			digits = 2
		case strings.HasPrefix(rest, "%"):
			digits = 1
		default:
			return raw, offsets, i
		}
		value, ok := parseHex(rest, digits, 2)
		if !ok {
			return raw, offsets, i
		}
		raw, offsets = append(raw, byte(value)), append(offsets, d.offsets[i])
		i += digits + 2
	}
}

// unescapeRune decodes the character or escape at the start of a text, and returns its size
// in the text. The size is 0 if the escape is incomplete.
func unescapeRune(text string) (r rune, size int) {
	r, size = utf8.DecodeRuneInString(text)
	if r == '&' {
		return unescapeEntity(text)
	}
	if r != '\\' {
		return r, size
	}
	if len(text) == 1 {
		return 0, 0
	}
	switch text[1] {
	case 'u':
		return unescapeUnicode(text, 4)
	case 'U':
		return unescapeUnicode(text, 8)
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'a', 'b', 'f', 'v':
		return '\a', 2 // normalize drops all of these
	case '"', '\'', '\\', '/', '`':
		return rune(text[1]), 2
	}
	return '\\', 1
}

// unescapeEntity decodes the HTML entity at the start of a text, such as &amp; or &#34;. If
// the text does not start with an entity, or with one that stands for several characters,
// it returns the ampersand.
func unescapeEntity(text string) (r rune, size int) {
	const maxEntity = 10
	end := strings.IndexByte(text[:min(len(text), maxEntity)], ';') + 1
	if decoded := []rune(html.UnescapeString(text[:end])); len(decoded) == 1 {
		return decoded[0], end
	}
	return '&', 1
}

// unescapeUnicode decodes the escape at the start of a text: \u with four digits, two of
// these that form a surrogate pair, or \U with eight digits. digits is four or eight.
func unescapeUnicode(text string, digits int) (r rune, size int) {
	size = 2 + digits
	value, ok := parseHex(text, 2, digits)
	if !ok {
		if len(text) < size {
			return 0, 0
		}
		return '\\', 1
	}
	if utf16.IsSurrogate(rune(value)) && strings.HasPrefix(text[size:], `\u`) {
		if low, ok := parseHex(text[size:], 2, 4); ok {
			return utf16.DecodeRune(rune(value), rune(low)), 2 * size
		}
	}
	return rune(value), size
}

// parseHex parses the given number of hexadecimal digits in a text, beginning at index
// from.
func parseHex(text string, from, digits int) (value uint64, ok bool) {
	if len(text) < from+digits {
		return 0, false
	}
	value, err := strconv.ParseUint(text[from:from+digits], 16, 32)
	return value, err == nil
}

// normalize returns d without control sequences and control characters (see Normalize).
func (d decodedText) normalize() decodedText {
	var out decodedBuilder
	sequences := terminalsafe.ControlSequences(d.text)
	var last rune
	for i := 0; i < len(d.text); {
		if len(sequences) > 0 && sequences[0][0] == i {
			i, sequences = sequences[0][1], sequences[1:]
			continue
		}
		r, size := utf8.DecodeRuneInString(d.text[i:])
		switch {
		case r == '\n' && last == '\r', r == utf8.RuneError && last == r:
		case r == '\r':
			out.add('\n', d.offsets[i])
		case r == '\t':
			out.add(' ', d.offsets[i])
		case r == '\n' || !unicode.IsControl(r) && !unicode.Is(unicode.Cf, r):
			out.add(r, d.offsets[i])
		default: // drop r, and keep last
			i += size
			continue
		}
		last = r
		i += size
	}
	return out.build(d.offsets[len(d.text)])
}

// Normalize removes terminal control sequences and control characters from a text, replaces
// all line ends with \n, and replaces tabs with spaces. A Redactor normalizes values and
// texts before it compares them.
func Normalize(text string) string { return undecoded(text).normalize().text }
