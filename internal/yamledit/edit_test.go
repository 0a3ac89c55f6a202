// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"testing"

	"gopkg.in/yaml.v3"
)

// renameAndQuote is the change in most tests: the key "a/b/c" becomes "a.b/c", and its
// value becomes the text `["x","y"]`.
func renameAndQuote(m *yaml.Node) []Change {
	return []Change{{Mapping: m, Key: "a/b/c", NewKey: "a.b/c", NewValue: Text(`["x","y"]`)}}
}

func insert(key, value string) func(m *yaml.Node) []Change {
	return func(m *yaml.Node) []Change {
		return []Change{{Mapping: m, Key: key, NewValue: Text(value), Insert: true}}
	}
}

func remove(key string) func(m *yaml.Node) []Change {
	return func(m *yaml.Node) []Change { return []Change{{Mapping: m, Key: key, Delete: true}} }
}

func set(key string, value *yaml.Node) func(m *yaml.Node) []Change {
	return func(m *yaml.Node) []Change { return []Change{{Mapping: m, Key: key, NewValue: value}} }
}

// flowMapping returns a flow mapping with one entry.
func flowMapping(key, value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Style: yaml.FlowStyle, Content: []*yaml.Node{
		{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, Text(value),
	}}
}

var replaceTests = []applyTest{
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
		"block list whose last item takes two lines",
		"m:\n  a/b/c:\n  - x\n  - \"y\n    z\"\nn:   1",
		"m:\n  a.b/c: '[\"x\",\"y\"]'\nn:   1",
		renameAndQuote,
	},
	{
		"flow list over several lines with a comment and brackets in quotes",
		"m:\n  a/b/c: [\n    \"x]\", # ]\n    'y''['\n  ]\n  z: 1",
		"m:\n  a.b/c: '[\"x\",\"y\"]'\n  z: 1",
		renameAndQuote,
	},
	{
		"flow list with quotes inside plain items",
		"m:\n  a/b/c: [it's, b]\n  z:   1",
		"m:\n  a.b/c: '[\"x\",\"y\"]'\n  z:   1",
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
		"a list given by an alias",
		"l: &l\n    - x\n    - y\nm:\n    a/b/c: *l\n",
		"l: &l\n    - x\n    - y\nm:\n    a.b/c: '[\"x\",\"y\"]'\n",
		renameAndQuote,
	},
	{
		"an anchor that goes leaves a copy at its alias",
		"# head\n\nm:\n    a/b/c: &l [x]\n    z: *l\n",
		"# head\n\nm:\n  a.b/c: '[\"x\",\"y\"]'\n  z: [x]",
		renameAndQuote,
	},
	{
		"an anchor that is set twice keeps its meaning",
		"m:\n    k: &l [1]\n    a/b/c: &l [x]\n    z: *l\n",
		"m:\n  k: &l [1]\n  a.b/c: '[\"x\",\"y\"]'\n  z: [x]",
		renameAndQuote,
	},
	{
		"lines that end with CR LF",
		"m:\r\n  a/b/c:\r\n  - x\r\n  - y # c\r\n  z: 1\r\n",
		"m:\r\n  a.b/c: '[\"x\",\"y\"]'\r\n  z: 1\r\n",
		renameAndQuote,
	},
	{
		"a byte order mark",
		"\ufeffm: {a/b/c: [x],  z: 1}\n",
		"\ufeffm: {a.b/c: \"[\\\"x\\\",\\\"y\\\"]\",  z: 1}\n",
		renameAndQuote,
	},
	{
		"line breaks that are none to most programs",
		"d: \"a\u2028  b\u0085c\"\nm:\n  a/b/c: [x]\n  z:   1\n",
		"d: \"a\u2028  b\u0085c\"\nm:\n  a.b/c: '[\"x\",\"y\"]'\n  z:   1\n",
		renameAndQuote,
	},
	{
		"a block scalar is encoded anew",
		"m:\n    a/b/c: |\n        [\"x\"]\n    z: 1\n",
		"m:\n  a.b/c: '[\"x\",\"y\"]'\n  z: 1",
		renameAndQuote,
	},
	{
		"a value where there is none",
		"m:\n    k:   # c\n    l: 2\n",
		"m:\n    k: {n: 'v'}   # c\n    l: 2\n",
		set("k", flowMapping("n", "v")),
	},
	{
		"no value where there was one",
		"m:\n    k: {n: 'v'}   # c\n    l: 2\n",
		"m:\n    k:   # c\n    l: 2\n",
		set("k", Null("")),
	},
	{
		"null where there was a value in lines of its own",
		"m:\n    k:\n      n: v\n    l: 2\n",
		"m:\n    k: null\n    l: 2\n",
		set("k", Null("null")),
	},
	{
		"a key that is not there",
		"m:\n    k: 1\n",
		"m:\n    k: 1\n",
		renameAndQuote,
	},
}

