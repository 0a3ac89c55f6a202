// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package luasandbox_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/ordered-helm/helm/internal/luasandbox"
)

// newState returns a state that is closed at the end of the test.
func newState(t testing.TB, options luasandbox.Options) *luasandbox.State {
	t.Helper()
	if options.Owner == "" {
		options.Owner = `chart "shop"`
	}
	state := luasandbox.New(options)
	t.Cleanup(state.Close)
	return state
}

// run loads a script, and returns the lines that it has printed.
func run(t *testing.T, options luasandbox.Options, script string) (string, error) {
	t.Helper()
	var lines []string
	options.Print = func(line string) { lines = append(lines, line) }
	options.Log = func(line string) { lines = append(lines, "log: "+line) }
	err := newState(t, options).Load(t.Context(), "test.lua", script)
	return strings.Join(lines, "\n"), err
}

func TestScripts(t *testing.T) {
	tests := []struct{ name, script, want string }{
		{"output", `println("a", 1, true, nil, {}, print) log("x\ny") println()`, "a\t1\ttrue\tnil\ttable\tnil\nlog: x\nlog: y\n"},
		{"control sequences", `println("\27[31mred\27[0m\8 \226\128\174x")`, "red x"},
		{"concatenation", `println("a" .. 1 .. "b" .. 1.5)`, "a1b1.5"},
		{"__concat", `local m = {__concat = function(a, b) return type(a) .. type(b) end}
			println("x" .. setmetatable({}, m), setmetatable({}, m) .. "x" .. "y")`, "stringtable\ttablestring"},
		{"fields", `local t = {[1] = "a", ["x"] = 2} t[2] = "b" t.y = {z = 1} t.y.z = 3 println(#t, t[1] .. t[2], t.x, t.y.z)`, "2\tab\t2\t3"},
		{"tail calls", `local function f(n, ...) if n == 0 then return ... end return f(n - 1, ...) end println(f(500, 1, nil, 3))`, "1\tnil\t3"},
		{"pcall", `println(pcall(error, "x")) println(pcall(function() error({}) end)) println(pcall(function(...) return ... end, 1, 2))
			println(select("#", pcall(function() end)))`, "false\ttest.lua:1: x\nfalse\ttable\ntrue\t1\t2\n1"},
		{"xpcall", `println(xpcall(function() error("x", 0) end, function(e) return e .. "!" end)) println(xpcall(function() return 1, 2 end, print or log))`,
			"false\tx!\ntrue\t1\t2"},
		{"assert", `println(pcall(assert, false, "m")) println(pcall(assert, nil)) println(assert(1, 2))`,
			"false\tm\nfalse\ttest.lua:1: assertion failed!\n1\t2"},
		{"select", `println(select("#"), select("#", 1, nil), select(2, "a", "b", "c"), select(-1, "a", "b"))`, "0\t2\tb\tb"},
		{"tostring", `println(tostring(setmetatable({}, {__tostring = function() return "mine" end})), tostring(1e15), 0.1, -0.5, 1/0, 2^53)`,
			"mine\t1000000000000000\t0.1\t-0.5\tinf\t9007199254740992"},
		{"tonumber", `println(tonumber("0x10"), tonumber(" 12 "), tonumber("1e3"), tonumber("ff", 16), tonumber("z", 36), tonumber("x"), tonumber(""), tonumber("1.5"), tonumber("-7"), tonumber("8", 8), tonumber({}))`,
			"16\t12\t1000\t255\t35\tnil\tnil\t1.5\t-7\tnil\tnil"},
		{"pairs", `local t = {1, 2} t.z = 1 t.a = 2 for k, v in pairs(t) do println(k, v) end`, "1\t1\n2\t2\nz\t1\na\t2"},
		{"next", `println(next({}), next({5}))`, "nil\t1\t5"},
		{"unpack", `println(unpack({1, 2, 3})) println(unpack({1, 2}, 2, 3))`, "1\t2\t3\n2\tnil"},
		{"metatables", `println(getmetatable(""), getmetatable(setmetatable({}, {__metatable = "no"})), pcall(setmetatable, "", {}))
			local t = setmetatable({}, {__index = function(t, k) return k .. "!" end}) println(t.x, rawget(t, "x"))`,
			"nil\tno\tfalse\ttest.lua:1: bad argument #1 to (anonymous) (table expected, got string)\nx!\tnil"},
		{"find", `println(("hello world"):find("o w")) println(("hello"):find("l+")) println(("a.b"):find(".", 2, true)) println(("x"):find("y")) println(("abc"):find("(b)(c)")) println(("abc"):find("b", -1), ("abc"):find("", 10))`,
			"5\t7\n3\t4\n2\t2\nnil\n2\t3\tb\tc\nnil\t4\t3"},
		{"match", `println(("key = value"):match("^(%w+)%s*=%s*(%w+)$")) println(("2024-01-02"):match("%d+")) println(("x()y"):match("%b()")) println(("THE (quick) fox"):find("%f[%a]%a+%f[%A]")) println(("ab"):match("()b()"))`,
			"key\tvalue\n2024\n()\n1\t3\n2\t3"},
		{"gmatch", `for k, v in ("a=1, b=2"):gmatch("(%w+)=(%w+)") do println(k, v) end for w in ("one two"):gmatch("%a+") do println(w) end`, "a\t1\nb\t2\none\ntwo"},
		{"gsub", `println(("hello"):gsub("l", "L")) println(("abc"):gsub("%w", "%0%0")) println(("$a $b"):gsub("%$(%w)", {a = "1"})) println(("abc"):gsub("", "-")) println(("abc"):gsub(".", function(c) if c == "b" then return "x" end end)) println(("aaa"):gsub("a", "b", 2)) println(("abc"):gsub("^a", "x"))`,
			"heLLo\t2\naabbcc\t3\n1 $b\t2\n-a-b-c-\t4\naxc\t3\nbba\t2\nxbc\t1"},
		{"format", `println(string.format("%5d|%-5s|%05.1f|%x|%q|%%|%c|%g|%s|%.2s|%i", 42, "ab", 3.14159, 255, 'a"b\n', 65, 0.1, true, "xyz", 7))`,
			"   42|ab   |003.1|ff|\"a\\\"b\\\n\"|%|A|0.1|true|xy|7"},
		{"strings", `println(("x"):rep(3), ("abc"):sub(-2), ("abc"):sub(2, 2), ("abc"):upper(), ("ABC"):lower(), ("abc"):reverse(), ("abc"):len(), ("abc"):byte(2), ("abc"):byte(1, -1), string.char(104, 105), ("ä"):upper())`,
			"xxx\tbc\tb\tABC\tabc\tcba\t3\t98\t97\thi\tä"},
		{"table", `local t = {3, 1, 2} table.sort(t) println(table.concat(t, ",")) table.sort(t, function(a, b) return a > b end) println(table.concat(t, ",", 2)) table.insert(t, 9) table.insert(t, 1, 0) println(table.concat(t, " ")) println(table.remove(t), table.remove(t, 1), #t, table.remove({}), table.maxn(t))`,
			"1,2,3\n2,1\n0 3 2 1 9\n9\t0\t3\tnil\t3"},
		{"math", `println(math.floor(1.5), math.max(1, 3, 2), math.huge, math.random(5) <= 5, math.fmod(7, 3), math.pi > 3)`, "1\t3\tinf\ttrue\t1\ttrue"},
		{"random numbers", `math.randomseed(7) local a = math.random(1e6) math.randomseed(7) println(a == math.random(1e6), math.random(3, 3))`, "true\t3"},
		{"json", `println(json.encode({b = 1, a = {1, "x", true, 1.5}, c = {}, d = json.decode("[]")}))
			local v = json.decode('{"x": [1, null, {"y": null}], "z": 1e3}') println(v.x[1], v.x[2] == json.null, v.x[3].y, v.z, json.encode(v.x), tostring(json.null))`,
			`{"a":[1,"x",true,1.5],"b":1,"c":{},"d":[]}` + "\n1\ttrue\tnil\t1000\t[1,null,{}]\tnull"},
		{"yaml", `println((yaml.encode({b = 1, a = {1, "x"}, on = "on"}))) local v = yaml.decode("a: [1, null]\nb: {c: yes}\n1: x") println(v.a[2] == yaml.null, v.b.c, v["1"], yaml.decode(""))`,
			"a:\n- 1\n- x\nb: 1\n\"on\": \"on\"\ntrue\ttrue\tx\tnil"},
		{"semver", `println(semver.compare("1.2.3", "1.10.0"), semver.matches("^1.2", "1.9.0"), semver.parse("v1.2.3-rc.1+b").minor, pcall(semver.parse, "x"))`,
			"-1\ttrue\t2\tfalse\ttest.lua:1: bad argument #1 to (anonymous) (invalid version \"x\")"},
		{"what does not exist", `for _, name in ipairs({"load", "loadstring", "loadfile", "dofile", "require", "module", "getfenv", "setfenv", "collectgarbage", "newproxy", "print", "debug", "package", "os", "io", "coroutine", "channel", "http", "cluster", "_printregs"}) do
			if _G[name] ~= nil then println(name) end end println(string.dump)`, "nil"},
		{"a global without value", `println(x)`, "nil"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := run(t, luasandbox.Options{}, tt.script)
			if err != nil || got != tt.want {
				t.Errorf("got %v and\n%s\nwant\n%s", err, got, tt.want)
			}
		})
	}
}

