// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package luasandbox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	lua "github.com/yuin/gopher-lua"

	"github.com/ordered-helm/helm/internal/luasandbox/lualib"
)

// Value is a Go value as scripts see it: nil, a boolean, a number, a string, a map with strings
// as keys, or a list. Scripts see maps and lists as tables, which are filled when a script first
// looks at them, with sorted keys. What a script changes is not changed in the Go value.
//
// In maps, nil is as if the key were missing; in lists, it is json.null.
type Value struct {
	state *State
	lua   lua.LValue
	view  *view
}

// view converts the maps and lists in a Value. It is reachable from its tables only, so that its
// memory is freed together with them.
type view struct {
	state *State
	// metatable belongs to all tables that are not filled.
	metatable *lua.LTable
	tables    map[*lua.LTable]*source
}

// source describes what a table was made from.
type source struct {
	// original is the map or list, and mapping or list contains its elements.
	original any
	mapping  map[string]any
	list     []any
	isList   bool
	// filled is set once a script has looked at the table.
	filled bool
}

// NewValue converts a Go value. The caller must not change the value while scripts can use it.
func (s *State) NewValue(value any) (*Value, error) {
	v := &view{state: s, tables: map[*lua.LTable]*source{}}
	v.metatable = s.lua.NewTable()
	index := s.lua.NewFunction(func(l *lua.LState) int {
		table := l.CheckTable(1)
		v.Fill(table)
		l.Push(table.RawGet(l.Get(2)))
		return 1
	})
	newIndex := s.lua.NewFunction(func(l *lua.LState) int {
		table := l.CheckTable(1)
		v.Fill(table)
		table.RawSet(l.Get(2), l.Get(3))
		return 0
	})
	length := s.lua.NewFunction(func(l *lua.LState) int {
		table := l.CheckTable(1)
		v.Fill(table)
		l.Push(lua.LNumber(table.Len()))
		return 1
	})
	v.metatable.RawSetString("__index", index)
	v.metatable.RawSetString("__newindex", newIndex)
	v.metatable.RawSetString("__len", length)
	lualib.SetFiller(v.metatable, v)
	converted, err := v.toLua(value)
	if err != nil {
		return nil, err
	}
	return &Value{state: s, lua: converted, view: v}, nil
}

// viewOf returns the view that will fill a table, or nil if the table is filled or was not made
// from a Go value.
func viewOf(table *lua.LTable) *view {
	v, _ := lualib.FillerOf(table).(*view)
	return v
}

// toLua converts a Go value. Maps and lists become tables that are not filled.
func (v *view) toLua(value any) (lua.LValue, error) {
	if src := newSource(value); src != nil {
		table := v.state.lua.CreateTable(len(src.list), len(src.mapping))
		table.Metatable = v.metatable
		v.tables[table] = src
		return table, nil
	}
	return v.scalarToLua(value)
}

// scalarToLua converts a Go value that is neither a map nor a list.
func (v *view) scalarToLua(value any) (lua.LValue, error) {
	function, isFunction := value.(*Function)
	switch {
	case !isFunction:
		return lualib.Scalar(value)
	case function.state != v.state:
		return nil, errors.New("the function belongs to another Lua state")
	}
	return function.lua, nil
}

// isCollection reports whether a Go value is a map with strings as keys, or a list.
func isCollection(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return true
	case nil, bool, string, int, int64, float64:
		return false
	}
	t := reflect.TypeOf(value)
	return t.Kind() == reflect.Slice || t.Kind() == reflect.Map && t.Key().Kind() == reflect.String
}

// newSource returns the source for a map or list, or nil for other values.
func newSource(value any) *source {
	if !isCollection(value) {
		return nil
	}
	src := &source{original: value}
	switch value := value.(type) {
	case map[string]any:
		src.mapping = value
		return src
	case []any:
		src.list, src.isList = value, true
		return src
	}
	if r := reflect.ValueOf(value); r.Kind() == reflect.Map {
		src.mapping = make(map[string]any, r.Len())
		for entries := r.MapRange(); entries.Next(); {
			src.mapping[entries.Key().String()] = entries.Value().Interface()
		}
	} else {
		src.isList = true
		src.list = make([]any, r.Len())
		for i := range src.list {
			src.list[i] = r.Index(i).Interface()
		}
	}
	return src
}