var insertAndDeleteTests = []applyTest{
	{
		"insert",
		"m:\n    # c\n    k: 1\n",
		"m:\n    # c\n    new: 'v'\n    k: 1\n",
		insert("new", "v"),
	},
	{
		"insert into lines that end with CR LF",
		"m:\r\n    k: 1\r\n",
		"m:\r\n    new: 'v'\r\n    k: 1\r\n",
		insert("new", "v"),
	},
	{
		"insert a mapping",
		"m:\n    k: 1\n",
		"m:\n    new: {n: 'it''s'}\n    k: 1\n",
		func(m *yaml.Node) []Change {
			return []Change{{Mapping: m, Key: "new", NewValue: flowMapping("n", "it's"), Insert: true}}
		},
	},
	{
		"insert into JSON",
		`{"m": { "k": 1 } }`,
		`{"m": { "new": {"n": "<v>"}, "k": 1 } }`,
		func(m *yaml.Node) []Change {
			return []Change{{Mapping: m, Key: "new", NewValue: flowMapping("n", "<v>"), Insert: true}}
		},
	},
	{
		"insert into an empty mapping",
		"m: { } # c\n",
		"m: {\"new\": \"v\" } # c\n",
		insert("new", "v"),
	},
	{
		"insert into an anchored mapping",
		"m: &m {k: 1}\nl:\n- *m\n",
		"m: &m {\"new\": \"v\", k: 1}\nl:\n- *m\n",
		insert("new", "v"),
	},
	{
		"delete",
		"m:\n    k: 1\n    gone: 'v'\n    l: 2\n",
		"m:\n    k: 1\n    l: 2\n",
		remove("gone"),
	},
	{
		"delete the last line",
		"m:\n    k: 1\n    gone: 'v'",
		"m:\n    k: 1",
		remove("gone"),
	},
	{
		"delete the last line that ends with CR LF before it",
		"m:\r\n    k: 1\r\n    gone: 'v'",
		"m:\r\n    k: 1",
		remove("gone"),
	},
	{
		"delete an entry of several lines",
		"m:\n    k:   1\n    gone:\n    - a\n    - b: 1\n      c: [\n        2]\n    l: 2\n",
		"m:\n    k:   1\n    l: 2\n",
		remove("gone"),
	},
	{
		"delete the first entry of JSON",
		"{\"m\": {\n  \"gone\": [1, {\"x\": \"}\"}],\n  \"k\": 1\n}}",
		"{\"m\": {\n  \"k\": 1\n}}",
		remove("gone"),
	},
	{
		"delete the last entry of JSON",
		"{\"m\": {\n  \"k\": 1,\n  \"gone\": \"v\"\n}}",
		"{\"m\": {\n  \"k\": 1\n}}",
		remove("gone"),
	},
	{
		"delete the only entry of JSON",
		"{\"m\": { \"gone\": \"v\" }}",
		"{\"m\": {  }}",
		remove("gone"),
	},
	{
		"delete the only entry of a block mapping: it stays a mapping",
		"m:\n    gone: 1\nn:     2\n",
		"m: {}\nn: 2",
		remove("gone"),
	},
	{
		"comments that the encoder would misplace are left out",
		"m: # about m\n    gone: 1\nn:     2\n",
		"m: {}\nn: 2",
		remove("gone"),
	},
	{
		"delete what is not there",
		"m:\n    k:  1\n",
		"m:\n    k:  1\n",
		remove("gone"),
	},
}

type applyTest struct {
	name, in, want string
	changes        func(m *yaml.Node) []Change
}

func TestReplace(t *testing.T)         { testApply(t, replaceTests) }
func TestInsertAndDelete(t *testing.T) { testApply(t, insertAndDeleteTests) }

func testApply(t *testing.T, tests []applyTest) {
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

func TestApplyTwoChangesOfOneEntryFallBack(t *testing.T) {
	const in = "m:\n    k:   1\n    l: 2\n"
	root, err := Parse(in)
	if err != nil {
		t.Fatal(err)
	}
	m := Lookup(root, "m")
	got, err := Apply(in, root, []Change{
		{Mapping: m, Key: "k", NewValue: Text("a")}, {Mapping: m, Key: "k", NewValue: Text("b")},
	})
	if want := "m:\n  k: 'b'\n  l: 2"; got != want || err != nil {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func TestApplyOnTheLineOfAListsDashIsEncodedAnew(t *testing.T) {
	for want, change := range map[string]func(m *yaml.Node) []Change{
		"- k: 2":                        remove("gone"),
		"- new: 'v'\n  gone: 1\n  k: 2": insert("new", "v"),
	} {
		const in = "- gone: 1\n  k:   2\n"
		root, err := Parse(in)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Apply(in, root, change(root.Content[0])); got != want || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
}

func TestApplyToSyntaxThatTheEncoderCannotWrite(t *testing.T) {
	const in = "# c\nm: {k: &a !!str \"v\", n: , l: [*a , x]}\n"
	root, err := Parse(in)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Apply(in, root, []Change{{Mapping: Lookup(root, "m"), Key: "k", NewValue: Text("new")}})
	if want := "m:\n  k: 'new'\n  n: null\n  l:\n    - \"v\"\n    - x"; got != want || err != nil {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func TestApplyAnAnchorThatContainsItself(t *testing.T) {
	const in = "m:\n  k: &a [*a]\n  l: *a\n"
	root, err := Parse(in)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Apply(in, root, remove("k")(Lookup(root, "m"))); err == nil {
		t.Errorf("got %q, want an error", got)
	}
}

func TestParseAndLookup(t *testing.T) {
	for _, empty := range []string{"", "# only a comment\n", "---\n"} {
		root, err := Parse(empty)
		if err != nil || root != nil && root.ShortTag() != "!!null" {
			t.Errorf("Parse(%q) = %v, %v", empty, root, err)
		}
		if got := Lookup(root, "m"); got != nil {
			t.Errorf("Lookup in %q = %v", empty, got)
		}
	}
	if _, err := Parse("a: b: c"); err == nil {
		t.Error("Parse accepts what is no YAML")
	}
	root, err := Parse("a: &a {b: 1}\nc: *a\nl: [1]\n")
	if err != nil {
		t.Fatal(err)
	}
	if got := Lookup(root, "c", "b"); got == nil || got.Value != "1" {
		t.Errorf("behind an alias: %v", got)
	}
	for _, path := range [][]string{{"x"}, {"a", "x"}, {"l", "x"}, {"a", "b", "x"}} {
		if got := Lookup(root, path...); got != nil {
			t.Errorf("Lookup(%q) = %v, want none", path, got)
		}
	}
}
