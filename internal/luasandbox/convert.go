// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package luasandbox

import (
	"errors"
	"fmt"
	"math"

	lua "github.com/yuin/gopher-lua"

	"github.com/ordered-helm/helm/internal/luasandbox/lualib"
)

// converter converts values of scripts to Go values.
type converter struct {
	state *State
	// view is the view of the value that is read back, or nil.
	view *view
	// charge is called before memory is allocated.
	charge func(size int) error
	// budget is the number of bytes that the strings and tables can have.
	budget int
	// encoded is set if the value is to be encoded: functions are errors, and the parts that scripts
	// have not looked at need budget too.
	encoded bool
	depth   int
}

// toGo converts a value. Tables become map[string]any or []any: numbers from 1 on as keys make
// a list, and an empty table is a map unless it was a list before. Numbers become int64 if they
// are integers, and float64 otherwise.
func (c *converter) toGo(value lua.LValue) (any, error) {
	switch value := value.(type) {
	case *lua.LNilType:
		return nil, nil
	case lua.LBool:
		return bool(value), nil
	case lua.LNumber:
		return goNumber(value), nil
	case lua.LString:
		return string(value), c.spend(len(value))
	case *lua.LFunction:
		if c.encoded {
			return nil, errors.New("a function cannot be converted")
		}
		if err := errors.Join(c.charge(functionBytes), c.spend(functionBytes)); err != nil {
			return nil, err
		}
		return c.state.newFunction(value), nil
	case *lua.LTable:
		return c.tableToGo(value)
	}
	if value == c.state.libraries.Null {
		return nil, nil
	}
	return nil, fmt.Errorf("a %s cannot be converted", value.Type())
}

// goNumber returns a number as int64 if it is an integer that a float64 represents exactly.
func goNumber(number lua.LNumber) any {
	if f := float64(number); f == math.Trunc(f) && math.Abs(f) <= 1<<53 {
		return int64(f)
	}
	return float64(number)
}

// spend counts the size of a string or table.
func (c *converter) spend(size int) error {
	if c.budget -= size; c.budget < 0 {
		return errors.New("the value is too large")
	}
	return nil
}

func (c *converter) tableToGo(table *lua.LTable) (any, error) {
	if c.depth == lualib.MaxDepth {
		return nil, fmt.Errorf("tables are nested more than %d levels deep, or a table contains itself", lualib.MaxDepth)
	}
	c.depth++
	defer func() { c.depth-- }()
	if err := errors.Join(c.charge(100), c.spend(16)); err != nil {
		return nil, err
	}
	if v := viewOf(table); v != nil && !c.encoded {
		return v.tables[table].original, nil
	}
	lualib.FillTable(table)
	var src *source
	if c.view != nil {
		if src = c.view.tables[table]; c.unchanged(table) {
			return src.original, nil
		}
	}
	if table.Len() > 0 || table.Metatable == c.state.libraries.EmptyList && isEmpty(table) || src != nil && src.isList && isEmpty(table) {
		return c.listToGo(table, src)
	}
	return c.mapToGo(table, src)
}

func isEmpty(table *lua.LTable) bool {
	key, _ := table.Next(lua.LNil)
	return key == lua.LNil
}

// listItems returns the elements of a list. A table with other keys is an error.
func (c *converter) listItems(table *lua.LTable) ([]lua.LValue, error) {
	items := make([]lua.LValue, 0, table.Len())
	for key, item := table.Next(lua.LNil); key != lua.LNil; key, item = table.Next(key) {
		if key != lua.LNumber(len(items)+1) {
			return nil, fmt.Errorf("a table is neither a list nor a map: it has %d list items and the key %s", len(items), describeKey(key))
		}
		items = append(items, item)
	}
	return items, nil
}

// describeKey returns a key of a table for an error message.
func describeKey(key lua.LValue) string {
	if text, isString := key.(lua.LString); isString {
		return fmt.Sprintf("%.100q", string(text))
	}
	return lualib.Display(key)
}

