// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package luacompile_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"

	"github.com/ordered-helm/helm/internal/luasandbox/luacompile"
)

// compiled compiles a script, whose calls of the hooks are recorded in calls, and runs it. It
// returns the first result.
func compiled(t *testing.T, script string, calls *[]string) (lua.LValue, error) {
	t.Helper()
	state := lua.NewState()
	defer state.Close()
	record := func(name string, result func(l *lua.LState) lua.LValue) lua.LGFunction {
		return func(l *lua.LState) int {
			arguments := make([]string, l.GetTop())
			for i := range arguments {
				arguments[i] = l.Get(i + 1).String()
			}
			*calls = append(*calls, name+"("+strings.Join(arguments, ",")+")")
			l.Push(result(l))
			return 1
		}
	}
	function, err := luacompile.Compile(state, "test.lua", script, luacompile.Hooks{
		Concat: record("concat", func(*lua.LState) lua.LValue { return lua.LString("joined") }),
		Key:    record("key", func(l *lua.LState) lua.LValue { return l.Get(1) }),
	})
	if err != nil {
		return nil, err
	}
	state.Push(function)
	if err := state.PCall(0, 1, nil); err != nil {
		return nil, err
	}
	return state.Get(-1), nil
}

func TestHooks(t *testing.T) {
	tests := []struct{ name, script, result, calls string }{
		{"no hook", `local t = {1, a = 2} t.b = 3 return t.b`, "3", ""},
		{"concatenation", `return "a" .. "b"`, "joined", "concat(a,b)"},
		{"a chain", `return "a" .. 1 .. "c" .. "d"`, "joined", "concat(a,1,c,d)"},
		{"in parentheses", `return ("a" .. "b") .. "c"`, "joined", "concat(a,b) concat(joined,c)"},
		{"functions with several results", `local function f() return "a", "b" end return f() .. f()`, "joined", "concat(a,a)"},
		{"varargs", `local function f(...) return ... .. ... end return f("a", "b")`, "joined", "concat(a,a)"},
		{"everywhere", `local t = {"a" .. "b", x = "c" .. "d"} if "e" .. "f" then while not ("g" .. "h") do end end
			for i = 1, #("i" .. "j") do break end for _ in pairs({k = "k" .. "l"}) do end repeat until "m" .. "n" do local x = -#("o" .. "p") end
			local function f(x) return x .. "q" end f("r") function t.g() return "s" .. "t" end t:g(); (function() end)("u" .. "v") return true and "w" .. "x" == "joined"`,
			"true", "concat(a,b) concat(c,d) concat(e,f) concat(g,h) concat(i,j) concat(k,l) concat(m,n) concat(o,p) concat(r,q) concat(s,t) concat(u,v) concat(w,x)"},
		{"keys", `local t, k = {[1] = 1, ["x"] = 2}, 5 t[k] = 1 t[k + 1], t.y = 2, 3 return t[6] + t[5] + t[1]`, "4", "key(1) key(5) key(6)"},
		{"a key with several results", `local t = {} t[select(1, 7, 8)] = 1 return t[7]`, "1", "key(7)"},
		{"a nested key", `local t = {{}} t[1][2] = 3 return t[1][2]`, "3", "key(2)"},
		{"tail calls", `local function f(n, ...) if n == 0 then return select("#", ...) end return f(n - 1, ...) end return f(10, nil, nil)`, "2", ""},
		{"no arguments", `return select("#", ...)`, "0", ""},
		{"a method", `local t = {n = 1} function t:m(x) self.n = self.n + x return self end return t:m(2):m(3).n`, "6", ""},
		{"goto", `local i = 0 ::a:: i = i + 1 if i < 3 then goto a end return i`, "3", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var calls []string
			result, err := compiled(t, tt.script, &calls)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(calls, " "); result.String() != tt.result || got != tt.calls {
				t.Errorf("got %s and %s, want %s and %s", result, got, tt.result, tt.calls)
			}
		})
	}
}

