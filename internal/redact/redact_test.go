// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/base64"
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	for name, c := range map[string]struct {
		secrets    []string
		text, want string
	}{
		"twice":                    {[]string{"hunter22"}, "a hunter22 b hunter22", "a ****** b ******"},
		"the longer one first":     {[]string{"secret", "secret-and-more"}, "x secret-and-more y", "x ****** y"},
		"overlapping":              {[]string{"abcdefgh", "ghijklmn"}, "-abcdefghijklmn-", "-******-"},
		"overlapping itself":       {[]string{"abcabcab"}, "-abcabcabcab-", "-******-"},
		"too short":                {[]string{"admin", ""}, "admin", "admin"},
		"lines of several":         {[]string{"-----BEGIN\r\nMIIEpAIB\nxy\n"}, "read MIIEpAIB, xy", "read ******, xy"},
		"across lines":             {[]string{"first line\nsecond line"}, "first line\nsecond line", "******"},
		"in colours":               {[]string{"hunter22"}, "\x1b[31mhun\x1b[0mter22\x1b[0m", "******"},
		"with control characters":  {[]string{"hun\tter22"}, "hun\tter22", "******"},
		"cut off at the end":       {[]string{"hunter22-and-more"}, "is hunter22-a", "is ******"},
		"cut off at the beginning": {[]string{"hunter22-and-more"}, "22-and-more.", "******."},
		"end of a word":            {[]string{"source_matchers"}, "waiting for 1 resource", "waiting for 1 resource"},
		"beginning of a word":      {[]string{"the waiting"}, "waitings are over", "waitings are over"},
		"not UTF-8":                {[]string{"hunter\xff22"}, "x hunter\xff22", "x ******"},
		"blanks around it":         {[]string{"  hunter22\n"}, "hunter22", "******"},
		"in a query of a URL":      {[]string{"p@ss w0rd+1"}, "db://u:p%40ss+w0rd%2B1@h", "db://u:******@h"},
		"in HTML":                  {[]string{`a&b<c"d1`}, "is a&amp;b&lt;c&#34;d1.", "is ******."},
		"ampersands":               {[]string{"hunter22"}, "a && b &c; & hunter22", "a && b &c; & ******"},
		"in basic authentication":  {[]string{"zp@ss/p0rd#1"}, "Basic dTp6cEBzcy9wMHJkIzE= and", "Basic ****** and"},
		"in base64 of a path":      {[]string{"hunter22"}, "at/dTpodW50ZXIyMg==", "******"},
		"in base64 of base64":      {[]string{"hunter22"}, base64.StdEncoding.EncodeToString([]byte(`{"auth": "dTpodW50ZXIyMg=="}`)), "******"},
		"no base64":                {[]string{"hunter22"}, "some/path/of-many_words", "some/path/of-many_words"},
		"none":                     {nil, "hunter22", "hunter22"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, text := range []string{c.text, Normalize(c.text)} {
				if got := New(c.secrets).Text(text); got != c.want {
					t.Errorf("got %q, want %q", got, c.want)
				}
			}
		})
	}
}

func TestTextWithoutSecretsIsUnchanged(t *testing.T) {
	const text = "\x1b[31ma\r\n\tb\xff"
	var none *Redactor
	for _, r := range []*Redactor{none, New(nil), New([]string{"hunter22"})} {
		if got := r.Text(text); got != text {
			t.Errorf("got %q", got)
		}
	}
}

func TestNormalize(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"colours":         {"\x1b[1;31mred\x1b[0m", "red"},
		"title":           {"\x1b]0;evil\x07text", "text"},
		"title, unended":  {"\x1b]0;evil\ntext", "\ntext"},
		"cursor":          {"a\x1b[2Jb\x1bcd", "abd"},
		"lone escape":     {"a\x1b", "a"},
		"carriage return": {"10%\r20%\r\ndone", "10%\n20%\ndone"},
		"C1 and bidi":     {"a\u009bb\u202ec", "abc"},
		"tab and bell":    {"a\tb\a", "a b"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Normalize(c.text); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func FuzzText(f *testing.F) {
	f.Add("hunter22", "abcdefgh", "x hunter22 abcdefgh")
	f.Add("aaaaaa", "aaaaaaa", "aaaaaaaaaaaaaa")
	f.Add("a\nsecret", "\x1b[31msecret", "secretsecret")
	f.Fuzz(func(t *testing.T, one, other, text string) {
		r := New([]string{one, other})
		for _, piece := range strings.Split(Normalize(r.Text(text)), placeholder) {
			for _, secret := range r.values {
				if strings.Contains(piece, secret) {
					t.Errorf("%q shows %q", text, secret)
				}
			}
		}
	})
}
