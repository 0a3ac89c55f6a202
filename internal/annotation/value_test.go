// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// TestValueForms checks the forms of values in the reference: a YAML list, a JSON list in a
// string, or a plain string. Items are trimmed, and empty items and duplicates are removed.
// Names are also split at commas, even in list items.
func TestValueForms(t *testing.T) {
	tests := []struct {
		name         string
		value        any
		items, names []string
	}{
		{"no value", nil, nil, nil},
		{"YAML list", []any{"a", "b"}, []string{"a", "b"}, []string{"a", "b"}},
		{"list of strings", []string{"a", "b"}, []string{"a", "b"}, []string{"a", "b"}},
		{"JSON list in a string", `["a","b"]`, []string{"a", "b"}, []string{"a", "b"}},
		{"JSON list with space around it", "\n  [\"a\", \"b\"]\n", []string{"a", "b"}, []string{"a", "b"}},
		{"plain string", "a", []string{"a"}, []string{"a"}},
		{"plain string with a comma", "a, b", []string{"a, b"}, []string{"a", "b"}},
		{"the proposal's list with a comma in its item", []any{"database, queue"}, []string{"database, queue"}, []string{"database", "queue"}},
		{"JSON list with a comma in its item", `["a,b","c"]`, []string{"a,b", "c"}, []string{"a", "b", "c"}},
		{"white space is trimmed", []any{"  a\t", "\nb "}, []string{"a", "b"}, []string{"a", "b"}},
		{"white space around commas is trimmed", " a ,\tb ", []string{"a ,\tb"}, []string{"a", "b"}},
		{"empties are dropped", []any{"", "a", "  ", nil}, []string{"a"}, []string{"a"}},
		{"empties between commas are dropped", ",a,,b,", []string{",a,,b,"}, []string{"a", "b"}},
		{"JSON null is an empty item", `["a",null]`, []string{"a"}, []string{"a"}},
		{"duplicates are merged", []any{"b", "a", " b"}, []string{"b", "a"}, []string{"b", "a"}},
		{"duplicates from a comma are merged", []any{"a,b", "b"}, []string{"a,b", "b"}, []string{"a", "b"}},
		{"empty YAML list", []any{}, nil, nil},
		{"empty JSON list", "[]", nil, nil},
		{"empty string", "", nil, nil},
		{"nothing but white space", " \n", nil, nil},
		{"nothing but commas", ", ,", []string{", ,"}, nil},
		{"an expression keeps its commas and brackets", `{.a[?(@.b=="c,d")].e}==1`, []string{`{.a[?(@.b=="c,d")].e}==1`}, []string{`{.a[?(@.b=="c`, `d")].e}==1`}},
		{"a string that looks like a number", "7", []string{"7"}, []string{"7"}},
		{"a name with characters beyond ASCII", "café,データ", []string{"café,データ"}, []string{"café", "データ"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := ReadItems("k", tt.value); err != nil || !slices.Equal(got, tt.items) {
				t.Errorf("Items = %q, %v, want %q", got, err, tt.items)
			}
			if got, err := ReadNames("k", tt.value); err != nil || !slices.Equal(got, tt.names) {
				t.Errorf("Names = %q, %v, want %q", got, err, tt.names)
			}
		})
	}
}

