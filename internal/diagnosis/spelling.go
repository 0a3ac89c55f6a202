// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"html"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/ordered-helm/helm/internal/terminal"
)

// maxQuoted is how many times over a text may be quoted for the secrets in it to
// be recognised: JSON in a message in JSON, which a server or a log quotes again.
const maxQuoted = 4

// spelling is a text read in another way than it is written.
type spelling struct {
	text string
	// at is where each byte of text comes from in what is written, and where that
	// ends.
	at []int
}

// asWritten reads a text as it is.
func asWritten(text string) spelling {
	at := make([]int, len(text)+1)
	for i := range at {
		at[i] = i
	}
	return spelling{text, at}
}

// speller puts a spelling together.
type speller struct {
	text strings.Builder
	at   []int
}

func (s *speller) add(r rune, at int) {
	from := s.text.Len()
	s.text.WriteRune(r)
	for range s.text.Len() - from {
		s.at = append(s.at, at)
	}
}

func (s *speller) done(end int) spelling { return spelling{s.text.String(), append(s.at, end)} }

// spellings are the ways to read a text: as it is, and with each further round of
// quoting undone. In a query of a URL a plus sign may stand for a blank.
func spellings(text string) []spelling {
	written := asWritten(text)
	list := written.unquotings()
	if strings.Contains(text, "+") {
		written.text = strings.ReplaceAll(text, "+", " ")
		list = append(list, written.unquotings()...)
	}
	return list
}

// unquotings are a spelling and what it reads as with each round of quoting undone.
func (s spelling) unquotings() []spelling {
	list := []spelling{s.tidied()}
	for range maxQuoted {
		last := list[len(list)-1]
		if !strings.ContainsAny(last.text, `\%&`) {
			break
		}
		next := last.unquoted().tidied()
		if next.text == last.text {
			break
		}
		list = append(list, next)
	}
	return list
}

// unquoted takes the escapes of JSON, of Go, of URLs and of HTML for what they stand for.
// An escape that the end of the text cuts off is left out.
func (s spelling) unquoted() spelling {
	var out speller
	for i := 0; i < len(s.text); {
		if raw, places, next := s.bytes(i); next > i {
			for from := 0; from < len(raw); {
				r, size := utf8.DecodeRune(raw[from:])
				out.add(r, places[from])
				from += size
			}
			i = next
			continue
		}
		r, size := unquote(s.text[i:])
		if size == 0 {
			break
		}
		out.add(r, s.at[i])
		i += size
	}
	return out.done(s.at[len(s.text)])
}

// bytes reads the bytes that a text spells one by one from i on, as in \xc3\xa9
// or %C3%A9, with where they come from.
func (s spelling) bytes(i int) (raw []byte, places []int, next int) {
	for {
		rest := s.text[i:]
		digits := 0
		switch {
		case strings.HasPrefix(rest, `\x`):
			digits = 2
		case strings.HasPrefix(rest, "%"):
			digits = 1
		default:
			return raw, places, i
		}
		value, ok := hex(rest, digits, 2)
		if !ok {
			return raw, places, i
		}
		raw, places = append(raw, byte(value)), append(places, s.at[i])
		i += digits + 2
	}
}

// unquote reads one character, which may be an escape. The size is 0 for an escape
// that is cut off.
func unquote(text string) (r rune, size int) {
	r, size = utf8.DecodeRuneInString(text)
	if r == '&' {
		return entity(text)
	}
	if r != '\\' {
		return r, size
	}
	if len(text) == 1 {
		return 0, 0
	}
	switch text[1] {
	case 'u':
		return unicodeEscape(text, 4)
	case 'U':
		return unicodeEscape(text, 8)
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'a', 'b', 'f', 'v':
		return '\a', 2 // which of these it is does not matter: none is printed
	case '"', '\'', '\\', '/', '`':
		return rune(text[1]), 2
	}
	return '\\', 1
}

// entity reads an entity of HTML that stands for one character, such as &amp; or
// &#34;, and else the character that it begins with.
func entity(text string) (r rune, size int) {
	const longest = 10
	end := strings.IndexByte(text[:min(len(text), longest)], ';') + 1
	if meant := []rune(html.UnescapeString(text[:end])); len(meant) == 1 {
		return meant[0], end
	}
	return '&', 1
}

// unicodeEscape reads \u and four digits, two of these for what is beyond them, or
// \U and eight.
func unicodeEscape(text string, digits int) (r rune, size int) {
	size = 2 + digits
	value, ok := hex(text, 2, digits)
	if !ok {
		if len(text) < size {
			return 0, 0
		}
		return '\\', 1
	}
	if utf16.IsSurrogate(rune(value)) && strings.HasPrefix(text[size:], `\u`) {
		if low, ok := hex(text[size:], 2, 4); ok {
			return utf16.DecodeRune(rune(value), rune(low)), 2 * size
		}
	}
	return rune(value), size
}

// hex reads so many digits from an index on.
func hex(text string, from, digits int) (value uint64, ok bool) {
	if len(text) < from+digits {
		return 0, false
	}
	value, err := strconv.ParseUint(text[from:from+digits], 16, 32)
	return value, err == nil
}

// tidied is without what a terminal would act upon. Lines end with \n.
func (s spelling) tidied() spelling {
	var out speller
	sequences := terminal.Sequences(s.text)
	var last rune
	for i := 0; i < len(s.text); {
		if len(sequences) > 0 && sequences[0][0] == i {
			i, sequences = sequences[0][1], sequences[1:]
			continue
		}
		r, size := utf8.DecodeRuneInString(s.text[i:])
		switch {
		case r == '\n' && last == '\r', r == utf8.RuneError && last == r:
		case r == '\r':
			out.add('\n', s.at[i])
		case r == '\t':
			out.add(' ', s.at[i])
		case r == '\n' || !unicode.IsControl(r) && !unicode.Is(unicode.Cf, r):
			out.add(r, s.at[i])
		default: // what is left out parts nothing
			i += size
			continue
		}
		last = r
		i += size
	}
	return out.done(s.at[len(s.text)])
}

// clean takes out of a text what a terminal would act upon. Lines end with \n.
func clean(text string) string { return asWritten(text).tidied().text }
