// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"bytes"
	"strings"
	"testing"
)

// FuzzMark checks that removing the marks restores the template, and that the position of
// each mark is that of the key before it.
func FuzzMark(f *testing.F) {
	for _, seed := range []string{
		"kind: ConfigMap\nmetadata: {annotations: {helm.sh/layer: a, \"x.io/y\": b}}\n",
		"{{/* kind: */}}kind: {{ \"}}\" }}\n{{- if eq .a `}}` }} helm.sh/layer : x {{ end }}",
		"{{ unfinished \" kind: x", "ä\r\n  kind: x", "{{/*", "{{- /* a */ -}}kind:", "{{ '", "{{",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var places []Position
		marked := Mark("f", []byte(text), &places)
		if strings.Contains(text, "-ohmark") {
			if string(marked) != text {
				t.Fatalf("%q was marked: %q", text, marked)
			}
			return
		}
		if got := mark.ReplaceAllString(string(marked), ""); got != text {
			t.Fatalf("%q became %q", text, got)
		}
		lines := strings.Split(text, "\n")
		for i, m := range mark.FindAllIndex(marked, -1) {
			before := mark.ReplaceAll(marked[:m[0]], nil)
			p := places[i]
			line := []rune(lines[p.Line-1])
			rest := string(line[p.Column-1:])
			if want := text[:len(before)]; bytes.Count([]byte(want), []byte("\n")) != p.Line-1 || !strings.HasSuffix(want, keyAt(rest)) || keyAt(rest) == "" {
				t.Fatalf("%q: mark %d is at %d:%d, before %q", text, i, p.Line, p.Column, rest)
			}
		}
		end := 0
		for _, span := range textSpans([]byte(text)) {
			if span[0] < end || span[1] <= span[0] || span[1] > len(text) || strings.Contains(text[span[0]:span[1]], "{{") {
				t.Fatalf("%q: span %v", text, span)
			}
			end = span[1]
		}
	})
}

// keyAt returns the YAML key at the beginning of a text.
func keyAt(text string) string {
	return strings.TrimRight(text[:len(text)-len(strings.TrimLeft(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-/"))], " ")
}
