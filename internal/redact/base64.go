// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/base64"
	"strings"
)

const (
	// maxBase64Depth is how many times text is decoded from base64 to find a value. Two
	// times are needed for encoded credentials in a file whose content is encoded again.
	maxBase64Depth = 2
	// minBase64Length is the minimum number of characters of a text that is decoded from
	// base64.
	minBase64Length = 8
	// base64Group is the number of base64 characters that together encode whole bytes.
	base64Group = 4
)

// findInBase64 returns the start and end offsets of each sequence of base64 characters in a
// text that encodes a value of r together with other data, such as the credentials of basic
// authentication. Decoded data is decoded again up to depth-1 times.
func (r *Redactor) findInBase64(text string, depth int) [][2]int {
	var spans [][2]int
	start := 0
	for i := 0; i <= len(text); i++ {
		if i < len(text) && isBase64(text[i]) {
			continue
		}
		if i-start >= minBase64Length && r.encodesValue(text[start:i], depth) {
			padding := len(text[i:]) - len(strings.TrimLeft(text[i:], "="))
			spans = append(spans, [2]int{start, i + padding})
		}
		start = i + 1
	}
	return spans
}

func isBase64(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return strings.IndexByte("+/-_", c) >= 0
}

// encodesValue reports whether a text, or a part of it, is base64 for data that contains a
// value of r. It tries to decode the text from each of its first four characters, because
// the encoded data may begin anywhere in the text.
func (r *Redactor) encodesValue(text string, depth int) bool {
	standard := strings.NewReplacer("-", "+", "_", "/").Replace(text)
	for offset := range min(base64Group, len(standard)) {
		encoded := standard[offset:]
		if len(encoded)%base64Group == 1 { // a single character encodes no byte
			encoded = encoded[:len(encoded)-1]
		}
		decoded, err := base64.RawStdEncoding.DecodeString(encoded)
		if err != nil {
			continue
		}
		if r.containsValue(string(decoded), depth-1) {
			return true
		}
	}
	return false
}

// containsValue reports whether a text contains a value of r, either plain or in base64,
// which is decoded up to depth times.
func (r *Redactor) containsValue(text string, depth int) bool {
	for _, value := range r.values {
		if strings.Contains(text, value) {
			return true
		}
	}
	return depth > 0 && len(r.findInBase64(text, depth)) > 0
}
