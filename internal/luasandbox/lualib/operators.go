// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lualib

import (
	"math"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// maxIndex is the maximum index of a list. The interpreter fills all smaller indexes.
const maxIndex = 1 << 20

// Concat implements the operator ..
func (s *Library) Concat(l *lua.LState) int {
	operands := make([]lua.LValue, l.GetTop())
	size, plain := 0, true
	for i := range operands {
		operands[i] = l.Get(i + 1)
		if lua.LVCanConvToString(operands[i]) {
			size += len(lua.LVAsString(operands[i]))
		} else {
			plain = false
		}
	}
	s.checkLength(size)
	if plain {
		var b strings.Builder
		b.Grow(size)
		for _, operand := range operands {
			b.WriteString(lua.LVAsString(operand))
		}
		l.Push(lua.LString(b.String()))
		return 1
	}
	result := operands[len(operands)-1]
	for i := len(operands) - 2; i >= 0; i-- {
		result = s.concatTwo(l, operands[i], result)
	}
	l.Push(result)
	return 1
}

// concatTwo concatenates two values, one of which may have the metamethod __concat.
func (s *Library) concatTwo(l *lua.LState, left, right lua.LValue) lua.LValue {
	if lua.LVCanConvToString(left) && lua.LVCanConvToString(right) {
		a, b := lua.LVAsString(left), lua.LVAsString(right)
		s.checkLength(len(a) + len(b))
		return lua.LString(a + b)
	}
	for _, operand := range []lua.LValue{left, right} {
		if function, ok := l.GetMetaField(operand, "__concat").(*lua.LFunction); ok {
			l.Push(function)
			l.Push(left)
			l.Push(right)
			l.Call(2, 1)
			result := l.Get(-1)
			l.Pop(1)
			return result
		}
	}
	invalid := left
	if lua.LVCanConvToString(left) {
		invalid = right
	}
	l.RaiseError("attempt to concatenate a %s value", invalid.Type())
	return nil
}

// checkLength raises an error if a string of this length is too long.
func (s *Library) checkLength(length int) { s.checkGrowth(0, length) }

// checkGrowth raises an error if a string of this length cannot grow by added bytes.
func (s *Library) checkGrowth(length, added int) {
	if added < 0 || s.maxString > 0 && length+added > s.maxString {
		s.lua.RaiseError("a string can have at most %d bytes", s.maxString)
	}
	s.host.Must(s.host.Charge(added))
}

// CheckKey returns its argument if it can be the key of a field.
func (s *Library) CheckKey(l *lua.LState) int {
	checkKey(l, l.Get(1))
	l.SetTop(1)
	return 1
}

// checkKey raises an error if a table must not have a field with this key.
func checkKey(l *lua.LState, key lua.LValue) {
	switch key := key.(type) {
	case lua.LNumber:
		switch f := float64(key); {
		case math.IsNaN(f):
			l.RaiseError("the key of a table cannot be NaN")
		case f > maxIndex && f < float64(lua.MaxArrayIndex) && f == math.Trunc(f):
			l.RaiseError("the index %.0f is too large: a list can have at most %d elements", f, maxIndex)
		}
	case *lua.LNilType:
		l.RaiseError("the key of a table cannot be nil")
	}
}
