// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// document returns a random document with an entry a/b/c in the mapping m. It also returns the
// lines that do not belong to this entry.
func document(r *rand.Rand) (text string, others []string) {
	newline := []string{"\n", "\r\n"}[r.IntN(2)]
	var lines []string
	other := func(line string) {
		lines = append(lines, line)
		others = append(others, line)
	}
	noise := []string{
		"%sk%d: 1 # one", "%s\"k%d\":   'it''s'", "%sk%d: {a: [1,  2], 'b': \"}\"}", "%sk%d: 0x10",
		"%sk%d: |\n%[1]s  text: [\n%[1]s\n%[1]s  # none", "%sk%d: >-\n%[1]s  folded\n%[1]s  twice",
		"%sk%d: ö — ü", "%s# comment %d", "%sk%d:\n%[1]s- a\n%[1]s-   b", "%sk%d: &a%[2]d [x]", "%sk%d: yes", "%sk%d:",
		"%sk%d: \"a\n%[1]s   b\"",
	}
	some := func(indent string) {
		for range r.IntN(4) {
			for _, line := range strings.Split(fmt.Sprintf(noise[r.IntN(len(noise))], indent, r.IntN(1<<30)), "\n") {
				other(line)
			}
		}
	}
	indent := strings.Repeat(" ", 1+r.IntN(4))
	some("")
	other("m:" + []string{"", "  # about m"}[r.IntN(2)])
	some(indent)
	key := []string{"a/b/c", `"a/b/c"`, "'a/b/c'"}[r.IntN(3)]
	value := []string{
		" [x]", " [ \"x\",\n%s  'y' ] # why", "\n%s- x\n%[1]s- y", "\n%s  - x # one\n%[1]s  # two\n%[1]s  -   \"y\"", " plain text", ` "quoted"`, "",
	}[r.IntN(7)]
	if strings.Contains(value, "%") {
		value = fmt.Sprintf(value, indent)
	}
	lines = append(lines, strings.Split(indent+key+":"+value, "\n")...)
	some(indent)
	other(indent + "last: 1")
	some("")
	return strings.Join(lines, newline), others
}

// TestApplyInPlaceKeepsEveryOtherLine checks, for random documents, that every line outside
// the changed entry is unchanged, byte for byte.
func TestApplyInPlaceKeepsEveryOtherLine(t *testing.T) {
	changes := map[string]func(m *yaml.Node) []Change{
		"replace": renameAndQuote, "delete": remove("a/b/c"), "insert": insert("new", "v"),
	}
	for seed := range uint64(1000) {
		text, others := document(rand.New(rand.NewPCG(seed, 1)))
		for name, change := range changes {
			root, err := Parse(text)
			if err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, text)
			}
			got, err := Apply(text, root, change(Lookup(root, "m")))
			if err != nil {
				t.Fatalf("seed %d: %s: %v", seed, name, err)
			}
			left := strings.Split(strings.ReplaceAll(got, "\r\n", "\n"), "\n")
			if strings.Count(text, "\r\n") > 0 && strings.Count(got, "\r\n") != len(left)-1 {
				t.Fatalf("seed %d: %s: a line ending changed:\n%q", seed, name, got)
			}
			for _, line := range others {
				for len(left) > 0 && left[0] != line {
					left = left[1:]
				}
				if len(left) == 0 {
					t.Fatalf("seed %d: %s: the line %q is gone:\n%s\nfrom:\n%s", seed, name, line, got, text)
				}
				left = left[1:]
			}
		}
	}
}

// TestInsertAndDeleteRestoreText checks that inserting and then deleting an entry restores the
// text. Package render depends on this for its markers.
func TestInsertAndDeleteRestoreText(t *testing.T) {
	texts := []string{
		"m: {}", "m: { }\n", `{"m":{}}`, `{"m":{"k":1}}`, "m: {\n  k: 1 }", "m:\n  k: 1", "m:\r\n  k: 1\r\n",
		"m:\n  # c\n\n  k: 1 # d\n", "m: &m\n  k: 1\nn: *m\n", "\ufeffm:\n  k: 1", "m:\n        \"k\": {}\n",
	}
	for seed := range uint64(1000) {
		text, _ := document(rand.New(rand.NewPCG(seed, 2)))
		texts = append(texts, text)
	}
	for _, text := range texts {
		edited := text
		for _, change := range []func(*yaml.Node) []Change{insert("new.x/y", "it's"), remove("new.x/y")} {
			root, err := Parse(edited)
			if err != nil {
				t.Fatalf("%v\n%s", err, edited)
			}
			if edited, err = Apply(edited, root, change(Lookup(root, "m"))); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
		}
		if edited != text {
			t.Errorf("%q became %q", text, edited)
		}
	}
}

// FuzzApply checks that for any text, the result of Apply has the content of the changed
// document. While the fuzzing engine minimizes an input, it does not count executions. To
// limit the time for this, use -fuzzminimizetime=10x.
func FuzzApply(f *testing.F) {
	for _, tt := range append(replaceTests, insertAndDeleteTests...) {
		f.Add(strings.ReplaceAll(tt.in, "gone", "a/b/c"))
	}
	for seed := range uint64(20) {
		text, _ := document(rand.New(rand.NewPCG(seed, 3)))
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, in string) {
		for name, change := range map[string]func(m *yaml.Node) []Change{
			"replace": renameAndQuote, "delete": remove("a/b/c"), "insert": insert("a.b/c", `["x","y"]`),
		} {
			root, err := Parse(in)
			if err != nil || root == nil {
				return
			}
			m := Lookup(root, "m")
			if m == nil || find(m, "a/b/c") < 0 || find(m, "a.b/c") >= 0 || count(m, "a/b/c") > 1 {
				return
			}
			got, err := Apply(in, root, change(m))
			if err != nil {
				continue
			}
			again, err := Parse(got)
			if err != nil {
				t.Fatalf("%s: the result does not parse: %v\n%s", name, err, got)
			}
			v := Lookup(again, "m", "a.b/c")
			if has := v != nil && v.Value == `["x","y"]`; has != (name != "delete") {
				t.Fatalf("%s: the change is not there:\n%s", name, got)
			}
			if has := Lookup(again, "m", "a/b/c") != nil; has != (name == "insert") {
				t.Fatalf("%s: the old entry is wrong:\n%s", name, got)
			}
		}
	})
}

func count(m *yaml.Node, key string) int {
	n := 0
	for i := 0; i < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			n++
		}
	}
	return n
}
