// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releaselist

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"slices"
	"strconv"
)

// maxDepth is the maximum depth of nested values that a scanner accepts. That of encoding/json
// is 10,000.
const maxDepth = 1000

// maxPlainNumber is the maximum length of a number without an exponent that certainly does not
// overflow a float64.
const maxPlainNumber = 300

// scanner reads JSON text. Each of its methods reads one value, and returns false if it
// cannot: because the text is invalid, has another value, or is unusual enough that it is not
// certain what encoding/json would decode. The scanner is useless after that.
//
// It is faster than encoding/json because most of the text of a release is long strings, which
// it checks without decoding them.
type scanner struct {
	text  []byte
	pos   int
	depth int
}

// field is a field of a JSON object. read reads its value.
type field struct {
	name string
	read func() bool
}

// object reads an object that encoding/json decodes into a struct. Other fields than those in
// fields are skipped. It returns false if a field occurs twice, or if a name is not in lower
// case, because encoding/json ignores case.
func (s *scanner) object(fields []field) bool {
	seen := make([]bool, len(fields))
	return s.members('{', '}', func() bool {
		name, ok := s.name()
		if !ok || !isLowerCase(name) {
			return false
		}
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == string(name) })
		if i < 0 {
			return s.skip()
		}
		if seen[i] {
			return false
		}
		seen[i] = true
		return fields[i].read()
	})
}

// array reads an array by calling element for each element.
func (s *scanner) array(element func() bool) bool { return s.members('[', ']', element) }

// into returns a function that decodes a value into target, which must be a pointer.
func (s *scanner) into(target any) func() bool {
	return func() bool {
		s.space()
		start := s.pos
		return s.skip() && json.Unmarshal(s.text[start:s.pos], target) == nil
	}
}

// mapOrNull reads a value that encoding/json decodes into a map[string]any.
func (s *scanner) mapOrNull() bool { return s.null() || s.next('{') && s.skip() }

// stringOrNull reads a value that encoding/json decodes into a string.
func (s *scanner) stringOrNull() bool { return s.null() || s.next('"') && s.skip() }

// bytesOrNull reads a value that encoding/json decodes into a []byte: a string in base64.
func (s *scanner) bytesOrNull() bool {
	if s.null() {
		return true
	}
	if !s.next('"') {
		return false
	}
	start := s.pos + 1
	length := bytes.IndexByte(s.text[start:], '"')
	if length < 0 {
		return false
	}
	s.pos = start + length + 1
	return isBase64(s.text[start : start+length])
}

// null reads null. It returns false, and reads nothing, if the next value is another one.
func (s *scanner) null() bool { return s.next('n') && s.literal("null") }

// atEnd reports whether nothing follows but white space.
func (s *scanner) atEnd() bool {
	s.space()
	return s.pos == len(s.text)
}

// skip reads any value that encoding/json can decode into an any.
func (s *scanner) skip() bool {
	s.space()
	if s.pos == len(s.text) {
		return false
	}
	switch s.text[s.pos] {
	case '{':
		return s.members('{', '}', func() bool {
			_, ok := s.name()
			return ok && s.skip()
		})
	case '[':
		return s.array(s.skip)
	case '"':
		return s.string()
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	default:
		return s.number()
	}
}

// members reads an object or array with the given delimiters by calling member for each of its
// members.
func (s *scanner) members(begin, end byte, member func() bool) bool {
	if s.depth++; s.depth > maxDepth || !s.accept(begin) {
		return false
	}
	if !s.accept(end) {
		for first := true; first || !s.accept(end); first = false {
			if !first && !s.accept(',') || !member() {
				return false
			}
		}
	}
	s.depth--
	return true
}

// name reads the name of a field of an object and the colon after it, and returns the name
// without quotes, but with its escape sequences.
func (s *scanner) name() (name []byte, ok bool) {
	if !s.next('"') {
		return nil, false
	}
	start := s.pos
	if !s.string() {
		return nil, false
	}
	return s.text[start+1 : s.pos-1], s.accept(':')
}

// string reads a string. The next character must be its first quotation mark.
func (s *scanner) string() bool {
	for i := s.pos + 1; ; {
		i += plainLength(s.text[i:])
		if i == len(s.text) {
			return false
		}
		switch s.text[i] {
		case '"':
			s.pos = i + 1
			return true
		case '\\':
			length := escapeLength(s.text[i:])
			if length == 0 {
				return false
			}
			i += length
		default: // control characters must be escaped
			return false
		}
	}
}

