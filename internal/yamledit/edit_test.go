// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"testing"

	"gopkg.in/yaml.v3"
)

// renameAndQuote is the change that the tests make: the key "a/b/c" becomes
// "a.b/c", and its value the text `["x","y"]`.
func renameAndQuote(m *yaml.Node) []Change {
	return []Change{{Mapping: m, Key: "a/b/c", NewKey: "a.b/c", NewValue: Text(`["x","y"]`)}}
}

func TestApply(t *testing.T) {
	tests := []struct {
		name, in, want string
		changes        func(m *yaml.Node) []Change
	}{
		{
			"flow list in a block mapping",
			"# head\nm:\n  k: 1 # one\n  a/b/c: [\"x\", 'y'] # why\n  z:   \"q\"\n",
			"# head\nm:\n  k: 1 # one\n  a.b/c: '[\"x\",\"y\"]' # why\n  z:   \"q\"\n",
			renameAndQuote,
		},
		{
			"block list, with what follows kept",
			"m:\n  a/b/c:\n    - x\n    - y # last\n\n  # about z\n  z: 0x10\nn: yes\n",
			"m:\n  a.b/c: '[\"x\",\"y\"]'\n\n  # about z\n  z: 0x10\nn: yes\n",
			renameAndQuote,
		},
		{
			"block list at the indentation of its key",
			"m:\n  a/b/c:\n  - x\n  - y\nn: 1",
			"m:\n  a.b/c: '[\"x\",\"y\"]'\nn: 1",
			renameAndQuote,
		},
		{
			"flow list over several lines with a comment and brackets in quotes",
			"m:\n  a/b/c: [\n    \"x]\", # ]\n    'y''['\n  ]\n  z: 1",
			"m:\n  a.b/c: '[\"x\",\"y\"]'\n  z: 1",
			renameAndQuote,
		},
		{
			"JSON",
			`{"m": {"a/b/c": ["x", "y"], "z": 1}}`,
			`{"m": {"a.b/c": "[\"x\",\"y\"]", "z": 1}}`,
			renameAndQuote,
		},
		{
			"only the key",
			"m:\n  \"a/b/c\": 'it''s'   # c\n",
			"m:\n  \"a.b/c\": 'it''s'   # c\n",
			func(m *yaml.Node) []Change { return []Change{{Mapping: m, Key: "a/b/c", NewKey: "a.b/c"}} },
		},
		{
			"characters of several bytes before the key",
			"m: {ä: ö, a/b/c: [x]}",
			"m: {ä: ö, a.b/c: \"[\\\"x\\\",\\\"y\\\"]\"}",
			renameAndQuote,
		},
		{
			"a list given by an alias is encoded anew",
			"l: &l\n    - x\n    - y\nm:\n    a/b/c: *l\n",
			"l: &l\n  - x\n  - y\nm:\n  a.b/c: '[\"x\",\"y\"]'",
			renameAndQuote,
		},
		{
			"insert",
			"m:\n    # c\n    k: 1\n",
			"m:\n    # c\n    new: 'v'\n    k: 1\n",
			func(m *yaml.Node) []Change {
				return []Change{{Mapping: m, Key: "new", NewValue: Text("v"), Insert: true}}
			},
		},
		{
			"delete",
			"m:\n    k: 1\n    gone: 'v'\n    l: 2\n",
			"m:\n    k: 1\n    l: 2\n",
			func(m *yaml.Node) []Change { return []Change{{Mapping: m, Key: "gone", Delete: true}} },
		},
		{
			"delete the last line",
			"m:\n    k: 1\n    gone: 'v'",
			"m:\n    k: 1",
			func(m *yaml.Node) []Change { return []Change{{Mapping: m, Key: "gone", Delete: true}} },
		},
		{
			"a key that is not there",
			"m:\n    k: 1\n",
			"m:\n    k: 1\n",
			renameAndQuote,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root, err := Parse(tt.in)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Apply(tt.in, root, tt.changes(Lookup(root, "m")))
			if err != nil {
				t.Fatal(err)
			}
			if got != tt.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, tt.want)
			}
		})
	}
}

// FuzzApply checks that whatever the text, the result reads as the changed
// document, and nothing panics.
func FuzzApply(f *testing.F) {
	f.Add("m:\n  a/b/c: [x, y]\n")
	f.Add("m:\n  a/b/c:\n  - x\n  # c\n  - 'y'\nn: &a [1]\n")
	f.Add(`{"m":{"a/b/c":["x"]}}`)
	f.Add("m: {a/b/c: [\"]\", '#']}")
	f.Fuzz(func(t *testing.T, in string) {
		root, err := Parse(in)
		if err != nil || root == nil {
			return
		}
		m := Lookup(root, "m")
		if m == nil || find(m, "a/b/c") < 0 || find(m, "a.b/c") >= 0 {
			return
		}
		got, err := Apply(in, root, renameAndQuote(m))
		if err != nil {
			return
		}
		again, err := Parse(got)
		if err != nil {
			t.Fatalf("the result does not parse: %v\n%s", err, got)
		}
		v := Lookup(again, "m", "a.b/c")
		if v == nil || v.Value != `["x","y"]` {
			t.Fatalf("the change is not there:\n%s", got)
		}
	})
}