func (c *converter) listToGo(table *lua.LTable, src *source) (any, error) {
	if err := errors.Join(c.charge(32*table.Len()), c.spend(8*table.Len())); err != nil {
		return nil, err
	}
	items, err := c.listItems(table)
	if err != nil {
		return nil, err
	}
	list := make([]any, len(items))
	for i, item := range items {
		if src != nil && i < len(src.list) && c.sameScalar(item, src.list[i]) {
			list[i] = src.list[i]
		} else if list[i], err = c.toGo(item); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (c *converter) mapToGo(table *lua.LTable, src *source) (any, error) {
	mapping := map[string]any{}
	for key, item := table.Next(lua.LNil); key != lua.LNil; key, item = table.Next(key) {
		name, isString := key.(lua.LString)
		if !isString {
			return nil, fmt.Errorf("a table is neither a list nor a map: it has the key %s", describeKey(key))
		}
		if err := errors.Join(c.charge(100), c.spend(16+len(name))); err != nil {
			return nil, err
		}
		if src != nil && c.sameScalar(item, src.mapping[string(name)]) {
			mapping[string(name)] = src.mapping[string(name)]
			continue
		}
		converted, err := c.toGo(item)
		if err != nil {
			return nil, err
		}
		mapping[string(name)] = converted
	}
	if src != nil {
		for name, value := range src.mapping {
			if _, exists := mapping[name]; value == nil && !exists {
				mapping[name] = nil
			}
		}
	}
	return mapping, nil
}

// sameScalar reports whether item is the unchanged scalar original.
func (c *converter) sameScalar(item lua.LValue, original any) bool {
	if _, isTable := item.(*lua.LTable); isTable || c.view == nil || original == nil || isCollection(original) {
		return false
	}
	converted, err := c.view.scalarToLua(original)
	return err == nil && converted == item
}

// unchanged reports whether a table, and all tables in it, are as the Go value was.
func (c *converter) unchanged(table *lua.LTable) bool {
	if c.view == nil {
		return false
	}
	src := c.view.tables[table]
	if src == nil {
		return false
	}
	if !src.filled {
		return true
	}
	c.depth++
	defer func() { c.depth-- }()
	if c.depth > 2*lualib.MaxDepth {
		return false
	}
	count, expected := 0, len(src.list)
	for _, value := range src.mapping {
		if value != nil {
			expected++
		}
	}
	for key, item := table.Next(lua.LNil); key != lua.LNil; key, item = table.Next(key) {
		count++
		original, exists := src.at(key)
		if !exists || !c.unchangedItem(item, original) {
			return false
		}
	}
	return count == expected
}

// at returns the element that a key had in the Go value.
func (s *source) at(key lua.LValue) (value any, exists bool) {
	switch key := key.(type) {
	case lua.LString:
		value, exists = s.mapping[string(key)]
	case lua.LNumber:
		if index := int(key) - 1; s.isList && index >= 0 && index < len(s.list) {
			return s.list[index], true
		}
	}
	return value, exists
}

func (c *converter) unchangedItem(item lua.LValue, original any) bool {
	table, isTable := item.(*lua.LTable)
	if !isTable {
		return c.sameScalar(item, original) || item == c.state.libraries.Null && original == nil
	}
	src := c.view.tables[table]
	if src == nil || !isCollection(original) {
		return false
	}
	identity := identityOf(original)
	return identity == identityOf(src.original) && (identity != nil || src.isList) && c.unchanged(table)
}

// ToGo converts a value for a library function that encodes it. budget is the maximum size of its
// strings and tables in bytes.
func (s host) ToGo(value lua.LValue, budget int) (any, error) {
	c := &converter{state: s.State, charge: s.guard.charge, encoded: true, budget: budget}
	return c.toGo(value)
}

// valueShare is the share of Limits.Memory that the strings and tables of a value for Go can need.
// What Go receives can be kept after the call, and as Go values it needs several times as much.
const valueShare = 8

// newConverter returns a converter for the values that Go receives in a call.
func (s *State) newConverter(g *guard) *converter {
	c := &converter{state: s, charge: g.charge, budget: math.MaxInt}
	if memory := s.options.Limits.Memory; memory > 0 {
		c.budget = int(memory / valueShare)
	}
	return c
}
