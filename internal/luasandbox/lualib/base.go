// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lualib

import (
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/ordered-helm/helm/internal/terminalsafe"
)

// openBase registers the functions of the base library, except those that load code, and log
// and println.
func (s *Library) openBase() {
	globals := s.lua.G.Global
	globals.RawSetString("_G", globals)
	globals.RawSetString("_VERSION", lua.LString(lua.LuaVersion))
	next, nextIndex := s.lua.NewFunction(baseNext), s.lua.NewFunction(baseNextIndex)
	s.SetFunctions(globals, map[string]lua.LGFunction{
		"assert":       baseAssert,
		"error":        baseError,
		"getmetatable": s.baseGetMetatable,
		"ipairs": func(l *lua.LState) int {
			l.Push(nextIndex)
			l.Push(checkTable(l))
			l.Push(lua.LNumber(0))
			return 3
		},
		"log": func(l *lua.LState) int { return s.write(l, s.log) },
		"pairs": func(l *lua.LState) int {
			l.Push(next)
			l.Push(checkTable(l))
			l.Push(lua.LNil)
			return 3
		},
		"pcall":        s.basePCall,
		"println":      func(l *lua.LState) int { return s.write(l, s.print) },
		"rawequal":     baseRawEqual,
		"rawget":       baseRawGet,
		"rawset":       s.baseRawSet,
		"select":       baseSelect,
		"setmetatable": s.baseSetMetatable,
		"tonumber":     s.baseToNumber,
		"tostring": func(l *lua.LState) int {
			l.Push(lua.LString(s.toString(l.CheckAny(1))))
			return 1
		},
		"type": func(l *lua.LState) int {
			l.Push(lua.LString(l.CheckAny(1).Type().String()))
			return 1
		},
		"unpack": s.baseUnpack,
		"xpcall": s.baseXPCall,
	})
	globals.RawSetString("next", next)
}

// SetFunctions adds functions to a table, in the order of their names.
func (s *Library) SetFunctions(table *lua.LTable, functions map[string]lua.LGFunction) {
	names := make([]string, 0, len(functions))
	for name := range functions {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		table.RawSetString(name, s.lua.NewFunction(functions[name]))
	}
}

// checkTable returns the first argument, which must be a table, and fills it if necessary.
func checkTable(l *lua.LState) *lua.LTable {
	table := l.CheckTable(1)
	FillTable(table)
	return table
}

func baseAssert(l *lua.LState) int {
	if !lua.LVIsFalse(l.Get(1)) {
		return l.GetTop()
	}
	if l.GetTop() > 1 {
		l.Error(l.Get(2), 0)
	}
	l.RaiseError("assertion failed!")
	return 0
}

func baseError(l *lua.LState) int {
	level := l.OptInt(2, 1)
	if level > 0 {
		// Level 1 is the caller of this function, which the interpreter counts as a level too.
		level++
	}
	l.Error(l.Get(1), level)
	return 0
}

func (s *Library) baseGetMetatable(l *lua.LState) int {
	value := l.CheckAny(1)
	table, isTable := value.(*lua.LTable)
	if !isTable {
		l.Push(lua.LNil)
		return 1
	}
	FillTable(table)
	if table.Metatable == s.EmptyList {
		l.Push(lua.LNil)
		return 1
	}
	l.Push(l.GetMetatable(table))
	return 1
}

func (s *Library) baseSetMetatable(l *lua.LState) int {
	table := checkTable(l)
	l.CheckTypes(2, lua.LTNil, lua.LTTable)
	if old, ok := table.Metatable.(*lua.LTable); ok && old.RawGetString("__metatable") != lua.LNil {
		l.RaiseError("cannot change a protected metatable")
	}
	if metatable, ok := l.Get(2).(*lua.LTable); ok {
		FillTable(metatable)
	}
	table.Metatable = l.Get(2)
	l.SetTop(1)
	return 1
}

// baseNext calls the iteration of the interpreter, which follows the order in which keys were
// added.
func baseNext(l *lua.LState) int {
	key, value := checkTable(l).Next(l.Get(2))
	l.Push(key)
	if key == lua.LNil {
		return 1
	}
	l.Push(value)
	return 2
}

