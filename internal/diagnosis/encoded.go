// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"encoding/base64"
	"strings"
)

const (
	// maxEncoded is how many times over a text may be encoded for the secrets in it to
	// be recognised: credentials in a file that is encoded, too.
	maxEncoded = 2
	// minEncoded is how long base64 of a secret is at least.
	minEncoded = 8
	// group is how many characters of base64 stand for whole bytes.
	group = 4
)

// encoded finds the parts of a text in base64 that hold a secret and something else,
// such as the name and the password of basic authentication.
func (m *Masker) encoded(text string, depth int) [][2]int {
	var spans [][2]int
	start := 0
	for i := 0; i <= len(text); i++ {
		if i < len(text) && isBase64(text[i]) {
			continue
		}
		if i-start >= minEncoded && m.inBase64(text[start:i], depth) {
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

// inBase64 reports whether a text, or what begins a little later in it, stands for one
// that holds a secret.
func (m *Masker) inBase64(text string, depth int) bool {
	standard := strings.NewReplacer("-", "+", "_", "/").Replace(text)
	for from := range min(group, len(standard)) {
		whole := standard[from : len(standard)-(len(standard)-from)%group]
		rest := standard[from+len(whole):]
		if len(rest) > 1 { // one character alone stands for no byte
			whole += rest
		}
		decoded, err := base64.RawStdEncoding.DecodeString(whole)
		if err != nil {
			continue
		}
		if m.holds(string(decoded), depth-1) {
			return true
		}
	}
	return false
}

// holds reports whether a text contains a secret, or base64 of one.
func (m *Masker) holds(text string, depth int) bool {
	for _, secret := range m.secrets {
		if strings.Contains(text, secret) {
			return true
		}
	}
	return depth > 0 && len(m.encoded(text, depth)) > 0
}