// TestListErrors checks invalid lists. The message names the key and the value.
func TestListErrors(t *testing.T) {
	tests := []struct {
		name    string
		value   any
		message string
	}{
		{"whole number", 5, "k: 5: must be a list of strings, not a number or boolean"},
		{"whole number of JSON", int64(5), "k: 5: must be a list of strings, not a number or boolean"},
		{"fraction", 0.5, "k: 0.5: must be a list of strings, not a number or boolean"},
		{"boolean", true, "k: true: must be a list of strings, not a number or boolean"},
		{"map", map[string]any{"a": "b"}, `k: {"a":"b"}: must be a list of strings, not a map`},
		{"map with keys of any type", map[any]any{1: "b"}, `k: map[1:b]: must be a list of strings, not a map`},
		{"list of lists", []any{"a", []any{"b"}}, `k: ["a",["b"]]: must be a list of strings, not a list of lists`},
		{"list of maps", []any{map[string]any{"a": 1}}, `k: [{"a":1}]: item {"a":1} must be a string`},
		{"list with a number", []any{"a", 2}, `k: ["a",2]: item 2 must be a string`},
		{"list with a boolean", []any{false}, `k: [false]: item false must be a string`},
		{"JSON list of lists", `[["a"]]`, `k: "[[\"a\"]]": must be a list of strings, not a list of lists`},
		{"JSON list with a number", `[1]`, `k: "[1]": item 1 must be a string`},
		{"JSON list that does not end", `["a"`, `k: "[\"a\"": a value that begins with "[" must be a JSON list`},
		{"JSON list without quotes", `[a, b]`, `k: "[a, b]": a value that begins with "[" must be a JSON list`},
		{"JSON list with more after it", `["a"] b`, `k: "[\"a\"] b": a value that begins with "[" must be a JSON list`},
		{"an expression stays readable", `["a<b"`, `k: "[\"a<b\"": a value that begins`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, read := range []func(string, any) ([]string, error){ReadItems, ReadNames} {
				got, err := read("k", tt.value)
				var invalid *ValueError
				if !errors.As(err, &invalid) || invalid.Key != "k" || !strings.HasPrefix(err.Error(), tt.message) {
					t.Errorf("got %q, %v, want an error that begins with %s", got, err, tt.message)
				}
			}
		})
	}
}

func TestErrorCutsLongValuesShort(t *testing.T) {
	_, err := ReadItems("k", []any{strings.Repeat("ä", 500), 1})
	text := fmt.Sprint(err)
	if len(text) > 300 || !strings.Contains(text, "…") || !utf8.ValidString(text) {
		t.Errorf("got %q", text)
	}
}

// TestLayerName checks the rules for names of layers: no white space, commas or control
// characters, and at most 63 characters.
func TestLayerName(t *testing.T) {
	tests := []struct {
		name   string
		value  any
		want   string
		reason string
	}{
		{"absent", nil, "", ""},
		{"empty is as if absent", "", "", ""},
		{"white space is as if absent", " \t", "", ""},
		{"plain", "database", "database", ""},
		{"trimmed", "  database\n", "database", ""},
		{"dots, slashes, colons and capitals", "A.b/c:d-e_f", "A.b/c:d-e_f", ""},
		{"63 characters", strings.Repeat("x", 63), strings.Repeat("x", 63), ""},
		{"63 characters of several bytes", strings.Repeat("ö", 63), strings.Repeat("ö", 63), ""},
		{"64 characters", strings.Repeat("x", 64), "", "longer than 63 characters"},
		{"64 characters of several bytes", strings.Repeat("ö", 64), "", "longer than 63 characters"},
		{"space", "a b", "", "whitespace"},
		{"tab", "a\tb", "", "whitespace"},
		{"newline", "a\nb", "", "whitespace"},
		{"no-break space", "a\u00a0b", "", "whitespace"},
		{"control character", "a\x07b", "", "control character"},
		{"comma", "a,b", "", "one layer"},
		{"JSON list", `["a"]`, "", "one layer"},
		{"YAML list", []any{"a"}, "", "not a list"},
		{"map", map[string]any{"a": "b"}, "", "not a map"},
		{"number", 5, "", "a number or boolean"},
		{"boolean", true, "", "a number or boolean"},
	}
	for _, key := range []string{Layer, ResourceGroup} {
		for _, tt := range tests {
			t.Run(key+"/"+tt.name, func(t *testing.T) {
				got, err := ReadResourceSequencing(map[string]any{key: tt.value})
				if got.Layer != tt.want || (err != nil) != (tt.reason != "") {
					t.Fatalf("got %q, %v, want %q, %q", got.Layer, err, tt.want, tt.reason)
				}
				var invalid *ValueError
				if err != nil && (!errors.As(err, &invalid) || invalid.Key != key || fmt.Sprint(invalid.Value) != fmt.Sprint(tt.value) || !strings.Contains(err.Error(), tt.reason)) {
					t.Errorf("the error %v does not name %s, %v and %q", err, key, tt.value, tt.reason)
				}
			})
		}
	}
}

