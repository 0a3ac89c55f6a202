// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package luasandbox_test

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/ordered-helm/helm/internal/luasandbox"
	"github.com/ordered-helm/helm/internal/testutil/golden"
)

// TestErrors compares the errors of scripts with a golden file.
func TestErrors(t *testing.T) {
	tests := []struct{ name, script string }{
		{"a syntax error", "x = 1\nif then"},
		{"the end is missing", "x = 1\nif x then\n"},
		{"a compile error", "\nbreak"},
		{"a label that is missing", "goto x"},
		{"a label that is missing in a function", "local function f()\n  x = 1\n  goto done\nend\n::done::"},
		{"a label in another block", "x = 1\ndo\n  ::inner::\nend\ngoto inner"},
		{"a label that is there twice", "::a::\nx = 1\n::a::"},
		{"a jump into the scope of a variable", "\ngoto a\nlocal x = 1\n::a::\nprintln(x)"},
		{"an error after a jump", "local i = 0\n::again::\ni = i + 1\nif i < 3 then\n  goto again\nend\nlocal text = 'a' .. i\nerror(text)"},
		{"an error between labels", "local t\ngoto b\n::a::\nt.x = 1\n::b::\ngoto a"},
		{"a continued loop", "for i = 1, 3 do\n  if i < 3 then goto continue end\n  error('i' .. i)\n  ::continue::\nend"},
		{"an index of nil", "local values = {}\nlocal function image()\n  return values.image.tag\nend\n\nprintln(image())"},
		{"a call of nil", "events.on('x')"},
		{"an unknown function", "\nlod('x')"},
		{"arithmetic", "local x = {}\nreturn x + 1"},
		{"a concatenation", "local x\nreturn 'a' .. x"},
		{"a comparison", "return 1 < 'x'"},
		{"a wrong argument", "('x'):rep({})"},
		{"the error function", "local function check(x)\n  if not x then error('no value', 2) end\nend\n\ncheck()"},
		{"an error without position", "error('plain', 0)"},
		{"an error object", "error({code = 1})"},
		{"an error without a value", "error()"},
		{"an assertion", "assert(false, 'the name is missing')"},
		{"control sequences", "error('\\27[31mred\\27[0m \\226\\128\\174\\7')"},
		{"text that is not UTF-8", "error('\\255')"},
		{"recursion", "local function f()\n  return f()\nend\nf()"},
		{"a loop", "while true do end"},
		{"memory", "local t = {}\nwhile true do t[#t + 1] = ('x'):rep(1e6) end"},
		{"output", "while true do println('x') end"},
		{"a long string", "('x'):rep(1e9)"},
		{"an index", "local t = {}\nt[5e6] = 1"},
		{"a pattern", "('x'):find('[a')"},
		{"a slow pattern", "(('x'):rep(1000)):find(('x-'):rep(30) .. 'y')"},
		{"JSON", "json.decode('{\"a\": }')"},
		{"YAML", "yaml.decode('a: [')"},
		{"a nested function", "local t = {}\nfunction t.f() error('x') end\nfunction t:g() self.f() end\ntable.sort({1, 2}, function() t:g() end)"},
	}
	var b strings.Builder
	for _, tt := range tests {
		options := luasandbox.Options{Limits: luasandbox.Limits{Time: time.Minute}}
		if tt.name == "a loop" {
			options.Limits.Time = time.Second
		}
		_, err := run(t, options, tt.script)
		if problem := (*luasandbox.Error)(nil); !errors.As(err, &problem) {
			t.Errorf("%s: got %v", tt.name, err)
			continue
		}
		b.WriteString("# " + tt.name + "\n" + err.Error() + "\n\n")
	}
	golden.Assert(t, b.String(), "errors.txt")
}

