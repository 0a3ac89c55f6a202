// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package terminalsafe_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/ordered-helm/helm/internal/terminalsafe"
)

func TestSanitize(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"text", "a\tä 日本\n", "a\tä 日本\n"},
		{"colors", "\x1b[31;1mred\x1b[0m", "red"},
		{"a title", "\x1b]0;title\x07x\x1b]8;;http://a\x1b\\y", "xy"},
		{"a short one", "\x1bcx\x1b(By", "xy"},
		{"one that is cut off", "x\x1b[31", "x31"},
		{"of eight bits", "\u009b31mx", "31mx"},
		{"characters", "a\rb\x00\a\b\x7fc", "abc"},
		{"another direction", "a\u202eb\u200bc", "abc"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := terminalsafe.Sanitize(tt.text); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			var b strings.Builder
			if _, err := io.Copy(terminalsafe.NewWriter(&b), strings.NewReader(tt.text)); err != nil || b.String() != tt.want {
				t.Errorf("written as one: got %q, %v", b.String(), err)
			}
			b.Reset()
			_, err := io.Copy(terminalsafe.NewWriter(&b), iotest.OneByteReader(strings.NewReader(tt.text)))
			if err != nil || b.String() != terminalsafe.Sanitize(b.String()) {
				t.Errorf("written by byte: got %q, %v", b.String(), err)
			}
		})
	}
}

func TestWriterThatFails(t *testing.T) {
	read, write := io.Pipe()
	if err := read.CloseWithError(io.ErrShortWrite); err != nil {
		t.Fatal(err)
	}
	if n, err := terminalsafe.NewWriter(write).Write([]byte("x")); n != 0 || !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("got %d, %v", n, err)
	}
}

// FuzzSanitize checks that the result contains no control characters.
func FuzzSanitize(f *testing.F) {
	f.Add("\x1b[\x1b[31m31mx\x1b", 3)
	f.Fuzz(func(t *testing.T, text string, at int) {
		got := terminalsafe.Sanitize(text)
		if strings.ContainsAny(got, "\x1b\x00\x07\r\u009b\u202e") || terminalsafe.Sanitize(got) != got {
			t.Fatalf("%q became %q", text, got)
		}
		var b strings.Builder
		w := terminalsafe.NewWriter(&b)
		for _, part := range []string{text[:max(0, min(at, len(text)))], text[max(0, min(at, len(text))):]} {
			if _, err := io.WriteString(w, part); err != nil {
				t.Fatal(err)
			}
		}
		if strings.ContainsAny(b.String(), "\x1b\x00\x07\r\u009b\u202e") {
			t.Fatalf("%q, written in two parts, became %q", text, b.String())
		}
	})
}
