// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lualib

import (
	"sort"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// openTable registers the library table.
func (s *Library) openTable() {
	s.SetFunctions(s.Table("table"), map[string]lua.LGFunction{
		"concat": s.tableConcat,
		"getn": func(l *lua.LState) int {
			l.Push(lua.LNumber(checkTable(l).Len()))
			return 1
		},
		"insert": s.tableInsert,
		"maxn": func(l *lua.LState) int {
			l.Push(lua.LNumber(checkTable(l).MaxN()))
			return 1
		},
		"remove": tableRemove,
		"sort":   s.tableSort,
	})
}

func (s *Library) tableConcat(l *lua.LState) int {
	table := checkTable(l)
	separator := l.OptString(2, "")
	first, last := l.OptInt(3, 1), l.OptInt(4, table.Len())
	var b strings.Builder
	for i := first; i <= last; i++ {
		value := table.RawGet(lua.LNumber(i))
		if !lua.LVCanConvToString(value) {
			l.RaiseError("invalid value (%s) at index %d in table for 'concat'", value.Type(), i)
		}
		text := Display(value)
		if i < last {
			text += separator
		}
		s.checkGrowth(b.Len(), len(text))
		b.WriteString(text)
	}
	l.Push(lua.LString(b.String()))
	return 1
}

func (s *Library) tableInsert(l *lua.LState) int {
	table := checkTable(l)
	length := table.Len()
	position, value := length+1, l.Get(2)
	switch l.GetTop() {
	case 2:
	case 3:
		position, value = l.CheckInt(2), l.Get(3)
	default:
		l.RaiseError("wrong number of arguments to 'insert'")
	}
	checkKey(l, lua.LNumber(max(position, length+1)))
	if position < 1 || position > length {
		table.RawSet(lua.LNumber(position), value)
		return 0
	}
	table.Insert(position, value)
	return 0
}

func tableRemove(l *lua.LState) int {
	table := checkTable(l)
	length := table.Len()
	position := l.OptInt(2, length)
	if position < 1 || position > length {
		l.Push(lua.LNil)
		return 1
	}
	l.Push(table.Remove(position))
	return 1
}

// tableSort sorts a copy of a list, so that a function for comparisons can do nothing but call
// for an order that does not exist.
func (s *Library) tableSort(l *lua.LState) int {
	table := checkTable(l)
	var function *lua.LFunction
	if l.GetTop() > 1 {
		function = l.CheckFunction(2)
	}
	length := table.Len()
	s.host.Must(s.host.Charge(16 * length))
	items := make([]lua.LValue, length)
	for i := range items {
		items[i] = table.RawGetInt(i + 1)
	}
	sort.Slice(items, func(i, j int) bool {
		if function == nil {
			s.host.Must(s.host.Check())
			return l.LessThan(items[i], items[j])
		}
		l.Push(function)
		l.Push(items[i])
		l.Push(items[j])
		l.Call(2, 1)
		less := lua.LVAsBool(l.Get(-1))
		l.Pop(1)
		return less
	})
	for i, item := range items {
		table.RawSetInt(i+1, item)
	}
	return 0
}