// number reads a number.
func (s *scanner) number() bool {
	start := s.pos
	_ = s.char('-')
	if !s.char('0') && !s.digits() {
		return false
	}
	if s.char('.') && !s.digits() {
		return false
	}
	plain := true
	if s.char('e') || s.char('E') {
		plain = false
		_ = s.char('-') || s.char('+')
		if !s.digits() {
			return false
		}
	}
	if plain && s.pos-start <= maxPlainNumber {
		return true
	}
	_, err := strconv.ParseFloat(string(s.text[start:s.pos]), 64)
	return err == nil
}

// digits reads one or more digits.
func (s *scanner) digits() bool {
	start := s.pos
	for s.pos < len(s.text) && '0' <= s.text[s.pos] && s.text[s.pos] <= '9' {
		s.pos++
	}
	return s.pos > start
}

// literal reads a word such as null.
func (s *scanner) literal(word string) bool {
	if !bytes.HasPrefix(s.text[s.pos:], []byte(word)) {
		return false
	}
	s.pos += len(word)
	return true
}

// accept reads white space and then the character c, if it is the next one.
func (s *scanner) accept(c byte) bool { return s.next(c) && s.char(c) }

// next reads white space, and reports whether c is the next character.
func (s *scanner) next(c byte) bool {
	s.space()
	return s.pos < len(s.text) && s.text[s.pos] == c
}

// char reads the character c, if it is the next one.
func (s *scanner) char(c byte) bool {
	if s.pos == len(s.text) || s.text[s.pos] != c {
		return false
	}
	s.pos++
	return true
}

// space reads white space.
func (s *scanner) space() {
	for s.pos < len(s.text) {
		switch s.text[s.pos] {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return
		}
	}
}

// isLowerCase reports whether encoding/json decodes only fields with exactly this name into a
// struct field with this name, because it has no letters in upper case, no letters outside of
// ASCII and no escape sequences.
func isLowerCase(name []byte) bool {
	for _, c := range name {
		if c >= 0x80 || c == '\\' || 'A' <= c && c <= 'Z' {
			return false
		}
	}
	return true
}

// plainLength returns the number of characters at the beginning of text that represent
// themselves in a string.
func plainLength(text []byte) int {
	const (
		size  = 8
		each  = 0x0101010101010101 // multiplied by a byte: this byte in all positions
		marks = 0x80 * each
	)
	i := 0
	// The highest bit of a byte in found says that the byte in word is special. It can also be
	// set if it is not, but not in the lowest byte for which it is set.
	for ; i+size <= len(text); i += size {
		word := binary.LittleEndian.Uint64(text[i:])
		quote, backslash := word^'"'*each, word^'\\'*each
		found := ((word-' '*each)&^word | (quote-each)&^quote | (backslash-each)&^backslash) & marks
		if found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for ; i < len(text); i++ {
		if c := text[i]; c < ' ' || c == '"' || c == '\\' {
			break
		}
	}
	return i
}

// escapeLength returns the length of the escape sequence at the beginning of text; 0 if it is
// invalid.
func escapeLength(text []byte) int {
	const short, long = len(`\n`), len(`\u0000`)
	switch {
	case len(text) < short:
		return 0
	case bytes.IndexByte([]byte(`"\/bfnrt`), text[1]) >= 0:
		return short
	case text[1] != 'u' || len(text) < long:
		return 0
	}
	for _, c := range text[short:long] {
		isHex := '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
		if !isHex {
			return 0
		}
	}
	return long
}

// isBase64 reports whether text is padded base64 without line breaks.
func isBase64(text []byte) bool {
	const quantum = 4
	if len(text)%quantum != 0 {
		return false
	}
	for range 2 {
		text = bytes.TrimSuffix(text, []byte("="))
	}
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	var foreign [256]byte
	for i := range foreign {
		foreign[i] = 1
	}
	for _, c := range []byte(alphabet) {
		foreign[c] = 0
	}
	found := byte(0)
	for _, c := range text {
		found |= foreign[c]
	}
	return found == 0
}
