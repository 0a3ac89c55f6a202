// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lualib

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// directive matches a directive of string.format. As in Lua, width and precision can have two
// digits each.
var directive = regexp.MustCompile(`^%([-+ #0]{0,5})([0-9]{0,2})((?:\.[0-9]{0,2})?)([a-zA-Z%])`)

// stringFormat implements string.format.
func (s *Library) stringFormat(l *lua.LState) int {
	format := l.CheckString(1)
	var b strings.Builder
	argument := 1
	for {
		before, rest, found := strings.Cut(format, "%")
		s.checkGrowth(b.Len(), len(before))
		b.WriteString(before)
		if !found {
			break
		}
		if strings.HasPrefix(rest, "%") {
			b.WriteByte('%')
			format = rest[1:]
			continue
		}
		parts := directive.FindStringSubmatch("%" + rest[:min(len(rest), 16)])
		if parts == nil {
			l.RaiseError("invalid option in the format: '%%%s'", strings.ToValidUTF8(rest[:min(len(rest), 8)], "?"))
		}
		argument++
		text := s.formatArgument(l, argument, parts[1]+parts[2]+parts[3], parts[4][0])
		s.checkGrowth(b.Len(), len(text))
		b.WriteString(text)
		format = rest[len(parts[0])-1:]
	}
	l.Push(lua.LString(b.String()))
	return 1
}

// formatArgument formats an argument. flags contains the flags, width and precision.
func (s *Library) formatArgument(l *lua.LState, argument int, flags string, verb byte) string {
	switch verb {
	case 'c':
		return pad(string([]byte{byte(l.CheckInt(argument))}), flags)
	case 'd', 'i':
		return fmt.Sprintf("%"+flags+"d", toInt64(l, argument))
	case 'u':
		return fmt.Sprintf("%"+flags+"d", uint64(toInt64(l, argument)))
	case 'o', 'x', 'X':
		return fmt.Sprintf("%"+flags+string(verb), uint64(toInt64(l, argument)))
	case 'e', 'E', 'f', 'g', 'G':
		return formatFloat(float64(l.CheckNumber(argument)), flags, verb)
	case 'q':
		return quote(l.CheckString(argument), s)
	case 's':
		text := s.toString(l.CheckAny(argument))
		if !strings.ContainsAny(flags, "123456789.") {
			return text
		}
		return pad(text, flags)
	}
	l.RaiseError("invalid option '%%%c' in the format", verb)
	return ""
}

// toInt64 returns an argument as an integer.
func toInt64(l *lua.LState, argument int) int64 {
	number := math.Trunc(float64(l.CheckNumber(argument)))
	if math.IsNaN(number) || math.Abs(number) >= 1<<63 {
		l.ArgError(argument, "number has no integer representation")
	}
	return int64(number)
}

// formatFloat formats a number as C does.
func formatFloat(number float64, flags string, verb byte) string {
	if math.IsInf(number, 0) || math.IsNaN(number) {
		text := formatNumber(number)
		if verb == 'E' || verb == 'G' {
			text = strings.ToUpper(text)
		}
		return pad(text, strings.ReplaceAll(flags, "0", ""))
	}
	if verb|0x20 == 'g' && !strings.Contains(flags, ".") {
		flags += ".6"
	}
	return fmt.Sprintf("%"+flags+string(verb), number)
}

// pad shortens a text to the precision in flags and pads it to the width, both in bytes.
func pad(text, flags string) string {
	width, precision, hasPrecision := strings.Cut(strings.TrimLeft(flags, "-+ #0"), ".")
	if length, _ := strconv.Atoi(precision); hasPrecision && length < len(text) {
		text = text[:length]
	}
	missing, _ := strconv.Atoi(width)
	missing = max(missing-len(text), 0)
	if strings.Contains(strings.TrimRight(flags, ".0123456789"), "-") {
		return text + strings.Repeat(" ", missing)
	}
	return strings.Repeat(" ", missing) + text
}

// quote returns text as a string literal of Lua.
func quote(text string, s *Library) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(text) {
		s.checkGrowth(b.Len(), 2)
		switch c := text[i]; c {
		case '"', '\\', '\n':
			b.WriteByte('\\')
			b.WriteByte(c)
		case '\r':
			b.WriteString(`\r`)
		case 0:
			b.WriteString(`\000`)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