// Fill fills a table, unless it is filled already.
func (v *view) Fill(table *lua.LTable) {
	src := v.tables[table]
	if src == nil || src.filled {
		return
	}
	src.filled = true
	table.Metatable = lua.LNil
	v.state.must(v.state.guard.charge(100 * (len(src.list) + len(src.mapping))))
	for i, element := range src.list {
		converted, err := v.toLua(element)
		v.state.must(err)
		if converted == lua.LNil {
			converted = v.state.libraries.Null
		}
		table.RawSetInt(i+1, converted)
	}
	for _, key := range slices.Sorted(maps.Keys(src.mapping)) {
		converted, err := v.toLua(src.mapping[key])
		v.state.must(err)
		table.RawSetString(key, converted)
	}
	if src.isList && len(src.list) == 0 {
		table.Metatable = v.state.libraries.EmptyList
	}
}

// Element is an element of a list that scripts could change.
type Element struct {
	// Index is the index that the element had in the original list, or -1 if scripts have added
	// it.
	Index int
	// Changed reports whether scripts have changed or added the element.
	Changed bool
	// Go is the element. If it is not changed, this is the original.
	Go any
}

// Elements returns the elements of a list. The cost is that of the elements that scripts have
// looked at. An error does not name the owner of the script.
func (v *Value) Elements(ctx context.Context) ([]Element, error) {
	table, isTable := v.lua.(*lua.LTable)
	if !isTable {
		return nil, errors.New("the value is not a list")
	}
	src := v.view.tables[table]
	if src == nil || !src.isList {
		return nil, errors.New("the value is not a list")
	}
	elements := make([]Element, 0, len(src.list))
	if !src.filled {
		for i, element := range src.list {
			elements = append(elements, Element{Index: i, Go: element})
		}
		return elements, nil
	}
	c, release, err := v.newConverter(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	indexes := map[any]int{}
	for i, element := range src.list {
		if identity := identityOf(element); identity != nil {
			indexes[identity] = i
		}
	}
	items, err := c.listItems(table)
	if err != nil {
		return nil, err
	}
	used := map[int]bool{}
	for i, item := range items {
		element := Element{Index: -1, Changed: true}
		if itemTable, isTable := item.(*lua.LTable); isTable && v.view.tables[itemTable] != nil {
			index, found := indexes[identityOf(v.view.tables[itemTable].original)]
			if found && !used[index] {
				used[index] = true
				element.Index, element.Changed = index, !c.unchanged(itemTable)
			}
		}
		if !element.Changed {
			element.Go = src.list[element.Index]
		} else if element.Go, err = c.toGo(item); err != nil {
			return nil, fmt.Errorf("element %d: %w", i+1, err)
		}
		elements = append(elements, element)
	}
	return elements, nil
}

// Go returns the value with the changes of the scripts, and whether there are any. Maps and
// lists without changes are the originals. An error does not name the owner of the script.
func (v *Value) Go(ctx context.Context) (value any, changed bool, err error) {
	c, release, err := v.newConverter(ctx)
	if err != nil {
		return nil, false, err
	}
	defer release()
	if table, isTable := v.lua.(*lua.LTable); isTable {
		if c.unchanged(table) {
			return v.view.tables[table].original, false, nil
		}
		changed = true
	}
	value, err = c.toGo(v.lua)
	return value, changed, err
}

// newConverter returns a converter with the limits of a call. The caller must call release.
func (v *Value) newConverter(ctx context.Context) (c *converter, release func(), err error) {
	unlock, err := v.state.acquire()
	if err != nil {
		return nil, nil, err
	}
	g := newGuard(ctx, v.state.options.Limits, v.state.options.Group.retained(v.state))
	release = func() {
		g.cancel(context.Canceled)
		unlock()
	}
	c = v.state.newConverter(g)
	c.view = v.view
	return c, release, nil
}

// identityOf returns what distinguishes a map or list from others, or nil for other values and
// for an empty list.
func identityOf(value any) any {
	type identity struct {
		address uintptr
		length  int
	}
	switch r := reflect.ValueOf(value); r.Kind() {
	case reflect.Map:
		return identity{r.Pointer(), 0}
	case reflect.Slice:
		if r.Len() > 0 {
			return identity{r.Pointer(), r.Len()}
		}
	}
	return nil
}
