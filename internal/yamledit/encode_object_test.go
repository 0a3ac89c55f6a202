// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestEncodeObject(t *testing.T) {
	for _, tt := range []struct {
		name   string
		object map[string]any
		want   string
		simple bool
	}{
		{"scalars", map[string]any{"b": true, "a": nil, "c": int64(3), "d": 4, "e": "x"}, "a: null\nb: true\nc: 3\nd: 4\ne: x\n", true},
		{"texts that look like other types", map[string]any{"a": "true", "b": "1", "c": "on", "d": "1e3", "e": "", "f": "null", "g": "2001-01-01"},
			"a: \"true\"\nb: \"1\"\nc: \"on\"\nd: \"1e3\"\ne: \"\"\nf: \"null\"\ng: \"2001-01-01\"\n", true},
		{"lists and maps", map[string]any{"l": []any{map[string]any{"a": int64(1)}, "x"}, "m": map[string]any{"k": "v"}, "n": []any{}, "o": map[string]any{}},
			"l:\n- a: 1\n- x\nm:\n  k: v\n\"n\": []\no: {}\n", true},
		{"lines", map[string]any{"s": "a\nb\n", "t": "\n x", "u": " x ", "v": "a\n\n"}, "s: |\n  a\n  b\nt: |2-\n\n   x\nu: ' x '\nv: |+\n  a\n\n", false},
		{"nested lists", map[string]any{"l": []any{[]any{"a", []any{int64(1)}}, []any{}, map[string]any{}, map[string]any{"b": []any{"c"}, "d": map[string]any{"e": "f"}}}},
			"l:\n- - a\n  - - 1\n- []\n- {}\n- b:\n  - c\n  d:\n    e: f\n", true},
		{"order of keys", map[string]any{"aB": "x", "ab": "x", "a-b": "x", "a_b": "x", "a/b": "x", "a.b": "x", "a": "x", "B": "x"},
			"B: x\na: x\na-b: x\na.b: x\na/b: x\na_b: x\naB: x\nab: x\n", true},
		{"keys with digits", map[string]any{"a10": "x", "a9": "x"}, "a9: x\na10: x\n", false},
		{"keys with digits elsewhere", map[string]any{"k8s": "x", "k8": "x", "kx": "x"}, "k8: x\nk8s: x\nkx: x\n", true},
		{"texts with characters of YAML", map[string]any{"a": "x: y", "b": "x #y", "c": "- x", "d": "{x}", "e": "x:", "f": "a b", "g": "'", "h": "@x", "i": "http://x:80/"},
			"a: 'x: y'\nb: 'x #y'\nc: '- x'\nd: '{x}'\ne: 'x:'\nf: a b\ng: ''''\nh: '@x'\ni: http://x:80/\n", true},
		{"floats", map[string]any{"a": 1.5, "b": 1e6}, "a: 1.5\nb: 1000000\n", false},
		{"nil list", map[string]any{"a": []any(nil)}, "a: null\n", false},
		{"other types", map[string]any{"a": []string{"x"}}, "a:\n- x\n", false},
		{"control characters", map[string]any{"a": "\x1b[31m"}, "a: \"\\e[31m\"\n", false},
		{"invalid UTF-8", map[string]any{"a": "\xff"}, "a: \ufffd\n", false},
		{"key of a merge", map[string]any{"<<": map[string]any{"a": "b"}}, "<<:\n  a: b\n", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, parsed, err := EncodeObject(tt.object)
			if err != nil || got != tt.want {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
			if (parsed != nil) != tt.simple {
				t.Errorf("parsed is %v", parsed)
			}
		})
	}
	if _, _, err := EncodeObject(map[string]any{"a": math.NaN()}); err == nil {
		t.Error("NaN is no error")
	}
}

// FuzzEncodeObject checks that EncodeObject encodes objects as sigs.k8s.io/yaml does, and that it knows what
// ParseYAMLObject returns for the text.
func FuzzEncodeObject(f *testing.F) {
	for _, seed := range []string{
		`{"a": 1, "b": [true, null, "x"], "c": {"d": "a\nb\n"}}`, `{"a": "&x", "b": "*x", "c": "!!binary eA=="}`, `{"": ""}`, `{"<<": {"a": 1}}`,
		`{"a": "---\nb"}`, `{"a": " \n x"}`, `{"a": "0o7", "b": "0x1F", "c": "1_000", "d": "190:20:30", "e": "~"}`, `{"y": "n"}`, `{"a": "\u2028\u0085\ufeff"}`,
		`{"a": 9007199254740993, "b": 1.5}`, `{"a": "# x", "b": "x # y", "c": "x:\n", "d": "- x", "e": "? x"}`, `{"a\nb": 1}`, `{"a": {"=": "<", "<": "="}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var fromJSON map[string]any
		if json.Unmarshal([]byte(text), &fromJSON) != nil || fromJSON == nil {
			return
		}
		object := integers(fromJSON).(map[string]any)
		got, parsed, err := EncodeObject(object)
		want, wantErr := yaml.Marshal(object)
		if got != string(want) || (err == nil) != (wantErr == nil) {
			t.Fatalf("got %q, %v, want %q, %v", got, err, want, wantErr)
		}
		if parsed == nil {
			return
		}
		if err := CheckAliases(got); err != nil {
			t.Fatal(err)
		}
		again, err := ParseYAMLObject(got)
		if err != nil || !reflect.DeepEqual(parsed, again) {
			t.Fatalf("%q is parsed as %v, %v, want %v", got, again, err, parsed)
		}
	})
}

// integers returns a value in which numbers that are integers are int64 values, as a script returns it.
func integers(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for k := range value {
			value[k] = integers(value[k])
		}
	case []any:
		for i := range value {
			value[i] = integers(value[i])
		}
	case float64:
		if value == math.Trunc(value) && math.Abs(value) <= 1<<53 {
			return int64(value)
		}
	}
	return value
}
