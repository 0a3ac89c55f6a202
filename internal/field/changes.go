// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package field

import (
	"reflect"
	"strconv"
	"strings"
)

// Change is the value of a field before and after a change. A value is nil if the field does not exist.
type Change struct {
	From any `json:"from,omitempty"`
	To   any `json:"to,omitempty"`
}

// Changes returns the differences between two values that were decoded from JSON or YAML, by the paths of the fields,
// as in "spec.containers[app].image". Elements of lists have their number in the path, or their name if both values have
// an element with the same name there. If only the length of a list differs, the list as a whole is the difference. The
// path of the values themselves is empty.
func Changes(before, after any) map[string]Change {
	changes := map[string]Change{}
	addChanges(changes, "", before, after)
	return changes
}

func addChanges(changes map[string]Change, path string, before, after any) {
	if b, ok := before.(map[string]any); ok {
		if a, ok := after.(map[string]any); ok {
			for key := range b {
				addChanges(changes, Join(path, key), b[key], a[key])
			}
			for key := range a {
				if _, found := b[key]; !found {
					addChanges(changes, Join(path, key), nil, a[key])
				}
			}
			return
		}
	}
	if b, ok := before.([]any); ok {
		if a, ok := after.([]any); ok && len(a) == len(b) {
			for i := range a {
				addChanges(changes, path+"["+elementKey(i, b[i], a[i])+"]", b[i], a[i])
			}
			return
		}
	}
	if !reflect.DeepEqual(before, after) {
		changes[path] = Change{before, after}
	}
}

// elementKey returns what identifies the elements i of two lists in a path.
func elementKey(i int, before, after any) string {
	b, _ := before.(map[string]any)
	a, _ := after.(map[string]any)
	if name, _ := b["name"].(string); name != "" && name == a["name"] {
		return name
	}
	return strconv.Itoa(i)
}

// Join returns the path of the field with the given key in the mapping at a path. A key that contains characters of
// paths is quoted.
func Join(path, key string) string {
	if strings.ContainsAny(key, "./[]") {
		return path + "[" + strconv.Quote(key) + "]"
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// Append returns the path of a field whose path begins at the value at another path.
func Append(path, below string) string {
	switch {
	case path == "" || below == "":
		return path + below
	case below[0] == '[':
		return path + below
	}
	return path + "." + below
}
