// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lualib

import (
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/ordered-helm/helm/internal/luasandbox/luapattern"
)

// openString registers the library string, whose functions are also methods of strings.
func (s *Library) openString() {
	table := s.Table("string")
	s.SetFunctions(table, map[string]lua.LGFunction{
		"byte":    stringByte,
		"char":    stringChar,
		"find":    func(l *lua.LState) int { return s.stringFind(l, true) },
		"format":  s.stringFormat,
		"gmatch":  s.stringGmatch,
		"gsub":    s.stringGsub,
		"len":     stringLen,
		"lower":   s.stringMap(lower),
		"match":   func(l *lua.LState) int { return s.stringFind(l, false) },
		"rep":     s.stringRep,
		"reverse": s.stringMap(reverse),
		"sub":     stringSub,
		"upper":   s.stringMap(upper),
	})
	metatable := s.lua.NewTable()
	metatable.RawSetString("__index", table)
	s.lua.SetMetatable(lua.LString(""), metatable)
}

// slice returns the part of a text from the position first to last, which count from the end if
// they are negative.
func slice(text string, first, last int) string {
	if first < 0 {
		first += len(text) + 1
	}
	if last < 0 {
		last += len(text) + 1
	}
	first, last = max(first, 1), min(last, len(text))
	if first > last {
		return ""
	}
	return text[first-1 : last]
}

func stringByte(l *lua.LState) int {
	first := l.OptInt(2, 1)
	part := slice(l.CheckString(1), first, l.OptInt(3, first))
	if len(part) > maxResults {
		l.RaiseError("string slice too long: there can be at most %d results", maxResults)
	}
	for i := range len(part) {
		l.Push(lua.LNumber(part[i]))
	}
	return len(part)
}

func stringChar(l *lua.LState) int {
	text := make([]byte, l.GetTop())
	for i := range text {
		code := l.CheckInt(i + 1)
		if code < 0 || code > 255 {
			l.ArgError(i+1, "invalid value")
		}
		text[i] = byte(code)
	}
	l.Push(lua.LString(text))
	return 1
}

func stringLen(l *lua.LState) int {
	l.Push(lua.LNumber(len(l.CheckString(1))))
	return 1
}

func stringSub(l *lua.LState) int {
	l.Push(lua.LString(slice(l.CheckString(1), l.CheckInt(2), l.OptInt(3, -1))))
	return 1
}

// stringMap returns a function that converts a string to one of the same length.
func (s *Library) stringMap(convert func([]byte)) lua.LGFunction {
	return func(l *lua.LState) int {
		text := l.CheckString(1)
		s.checkLength(len(text))
		converted := []byte(text)
		convert(converted)
		l.Push(lua.LString(converted))
		return 1
	}
}

func lower(text []byte) {
	for i, c := range text {
		if c >= 'A' && c <= 'Z' {
			text[i] = c + 'a' - 'A'
		}
	}
}

func upper(text []byte) {
	for i, c := range text {
		if c >= 'a' && c <= 'z' {
			text[i] = c - ('a' - 'A')
		}
	}
}

func reverse(text []byte) {
	for i, j := 0, len(text)-1; i < j; i, j = i+1, j-1 {
		text[i], text[j] = text[j], text[i]
	}
}

func (s *Library) stringRep(l *lua.LState) int {
	text, count := l.CheckString(1), 0
	if number := float64(l.CheckNumber(2)); text != "" && number >= 1 {
		// The conversion of a larger number would depend on the platform.
		count = int(min(number, 1<<53))
	}
	if text != "" && s.maxString > 0 && count > s.maxString/len(text) {
		s.checkLength(s.maxString + 1)
	}
	s.checkLength(len(text) * count)
	l.Push(lua.LString(strings.Repeat(text, count)))
	return 1
}

// matcher returns a matcher for the pattern in the argument 2.
func (s *Library) matcher(l *lua.LState, text string) (*luapattern.Pattern, *luapattern.Matcher) {
	pattern, err := luapattern.Parse(l.CheckString(2))
	s.host.Must(err)
	return pattern, luapattern.NewMatcher(pattern, text, s.host.Check)
}

// find returns the first match from an offset on.
func (s *Library) find(m *luapattern.Matcher, from int) (luapattern.Match, bool) {
	match, found, err := m.Find(from)
	s.host.Must(err)
	return match, found
}

// stringFind implements string.find and string.match.
func (s *Library) stringFind(l *lua.LState, positions bool) int {
	text := l.CheckString(1)
	from := l.OptInt(3, 1)
	if from < 0 {
		from += len(text) + 1
	}
	from = min(max(from-1, 0), len(text))
	if positions && lua.LVAsBool(l.Get(4)) {
		found := strings.Index(text[from:], l.CheckString(2))
		if found < 0 {
			l.Push(lua.LNil)
			return 1
		}
		l.Push(lua.LNumber(from + found + 1))
		l.Push(lua.LNumber(from + found + len(l.CheckString(2))))
		return 2
	}
	_, m := s.matcher(l, text)
	match, found := s.find(m, from)
	if !found {
		l.Push(lua.LNil)
		return 1
	}
	if !positions {
		return pushCaptures(l, text, match, true)
	}
	l.Push(lua.LNumber(match.Start + 1))
	l.Push(lua.LNumber(match.End))
	return 2 + pushCaptures(l, text, match, false)
}