// TestNothingIsLeft checks that no goroutine runs and no state is reachable after Close.
func TestNothingIsLeft(t *testing.T) {
	tests := []struct {
		name, script string
		want         error
	}{
		{"success", "", nil},
		{"time", "while true do wait() end", luasandbox.ErrTimeLimit},
		{"memory", "local t = {} while true do t[#t + 1] = ('x'):rep(1e6) .. #t end", luasandbox.ErrMemoryLimit},
		{"cancellation", "stop() while true do pcall(wait) end", context.Canceled},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			group := luasandbox.NewGroup()
			var state weak.Pointer[luasandbox.State]
			// Test fails if goroutines are left at its end.
			synctest.Test(t, func(t *testing.T) { state = runAndClose(t, group, tt.script, tt.want) })
			// The group is in use, so that it does not keep the state.
			if runtime.GC(); state.Value() != nil {
				t.Error("the state is still reachable")
			}
			runtime.KeepAlive(group)
		})
	}
}

// runAndClose calls a function of a script, which must fail with want, and closes the state.
func runAndClose(t *testing.T, group *luasandbox.Group, script string, want error) weak.Pointer[luasandbox.State] {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	state := luasandbox.New(luasandbox.Options{Group: group, Permissions: []luasandbox.Permission{luasandbox.Network, luasandbox.Filesystem}})
	defer state.Close()
	functions := map[string]luasandbox.GoFunction{
		"stop": func(context.Context, []any) ([]any, error) { cancel(); return nil, nil },
		"wait": func(context.Context, []any) ([]any, error) { time.Sleep(time.Second); return nil, nil },
	}
	if err := state.Register("_G", functions); err != nil {
		t.Fatal(err)
	}
	handler := loadHandler(t, state, "function() "+script+" end")
	if _, err := state.Call(ctx, handler); !errors.Is(err, want) {
		t.Errorf("got %v", err)
	}
	return weak.Make(state)
}

func TestClosed(t *testing.T) {
	state := newState(t, luasandbox.Options{})
	state.Close()
	if err := state.Load(t.Context(), "a.lua", ""); !errors.Is(err, luasandbox.ErrClosed) {
		t.Errorf("got %v", err)
	}
	state.Close()
}

func TestCancellation(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("the user has pressed Ctrl-C")
	state := newState(t, luasandbox.Options{Log: func(string) { cancel(stopped) }})
	err := state.Load(ctx, "a.lua", "log('x')\nwhile true do pcall(function() while true do end end) end")
	if problem := (*luasandbox.Error)(nil); !errors.Is(err, stopped) || !errors.As(err, &problem) || problem.File != "a.lua" || problem.Line != 1 && problem.Line != 2 {
		t.Errorf("got %v", err)
	}
}

func TestCloseStopsCall(t *testing.T) {
	started := make(chan struct{})
	state := newState(t, luasandbox.Options{Log: func(string) { close(started) }})
	result := make(chan error)
	go func() { result <- state.Load(t.Context(), "a.lua", "log('x') while true do end") }()
	<-started
	state.Close()
	if err := <-result; !errors.Is(err, luasandbox.ErrClosed) {
		t.Errorf("got %v", err)
	}
}