// TestNamesOfLayersFollowTheirRules checks that lists of layers follow the same rules.
func TestNamesOfLayersFollowTheirRules(t *testing.T) {
	for name, value := range map[string]any{
		"too long":          []any{"a", strings.Repeat("x", 64)},
		"white space":       "a, b c",
		"control character": []any{"a\x01"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadResourceSequencing(map[string]any{DependsOnLayers: value})
			var invalid *ValueError
			if !errors.As(err, &invalid) || invalid.Key != DependsOnLayers {
				t.Errorf("got %v", err)
			}
		})
	}
	if r, err := ReadResourceSequencing(map[string]any{DependsOnLayers: strings.Repeat("x", 63)}); err != nil || len(r.DependsOn) != 1 {
		t.Errorf("63 characters: %v, %v", r.DependsOn, err)
	}
}

func TestDuration(t *testing.T) {
	tests := []struct {
		name   string
		value  any
		want   time.Duration
		reason string
	}{
		{"no value", nil, 0, ""},
		{"empty", "", 0, ""},
		{"white space", "  ", 0, ""},
		{"seconds", "20s", 20 * time.Second, ""},
		{"with white space around it", " 1m30s\n", 90 * time.Second, ""},
		{"a fraction", "1.5h", 90 * time.Minute, ""},
		{"milliseconds", "1ms", time.Millisecond, ""},
		{"nothing", "0s", 0, "greater than 0"},
		{"nothing without a unit", "0", 0, "greater than 0"},
		{"negative", "-5s", 0, "greater than 0"},
		{"without a unit", "30", 0, `such as "30s"`},
		{"an unknown unit", "1d", 0, `such as "30s"`},
		{"no number", "soon", 0, `such as "30s"`},
		{"more than fits", "9999999999h", 0, `such as "30s"`},
		{"number", 30, 0, "quoted number with a unit"},
		{"boolean", true, 0, "quoted number with a unit"},
		{"list", []any{"30s"}, 0, "quoted number with a unit"},
		{"map", map[string]any{}, 0, "quoted number with a unit"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := ReadResourceSequencing(map[string]any{ReadinessTimeout: tt.value})
			if r.Timeout != tt.want || (err != nil) != (tt.reason != "") {
				t.Fatalf("got %s, %v, want %s, %q", r.Timeout, err, tt.want, tt.reason)
			}
			var invalid *ValueError
			if err != nil && (!errors.As(err, &invalid) || invalid.Key != ReadinessTimeout || !strings.Contains(err.Error(), tt.reason)) {
				t.Errorf("the error %v does not say %q", err, tt.reason)
			}
		})
	}
}

var seeds = []string{
	"", " ", "a", "a,b", ",", "[]", `["a"]`, `["a, b","c"]`, `["a",null]`, `[["a"]]`, `["a"`, "[a]", "[1]", `["é"]`,
	"succeeded==1", `{.conditions[?(@.type=="Ready")].status}==True`, "10s", "-1s", "1d", "\x00", "\xff", strings.Repeat("x", 64),
}

func addSeeds(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
}

// normal returns an error if an item of a list is not trimmed or occurs twice.
func normal(items []string) error {
	for i, item := range items {
		switch {
		case item == "" || strings.TrimSpace(item) != item:
			return fmt.Errorf("item %q is not trimmed", item)
		case slices.Contains(items[:i], item):
			return fmt.Errorf("item %q is there twice", item)
		}
	}
	return nil
}

// FuzzItems checks that items are trimmed and unique, and that encoding the list as an
// annotation and reading it again gives the same items.
func FuzzItems(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, value string) {
		items, err := ReadItems("k", value)
		if err != nil {
			return
		}
		if err := normal(items); err != nil {
			t.Fatal(err)
		}
		text, err := JSONList(items)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ReadItems("k", text)
		if err != nil || utf8.ValidString(value) && !slices.Equal(again, items) {
			t.Fatalf("%q became %q, %v", items, again, err)
		}
	})
}

func FuzzNames(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, value string) {
		names, err := ReadNames("k", value)
		if err != nil {
			return
		}
		if err := normal(names); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(strings.Join(names, ""), ",") {
			t.Fatalf("a comma is left in %q", names)
		}
		if again, err := ReadNames("k", names); err != nil || !slices.Equal(again, names) {
			t.Fatalf("%q became %q, %v", names, again, err)
		}
	})
}

func FuzzDuration(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, value string) {
		d, err := ReadDuration("k", value)
		if err == nil && d <= 0 && strings.TrimSpace(value) != "" {
			t.Fatalf("%q is %s", value, d)
		}
	})
}