// captureValue returns what a capture has matched.
func captureValue(text string, c luapattern.Capture) lua.LValue {
	if c.Position {
		return lua.LNumber(c.Start + 1)
	}
	return lua.LString(text[c.Start:c.End])
}

// pushCaptures pushes the captures of a match and returns their number. If there are none and
// whole is set, it pushes the match.
func pushCaptures(l *lua.LState, text string, match luapattern.Match, whole bool) int {
	for _, c := range match.Captures {
		l.Push(captureValue(text, c))
	}
	if len(match.Captures) == 0 && whole {
		l.Push(lua.LString(text[match.Start:match.End]))
		return 1
	}
	return len(match.Captures)
}

// stringGmatch returns a function that returns the captures of the next match each time.
func (s *Library) stringGmatch(l *lua.LState) int {
	text := l.CheckString(1)
	pattern, err := luapattern.Parse(l.CheckString(2))
	s.host.Must(err)
	next := 0
	l.Push(l.NewFunction(func(l *lua.LState) int {
		if next > len(text) {
			return 0
		}
		match, found := s.find(luapattern.NewMatcher(pattern, text, s.host.Check), next)
		if !found {
			next = len(text) + 1
			return 0
		}
		next = match.End
		if match.End == match.Start || pattern.Anchored() {
			next++
		}
		return pushCaptures(l, text, match, true)
	}))
	return 1
}

// stringGsub replaces the matches of a pattern.
func (s *Library) stringGsub(l *lua.LState) int {
	text := l.CheckString(1)
	pattern, m := s.matcher(l, text)
	l.CheckTypes(3, lua.LTString, lua.LTNumber, lua.LTTable, lua.LTFunction)
	limit := l.OptInt(4, len(text)+1)
	var b strings.Builder
	write := func(part string) {
		s.checkGrowth(b.Len(), len(part))
		b.WriteString(part)
	}
	count, copied, next := 0, 0, 0
	for count < limit && next <= len(text) {
		match, found := s.find(m, next)
		if !found {
			break
		}
		count++
		write(text[copied:match.Start])
		write(s.replacement(l, text, match))
		copied, next = match.End, match.End
		if match.End == match.Start {
			next++
		}
		if pattern.Anchored() {
			break
		}
	}
	write(text[copied:])
	l.Push(lua.LString(b.String()))
	l.Push(lua.LNumber(count))
	return 2
}

// replacement returns the text with which string.gsub replaces a match.
func (s *Library) replacement(l *lua.LState, text string, match luapattern.Match) string {
	whole := text[match.Start:match.End]
	var value lua.LValue
	switch replace := l.Get(3).(type) {
	case *lua.LTable:
		var key lua.LValue = lua.LString(whole)
		if len(match.Captures) > 0 {
			key = captureValue(text, match.Captures[0])
		}
		value = l.GetTable(replace, key)
	case *lua.LFunction:
		l.Push(replace)
		l.Call(pushCaptures(l, text, match, true), 1)
		value = l.Get(-1)
		l.Pop(1)
	default:
		return s.expand(l, lua.LVAsString(replace), text, match)
	}
	if lua.LVIsFalse(value) {
		return whole
	}
	if !lua.LVCanConvToString(value) {
		l.RaiseError("invalid replacement value (a %s)", value.Type())
	}
	return lua.LVAsString(value)
}

// expand replaces %0 to %9 in the text of a replacement.
func (s *Library) expand(l *lua.LState, replacement, text string, match luapattern.Match) string {
	if !strings.Contains(replacement, "%") {
		return replacement
	}
	var b strings.Builder
	for i := 0; i < len(replacement); i++ {
		if replacement[i] != '%' || i+1 == len(replacement) {
			b.WriteByte(replacement[i])
			continue
		}
		i++
		switch index := int(replacement[i]) - '0'; {
		case index < 0 || index > 9:
			b.WriteByte(replacement[i])
		case index == 0 || index == 1 && len(match.Captures) == 0:
			s.checkGrowth(b.Len(), match.End-match.Start)
			b.WriteString(text[match.Start:match.End])
		case index > len(match.Captures):
			l.RaiseError("invalid capture index %%%d in the replacement", index)
		default:
			part := Display(captureValue(text, match.Captures[index-1]))
			s.checkGrowth(b.Len(), len(part))
			b.WriteString(part)
		}
	}
	return b.String()
}
