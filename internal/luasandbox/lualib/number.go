// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lualib

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// parseNumber parses a number as Lua does. If base is 0, it can be decimal, with a fraction and
// an exponent, or hexadecimal after 0x.
func parseNumber(text string, base int) (number float64, ok bool) {
	digits, negative := strings.CutPrefix(text, "-")
	sign := 1.0
	if negative {
		sign = -1
	}
	if hex := strings.ToLower(digits); (base == 0 || base == 16) && strings.HasPrefix(hex, "0x") {
		digits, base = hex[2:], 16
	}
	if base != 0 && base != 10 {
		if base < 2 || base > 36 || strings.HasPrefix(digits, "+") {
			return 0, false
		}
		n, err := strconv.ParseUint(digits, base, 64)
		return sign * float64(n), err == nil
	}
	if strings.ContainsAny(digits, "_xXpPnNiI") {
		return 0, false
	}
	number, err := strconv.ParseFloat(text, 64)
	return number, err == nil || math.IsInf(number, 0)
}

// formatNumber formats a number: integers without a fraction, and others with as many digits as
// are needed.
func formatNumber(number float64) string {
	if number == math.Trunc(number) && math.Abs(number) < 1<<63 {
		return strconv.FormatInt(int64(number), 10)
	}
	switch {
	case math.IsInf(number, 1):
		return "inf"
	case math.IsInf(number, -1):
		return "-inf"
	case math.IsNaN(number):
		return "nan"
	}
	return strconv.FormatFloat(number, 'g', -1, 64)
}

// openMath registers the library math. Its random numbers are the same in each run.
func (s *Library) openMath() {
	table := s.Table("math")
	one := func(function func(float64) float64) lua.LGFunction {
		return func(l *lua.LState) int {
			l.Push(lua.LNumber(function(float64(l.CheckNumber(1)))))
			return 1
		}
	}
	two := func(function func(a, b float64) float64) lua.LGFunction {
		return func(l *lua.LState) int {
			l.Push(lua.LNumber(function(float64(l.CheckNumber(1)), float64(l.CheckNumber(2)))))
			return 1
		}
	}
	all := func(function func(a, b float64) float64) lua.LGFunction {
		return func(l *lua.LState) int {
			result := float64(l.CheckNumber(1))
			for i := 2; i <= l.GetTop(); i++ {
				result = function(result, float64(l.CheckNumber(i)))
			}
			l.Push(lua.LNumber(result))
			return 1
		}
	}
	s.SetFunctions(table, map[string]lua.LGFunction{
		"abs": one(math.Abs), "acos": one(math.Acos), "asin": one(math.Asin), "atan": one(math.Atan),
		"atan2": two(math.Atan2), "ceil": one(math.Ceil), "cos": one(math.Cos), "cosh": one(math.Cosh),
		"deg": one(func(x float64) float64 { return x * 180 / math.Pi }),
		"exp": one(math.Exp), "floor": one(math.Floor), "fmod": two(math.Mod), "log": one(math.Log),
		"log10": one(math.Log10), "max": all(math.Max), "min": all(math.Min), "pow": two(math.Pow),
		"rad": one(func(x float64) float64 { return x * math.Pi / 180 }),
		"sin": one(math.Sin), "sinh": one(math.Sinh), "sqrt": one(math.Sqrt), "tan": one(math.Tan), "tanh": one(math.Tanh),
		"frexp": func(l *lua.LState) int {
			fraction, exponent := math.Frexp(float64(l.CheckNumber(1)))
			l.Push(lua.LNumber(fraction))
			l.Push(lua.LNumber(exponent))
			return 2
		},
		"ldexp": func(l *lua.LState) int {
			l.Push(lua.LNumber(math.Ldexp(float64(l.CheckNumber(1)), l.CheckInt(2))))
			return 1
		},
		"modf": func(l *lua.LState) int {
			whole, fraction := math.Modf(float64(l.CheckNumber(1)))
			l.Push(lua.LNumber(whole))
			l.Push(lua.LNumber(fraction))
			return 2
		},
		"random": s.mathRandom,
		"randomseed": func(l *lua.LState) int {
			s.random = newRandom(uint64(l.CheckInt64(1)))
			return 0
		},
	})
	table.RawSetString("pi", lua.LNumber(math.Pi))
	table.RawSetString("huge", lua.LNumber(math.Inf(1)))
}

func (s *Library) mathRandom(l *lua.LState) int {
	if l.GetTop() == 0 {
		l.Push(lua.LNumber(s.random.Float64()))
		return 1
	}
	first, last := 1.0, float64(l.CheckNumber(1))
	if l.GetTop() > 1 {
		first, last = last, float64(l.CheckNumber(2))
	}
	if !(first <= last) || last-first >= 1<<53 {
		l.ArgError(l.GetTop(), "interval is empty or too large")
	}
	l.Push(lua.LNumber(math.Floor(first) + float64(s.random.Int64N(int64(last-first)+1))))
	return 1
}

// newRandom returns a generator of random numbers for a seed.
func newRandom(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }
