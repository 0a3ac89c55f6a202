// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package field

import (
	"reflect"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestChanges checks the paths and values of differences.
func TestChanges(t *testing.T) {
	for _, tt := range []struct {
		name, before, after string
		want                map[string]Change
	}{
		{"equal", "{a: 1, b: [1, 2]}", "{b: [1, 2], a: 1}", map[string]Change{}},
		{"a value", "{a: {b: 1}}", "{a: {b: 2}}", map[string]Change{"a.b": {1.0, 2.0}}},
		{"another type", "{a: {b: 1}}", "{a: x}", map[string]Change{"a": {map[string]any{"b": 1.0}, "x"}}},
		{"added and removed", "{a: 1}", "{b: 1}", map[string]Change{"a": {From: 1.0}, "b": {To: 1.0}}},
		{"a named element", "[{name: a, v: 1}]", "[{name: a, v: 2}]", map[string]Change{"[a].v": {1.0, 2.0}}},
		{"an element with another name", "[{name: a}]", "[{name: b}]", map[string]Change{"[0].name": {"a", "b"}}},
		{"another length", "{l: [1]}", "{l: [1, 2]}", map[string]Change{"l": {[]any{1.0}, []any{1.0, 2.0}}}},
		{"a key with a dot", `{a: {x.y/z: 1}}`, `{a: {x.y/z: 2}}`, map[string]Change{`a["x.y/z"]`: {1.0, 2.0}}},
		{"the whole", "1", "2", map[string]Change{"": {1.0, 2.0}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var before, after any
			for text, value := range map[string]*any{tt.before: &before, tt.after: &after} {
				if err := yaml.Unmarshal([]byte(text), value); err != nil {
					t.Fatal(err)
				}
			}
			if got := Changes(before, after); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// TestAppend checks how paths are put together.
func TestAppend(t *testing.T) {
	for _, tt := range [][3]string{{"", "", ""}, {"a", "", "a"}, {"", "b", "b"}, {"a", "b.c", "a.b.c"}, {"a", "[0]", "a[0]"}} {
		if got := Append(tt[0], tt[1]); got != tt[2] {
			t.Errorf("Append(%q, %q) is %q, want %q", tt[0], tt[1], got, tt[2])
		}
	}
}