func TestErrorTypes(t *testing.T) {
	tests := []struct {
		name, script string
		want         error
	}{
		{"time", "while true do end", luasandbox.ErrTimeLimit},
		{"memory", "local t = {} while true do t[#t + 1] = {} end", luasandbox.ErrMemoryLimit},
		{"output", "while true do println('x') end", luasandbox.ErrOutputLimit},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			limits := luasandbox.Limits{Time: 10 * time.Second, Memory: 8 << 20}
			if errors.Is(tt.want, luasandbox.ErrTimeLimit) {
				limits.Time = time.Second
			}
			if err := newState(t, luasandbox.Options{Limits: limits}).Load(ctx, "a.lua", tt.script); !errors.Is(err, tt.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestStateAfterError checks that a state can be used after a script has failed or was stopped.
func TestStateAfterError(t *testing.T) {
	for _, script := range []string{"error('x')", "while true do end", "local function f() return f() end f()", "local t = {} while true do t[#t + 1] = ('x'):rep(1e6) .. 'y' end"} {
		state := newState(t, luasandbox.Options{Limits: luasandbox.Limits{Time: time.Second / 2}})
		handler := loadHandler(t, state, "function(...) return ... end")
		if err := state.Load(t.Context(), "a.lua", script); err == nil {
			t.Errorf("%s has no error", script)
		}
		if results, err := state.Call(t.Context(), handler, "a", 1); err != nil || len(results) != 2 {
			t.Errorf("after %s: got %v, %v", script, results, err)
		}
	}
}

// TestRetainedMemory checks that what scripts keep between calls counts.
func TestRetainedMemory(t *testing.T) {
	group := luasandbox.NewGroup()
	limits := luasandbox.Limits{Memory: 32 << 20}
	var err error
	calls := 0
	for ; calls < 50 && err == nil; calls++ {
		state := newState(t, luasandbox.Options{Group: group, Limits: limits})
		handler := loadHandler(t, state, "function() kept = kept or {} for i = 1, 2 do kept[#kept + 1] = ('x'):rep(1e6) .. 'y' end end")
		for range 2 {
			if _, err = state.Call(context.WithoutCancel(t.Context()), handler); err != nil {
				break
			}
		}
	}
	if !errors.Is(err, luasandbox.ErrMemoryLimit) || calls < 4 || calls > 20 {
		t.Errorf("got %v after %d states", err, calls)
	}
}

// TestRetainedCode checks that the code of functions that scripts keep between calls counts.
func TestRetainedCode(t *testing.T) {
	state := newState(t, luasandbox.Options{Limits: luasandbox.Limits{Memory: 64 << 20}})
	script := "kept = kept or {} kept[#kept + 1] = function() " + strings.Repeat("f=function()end ", 1000) + "end"
	var err error
	calls := 0
	for ; calls < 20 && err == nil; calls++ {
		err = state.Load(t.Context(), "a.lua", script)
	}
	if !errors.Is(err, luasandbox.ErrMemoryLimit) || calls < 2 {
		t.Errorf("got %v after %d scripts", err, calls)
	}
}

// TestGarbageOfOthers checks that a script cannot use the memory of garbage that was there before.
func TestGarbageOfOthers(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for range 64 {
		garbage := make([]byte, 1<<20)
		runtime.KeepAlive(garbage)
	}
	state := newState(t, luasandbox.Options{Limits: luasandbox.Limits{Memory: 8 << 20}})
	const script = "local t = {} for i = 1, 40 do t[i] = ('x'):rep(1e6) .. i end"
	if err := state.Load(t.Context(), "a.lua", script); !errors.Is(err, luasandbox.ErrMemoryLimit) {
		t.Errorf("got %v", err)
	}
}

// TestStopIsNotCaught checks that pcall and xpcall run nothing else once a script was stopped.
func TestStopIsNotCaught(t *testing.T) {
	for _, protected := range []string{"pcall(stop)", "xpcall(stop, log)", "xpcall(stop, function() log('handler') end)", "pcall(pcall, stop)", "pcall(xpcall, stop, log)"} {
		ctx, cancel := context.WithCancel(t.Context())
		var lines []string
		state := newState(t, luasandbox.Options{Log: func(line string) { lines = append(lines, line) }})
		functions := map[string]luasandbox.GoFunction{
			// stop ends the context and fails, so that the script goes on in Go functions.
			"stop": func(context.Context, []any) ([]any, error) {
				cancel()
				return nil, errors.New("stopped")
			},
		}
		if err := state.Register("go", functions); err != nil {
			t.Fatal(err)
		}
		script := "stop = go.stop\ntable.sort({1, 2}, function() return " + protected + " end)"
		err := state.Load(ctx, "a.lua", script)
		if !errors.Is(err, context.Canceled) || len(lines) > 0 {
			t.Errorf("%s: got %v and the output %v", protected, err, lines)
		}
	}
}