func baseNextIndex(l *lua.LState) int {
	index := l.CheckInt(2) + 1
	value := checkTable(l).RawGetInt(index)
	if value == lua.LNil {
		l.Push(lua.LNil)
		return 1
	}
	l.Push(lua.LNumber(index))
	l.Push(value)
	return 2
}

func baseRawEqual(l *lua.LState) int {
	l.Push(lua.LBool(l.CheckAny(1) == l.CheckAny(2)))
	return 1
}

func baseRawGet(l *lua.LState) int {
	l.Push(checkTable(l).RawGet(l.CheckAny(2)))
	return 1
}

func (s *Library) baseRawSet(l *lua.LState) int {
	table, key := checkTable(l), l.CheckAny(2)
	checkKey(l, key)
	table.RawSet(key, l.CheckAny(3))
	l.SetTop(1)
	return 1
}

func baseSelect(l *lua.LState) int {
	if l.Get(1) == lua.LString("#") {
		l.Push(lua.LNumber(l.GetTop() - 1))
		return 1
	}
	index, count := l.CheckInt(1), l.GetTop()-1
	if index < 0 {
		index += count + 1
	}
	if index < 1 {
		l.ArgError(1, "index out of range")
	}
	return max(count-index+1, 0)
}

// baseToNumber converts a value to a number.
func (s *Library) baseToNumber(l *lua.LState) int {
	value := l.CheckAny(1)
	if _, isNumber := value.(lua.LNumber); isNumber {
		l.Push(value)
		return 1
	}
	text, isString := value.(lua.LString)
	number, ok := 0.0, false
	// No number is longer.
	if isString && len(text) <= 1100 {
		number, ok = parseNumber(strings.TrimSpace(string(text)), l.OptInt(2, 0))
	}
	if !ok {
		l.Push(lua.LNil)
		return 1
	}
	l.Push(lua.LNumber(number))
	return 1
}

// maxResults is the maximum number of results of unpack and string.byte.
const maxResults = 8000

func (s *Library) baseUnpack(l *lua.LState) int {
	table := checkTable(l)
	first, last := l.OptInt(2, 1), l.OptInt(3, table.Len())
	if first > last {
		return 0
	}
	if last-first < 0 || last-first >= maxResults {
		l.RaiseError("too many results to unpack: there can be at most %d", maxResults)
	}
	for i := first; i <= last; i++ {
		l.Push(table.RawGet(lua.LNumber(i)))
	}
	return last - first + 1
}

// basePCall calls a function, and returns its error unless that has stopped the script.
func (s *Library) basePCall(l *lua.LState) int {
	l.CheckAny(1)
	err := l.PCall(l.GetTop()-1, lua.MultRet, nil)
	return s.caught(l, err, 0)
}

func (s *Library) baseXPCall(l *lua.LState) int {
	handler := l.CheckFunction(2)
	l.SetTop(2)
	l.Push(l.Get(1))
	err := l.PCall(0, lua.MultRet, handler)
	return s.caught(l, err, 2)
}

// caught returns the results of pcall and xpcall. The results of the called function are on the
// stack above the first kept values.
func (s *Library) caught(l *lua.LState, err error, kept int) int {
	if stopErr := s.host.Stopped(); stopErr != nil {
		if err == nil {
			err = &lua.ApiError{Type: lua.ApiErrorRun, Object: lua.LString(stopErr.Error())}
		}
		panic(err)
	}
	if err == nil {
		l.Insert(lua.LTrue, kept+1)
		return l.GetTop() - kept
	}
	l.Push(lua.LFalse)
	if apiError, ok := err.(*lua.ApiError); ok { //nolint:errorlint // PCall returns its errors as they are
		l.Push(apiError.Object)
	} else {
		l.Push(lua.LString(err.Error()))
	}
	return 2
}

// write passes the arguments to a function for output, line by line.
func (s *Library) write(l *lua.LState, out func(string)) int {
	var b strings.Builder
	for i := 1; i <= l.GetTop(); i++ {
		if i > 1 {
			b.WriteByte('\t')
		}
		text := s.toString(l.Get(i))
		s.host.Must(s.host.Output(len(text) + 1))
		b.WriteString(text)
	}
	s.host.Must(s.host.Output(1))
	if out == nil {
		return 0
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(b.String(), "\n"), "\n") {
		out(terminalsafe.Sanitize(strings.ToValidUTF8(line, "\uFFFD")))
	}
	return 0
}
