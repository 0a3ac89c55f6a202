// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// TestExpressionsThatTakeTooLong checks that expensive expressions are rejected when
// they are parsed.
func TestExpressionsThatTakeTooLong(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"longer than any", "{.a} == " + strings.Repeat("x", 4089), "has 4097 bytes; the maximum is 4096"},
		{"as long as one may be", "{.a} == " + strings.Repeat("x", 4088), ""},
		{"everything below", "{..phase} == Done", ""},
		{"everything below, twice", "{..a..b} == 1", `has ".." 2 times; the maximum is 1`},
		{"everything below, in a filter too", `{..a[?(@..b == 1)].c} == 1`, `has ".." 2 times; the maximum is 1`},
		{"union", "{.a['b','c','d']} == 1", ""},
		{"unions of a thousand", "{" + strings.Repeat("['a','b','c','d','e','f','g','h','i','j']", 3) + "} == 1", ""},
		{"unions of more", "{" + strings.Repeat("['a','b']", 10) + "} == 1", "its unions expand to more than 1000 paths"},
		{"unions of very many", "{" + strings.Repeat("['a','a']", 200) + "} == 1", "its unions expand to more than 1000 paths"},
		{"unions in a filter", "{.l[?(@" + strings.Repeat("['a','a']", 10) + " == 1)]} == 1", "its unions expand to more than 1000 paths"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseExpression(tt.text)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestExpressionsAreLimitedInNumber(t *testing.T) {
	some := func(n int) []any {
		var list []any
		for i := range n {
			list = append(list, fmt.Sprintf("{.a} == %d", i))
		}
		return list
	}
	r, err := ReadResourceSequencing(map[string]any{ReadinessSuccess: some(100)})
	if err != nil || len(r.Success) != 100 {
		t.Errorf("got %d, %v", len(r.Success), err)
	}
	_, err = ReadResourceSequencing(map[string]any{ReadinessSuccess: some(101)})
	if want := "has 101 expressions; the maximum is 100"; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestAnExpressionThatIsTooLongIsNotQuotedWhole checks that the error remains readable.
func TestAnExpressionThatIsTooLongIsNotQuotedWhole(t *testing.T) {
	_, err := ReadResourceSequencing(map[string]any{ReadinessFailure: strings.Repeat("x", 1<<20)})
	if err == nil || len(err.Error()) > 1000 {
		t.Errorf("got %.2000v", err)
	}
}

// TestValueOfListsOfAliases checks that only as many items of nested lists are read as the
// error needs, however often an alias repeats them.
func TestValueOfListsOfAliases(t *testing.T) {
	const n = 300
	var root yaml.Node
	text := "a: &a [" + strings.Repeat("x,", n) + "]\nb: &b [" + strings.Repeat("*a,", n) + "]\nc: [" + strings.Repeat("*b,", n) + "]\n"
	if err := yaml.Unmarshal([]byte(text), &root); err != nil {
		t.Fatal(err)
	}
	v := DecodeYAML(root.Content[0].Content[5])
	if got := count(v); got > n+1000 {
		t.Errorf("%d items were read", got)
	}
	if _, err := ReadItems("k", v); err == nil || !strings.Contains(err.Error(), "must be a list of strings, not a list of lists") {
		t.Errorf("got %v", err)
	}
}

func count(v any) int {
	list, _ := v.([]any)
	total := len(list)
	for _, item := range list {
		total += count(item)
	}
	return total
}

// FuzzExpressionOfStatus evaluates any expression on any status. It checks that the
// evaluation terminates, that the result is always the same, and that an expression is true
// only if the path has a value.
func FuzzExpressionOfStatus(f *testing.F) {
	for _, seed := range [][2]string{
		{`{..a} == 1`, `{"a":1,"b":[{"a":1},{"a":[[]]}]}`},
		{`{.c[?(@.type=="Ready")].status} == True`, `{"c":[{"type":"Ready","status":"True"},{"type":1},null,"x",[]]}`},
		{`{.a['b','c'][0,1]} != x`, `{"a":{"b":["x",null],"c":[{}]}}`},
		{`{.a[-3:9:2].*} < 1e400`, `{"a":[1e308,-1,"",true,{"b":null}]}`},
		{`{.a[?(@.b > @.c)]} >= 0`, `{"a":[{"b":1,"c":"1"},{"b":[],"c":{}}]}`},
		{`{.l[?(@['a','b'])]['a','b']} == 1`, `{"l":[{"a":1},{"b":1}]}`},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, text, status string) {
		e, err := ParseExpression(text)
		var object any
		if err != nil || json.Unmarshal([]byte(status), &object) != nil {
			return
		}
		holds := e.Holds(object)
		if holds != e.Holds(object) {
			t.Fatalf("%q is true and false of %s", text, status)
		}
		if found := e.ActualValues(object); holds && found == "" {
			t.Fatalf("%q holds of %s, where it finds nothing", text, status)
		}
	})
}

// FuzzValue reads the nodes of any document. It checks that every error has a reason, and
// that every accepted value can be written as a list that reads the same.
func FuzzValue(f *testing.F) {
	for _, seed := range []string{
		"[a, b, 'c,d']", "a: &a [x]\nb: [*a, *a]", "&a [*a]", "on", "0x10", "{a: {b: c}}", "!!str 1", "[[[[a]]]]", "- |\n  x\n- ~", "{<<: {a: b}}", "!!binary eA==", "2001-01-01",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var doc yaml.Node
		if yaml.Unmarshal([]byte(text), &doc) != nil || doc.Kind != yaml.DocumentNode {
			return
		}
		n := doc.Content[0]
		list, change, err := CanonicalValue(DependsOnLayers, n)
		var invalid *ValueError
		if err != nil {
			if !errors.As(err, &invalid) || invalid.Key != DependsOnLayers || invalid.Reason == "" {
				t.Fatalf("got %v", err)
			}
			return
		}
		if !change {
			return
		}
		want, err := ReadItems(DependsOnLayers, DecodeYAML(n))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ReadItems(DependsOnLayers, list); err != nil || !slices.Equal(got, want) {
			t.Fatalf("%q became %q, which reads as %q, %v, and not as %q", text, list, got, err, want)
		}
	})
}
