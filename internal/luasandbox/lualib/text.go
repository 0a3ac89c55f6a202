// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lualib

import lua "github.com/yuin/gopher-lua"

// toString converts a value to text as tostring does. The addresses of tables and functions are
// no part of it, because they are different each time.
func (s *Library) toString(value lua.LValue) string {
	if table, isTable := value.(*lua.LTable); isTable {
		FillTable(table)
		if function, ok := s.lua.GetMetaField(table, "__tostring").(*lua.LFunction); ok {
			s.lua.Push(function)
			s.lua.Push(table)
			s.lua.Call(1, 1)
			result := s.lua.Get(-1)
			s.lua.Pop(1)
			if !lua.LVCanConvToString(result) {
				s.lua.RaiseError("'__tostring' must return a string")
			}
			return lua.LVAsString(result)
		}
	}
	if value == s.Null {
		return "null"
	}
	return Display(value)
}

// Display returns a value as text, without calling a script.
func Display(value lua.LValue) string {
	switch v := value.(type) {
	case lua.LString:
		return string(v)
	case lua.LNumber:
		return formatNumber(float64(v))
	case lua.LBool, *lua.LNilType:
		return v.String()
	}
	return value.Type().String()
}
