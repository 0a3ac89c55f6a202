// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package fielddiff

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/ordered-helm/helm/internal/patch"
)

// Difference is a field in which an object in the cluster differs from what is declared.
type Difference struct {
	Path Path
	// Declared and Live are the values of the field: maps, lists, strings, numbers and booleans.
	// A value is nil if there is no such field.
	Declared, Live any
}

// Compare returns the fields in which the content of an object in the cluster, live, differs from
// what it should be, in the order of their paths. It follows maps and lists down to single values
// if the schema says how items of a list are identified, or if the lists have the same length. An
// item that is only in one of the lists is one difference.
func Compare(live, declared map[string]any, schema patch.Schema) []Difference {
	var c comparison
	c.maps(nil, live, declared, schema)
	return c
}

// comparison collects differences.
type comparison []Difference

func (c *comparison) add(path Path, live, declared any) {
	*c = append(*c, Difference{Path: path, Declared: declared, Live: live})
}

func (c *comparison) maps(path Path, live, declared map[string]any, schema patch.Schema) {
	names := slices.Collect(maps.Keys(declared))
	for name := range live {
		if _, both := declared[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		c.field(path.With(Element{Kind: Field, Name: name}), live[name], declared[name], schema)
	}
}

// field compares a field of what has the schema parent.
func (c *comparison) field(path Path, live, declared any, parent patch.Schema) {
	if equality.Semantic.DeepEqual(live, declared) {
		return
	}
	name := path[len(path)-1].Name
	switch want := declared.(type) {
	case map[string]any:
		if is, isMap := live.(map[string]any); isMap || live == nil && len(want) > 0 {
			c.maps(path, is, want, patch.FieldSchema(parent, name))
			return
		}
	case []any:
		if is, isList := live.([]any); isList || live == nil && len(want) > 0 {
			c.lists(path, is, want, parent)
			return
		}
	}
	c.add(path, live, declared)
}

// lists compares the list in a field of what has the schema parent.
func (c *comparison) lists(path Path, live, declared []any, parent patch.Schema) {
	key, items, isSet := patch.ListKeys(parent, path[len(path)-1].Name)
	switch {
	case key != "" && hasKeys(live, key) && hasKeys(declared, key):
		c.keyedLists(path, live, declared, keyedItems{key, items})
	case isSet && live != nil:
		c.sets(path, live, declared)
	case len(live) == len(declared) && areMaps(live) && areMaps(declared):
		for i := range live {
			c.maps(path.With(Element{Kind: Index, Index: i}), live[i].(map[string]any), declared[i].(map[string]any), nil)
		}
	case live == nil: // not a nil list in an interface
		c.add(path, nil, declared)
	default:
		c.add(path, live, declared)
	}
}

// keyedItems says how the items of a list are identified, and what schema they have.
type keyedItems struct {
	key   string
	items patch.Schema
}

// keyOf returns the value that identifies an item.
func (k keyedItems) keyOf(item any) any { return item.(map[string]any)[k.key] }

func (k keyedItems) find(list []any, key any) map[string]any {
	for _, item := range list {
		if k.keyOf(item) == key {
			return item.(map[string]any)
		}
	}
	return nil
}

func (k keyedItems) keysOf(list []any) []any {
	keys := make([]any, len(list))
	for i, item := range list {
		keys[i] = k.keyOf(item)
	}
	return keys
}

// keyedLists compares lists whose items are identified by a key. If they differ only in their
// order, the difference is that of the keys.
func (c *comparison) keyedLists(path Path, live, declared []any, k keyedItems) {
	before := len(*c)
	for _, item := range declared {
		at := path.With(Element{Kind: Key, Name: k.key, Value: k.keyOf(item)})
		if is := k.find(live, k.keyOf(item)); is != nil {
			c.maps(at, is, item.(map[string]any), k.items)
		} else {
			c.add(at, nil, item)
		}
	}
	for _, item := range live {
		if k.find(declared, k.keyOf(item)) == nil {
			c.add(path.With(Element{Kind: Key, Name: k.key, Value: k.keyOf(item)}), item, nil)
		}
	}
	if len(*c) == before {
		c.add(path, k.keysOf(live), k.keysOf(declared))
	}
}

// sets compares sets of values.
func (c *comparison) sets(path Path, live, declared []any) {
	before := len(*c)
	for _, value := range declared {
		if !contains(live, value) {
			c.add(path.With(Element{Kind: Value, Value: value}), nil, value)
		}
	}
	for _, value := range live {
		if !contains(declared, value) {
			c.add(path.With(Element{Kind: Value, Value: value}), value, nil)
		}
	}
	if len(*c) == before {
		c.add(path, live, declared)
	}
}

func contains(list []any, value any) bool {
	return slices.ContainsFunc(list, func(other any) bool { return equality.Semantic.DeepEqual(other, value) })
}

// hasKeys reports whether all items of a list are maps with different scalar values of the field key.
func hasKeys(list []any, key string) bool {
	seen := make(map[any]bool, len(list))
	for _, item := range list {
		fields, isMap := item.(map[string]any)
		value := fields[key]
		switch value.(type) {
		case string, int64, float64, bool:
		default:
			return false
		}
		if !isMap || seen[value] {
			return false
		}
		seen[value] = true
	}
	return true
}

func areMaps(list []any) bool {
	return !slices.ContainsFunc(list, func(item any) bool { _, isMap := item.(map[string]any); return !isMap })
}

// Set returns content with the field at path set to value, or without it if value is nil. It
// changes the maps and lists of content. If content does not have what the path leads through, it
// is returned as it is.
func Set(content any, path Path, value any) any {
	if len(path) == 0 {
		return value
	}
	first, rest := path[0], path[1:]
	switch parent := content.(type) {
	case map[string]any:
		if first.Kind != Field {
			return content
		}
		if changed := Set(parent[first.Name], rest, value); changed != nil {
			parent[first.Name] = changed
		} else {
			delete(parent, first.Name)
		}
	case []any:
		i := first.indexIn(parent)
		switch {
		case i < 0 && len(rest) == 0 && value != nil:
			return append(parent, value)
		case i < 0:
			return content
		}
		changed := Set(parent[i], rest, value)
		if changed == nil {
			return slices.Delete(parent, i, i+1)
		}
		parent[i] = changed
	case nil:
		if value == nil || first.Kind != Field {
			return nil
		}
		return map[string]any{first.Name: Set(nil, rest, value)}
	}
	return content
}

// ValueAt returns the value of the field at path; nil if there is no such field.
func ValueAt(content any, path Path) any {
	for _, element := range path {
		switch parent := content.(type) {
		case map[string]any:
			if element.Kind != Field {
				return nil
			}
			content = parent[element.Name]
		case []any:
			i := element.indexIn(parent)
			if i < 0 {
				return nil
			}
			content = parent[i]
		default:
			return nil
		}
	}
	return content
}

// indexIn returns the index of the item that the element selects; -1 if there is none.
func (e Element) indexIn(list []any) int {
	switch e.Kind {
	case Key:
		return slices.IndexFunc(list, func(item any) bool {
			fields, _ := item.(map[string]any)
			return fields != nil && fmt.Sprint(fields[e.Name]) == fmt.Sprint(e.Value)
		})
	case Value:
		return slices.IndexFunc(list, func(item any) bool { return equality.Semantic.DeepEqual(item, e.Value) })
	case Index:
		if e.Index < len(list) {
			return e.Index
		}
	case Field:
	}
	return -1
}