func TestInvalidScripts(t *testing.T) {
	var constants strings.Builder
	for i := range 4001 {
		fmt.Fprintf(&constants, "x=%d ", i)
	}
	tests := []struct {
		name, script, want string
		line               int
	}{
		{"syntax", "x =\n= 1", "syntax error near '='", 2},
		{"the end", "if x then\n", "syntax error at the end of the file", 1},
		{"a string", "x = 'a", "unterminated string", 1},
		{"break", "\n\nbreak", "no loop to break", 3},
		{"length", strings.Repeat(" ", 1<<18+1), "the script has 262145 bytes, but can have at most 262144", 0},
		{"expressions", "x = " + strings.Repeat("(", 2000) + "1" + strings.Repeat(")", 2000), "", 0},
		{"tables", "x = " + strings.Repeat("{", 2000) + strings.Repeat("}", 2000), "nested more than 1000 levels deep", 1},
		{"blocks", strings.Repeat("do ", 2000) + strings.Repeat("end ", 2000), "nested more than 1000 levels deep", 1},
		{"operators", "x = y" + strings.Repeat(" + y", 2000), "nested more than 1000 levels deep", 1},
		{"fields", "x = y" + strings.Repeat(".y", 2000), "nested more than 1000 levels deep", 1},
		{"calls", "x()" + strings.Repeat("()", 2000), "nested more than 1000 levels deep", 1},
		{"functions", strings.Repeat("x = function() ", 2000) + strings.Repeat("end ", 2000), "nested more than 1000 levels deep", 1},
		{"operands", "x = y" + strings.Repeat(" .. y", 201), "a concatenation can have at most 200 operands", 1},
		{"many functions", "\n" + strings.Repeat("x = function() end function f() end ", 1001), "more than 2000 functions", 2},
		{"constants", constants.String(), "more than 4000 different strings, numbers and names", 1},
	}
	state, hook := lua.NewState(), func(*lua.LState) int { return 0 }
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := luacompile.Compile(state, "test.lua", tt.script, luacompile.Hooks{Concat: hook, Key: hook})
			if tt.want == "" {
				if err != nil {
					t.Errorf("got %v", err)
				}
				return
			}
			if problem := (*luacompile.SyntaxError)(nil); !errors.As(err, &problem) || !strings.Contains(problem.Message, tt.want) || problem.Line != tt.line {
				t.Errorf("got %#v", err)
			}
		})
	}
}

// FuzzCompile checks that no script makes the compiler panic, and that compiled scripts contain
// no instruction without bound.
func FuzzCompile(f *testing.F) {
	for _, seed := range []string{`x = "a" .. 1`, `t[f()] = {[1] = 2, ...}`, `return f(...)`, `for i = 1, 2 do goto x ::x:: end`, `local function f(...) return ... .. "x" end`} {
		f.Add(seed)
	}
	state := lua.NewState()
	f.Fuzz(func(t *testing.T, script string) {
		hook := func(*lua.LState) int { return 0 }
		function, err := luacompile.Compile(state, "fuzz.lua", script, luacompile.Hooks{Concat: hook, Key: hook})
		if err != nil {
			return
		}
		for protos := []*lua.FunctionProto{function.Proto}; len(protos) > 0; protos = protos[1:] {
			protos = append(protos, protos[0].FunctionPrototypes...)
			for pc := 0; pc < len(protos[0].Code); pc++ {
				switch instruction := protos[0].Code[pc]; instruction >> 26 {
				case uint32(lua.OP_CONCAT), uint32(lua.OP_TAILCALL):
					t.Errorf("instruction %d of %q is %d", pc, script, instruction>>26)
				case uint32(lua.OP_SETLIST):
					if instruction>>9&0x1ff == 0 {
						pc++ // The next word is an operand.
					}
				}
			}
		}
	})
}
