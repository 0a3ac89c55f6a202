// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package luasandbox_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ordered-helm/helm/internal/luasandbox"
)

// tooLong is the error of the attacks that run until the limit of time. Most of them run with a
// smaller one than the default, to save time.
const tooLong = "takes too long"

// attacks contains scripts that try to exhaust the machine. Each of them must end with an error
// that contains want, and names the file.
var attacks = []struct{ name, script, want string }{
	{"loop", `while true do end`, tooLong},
	{"loop of goto", `::a:: goto a`, tooLong},
	{"pcall around a loop", `while true do pcall(function() while true do end end) end`, tooLong},
	{"nested pcall", `local function f() pcall(f) pcall(f) end f()`, tooLong},
	{"xpcall around a loop", `local function f() while true do end end while true do xpcall(f, function() f() end) end`, tooLong},
	{"xpcall with a library function", `while true do xpcall(function() while true do end end, tostring) end`, tooLong},
	{"recursion", `local function f() return 1 + f() end f()`, "stack overflow"},
	{"tail recursion", `local function f() return f() end f()`, "stack overflow"},
	{"recursion through metatables", `local t = setmetatable({}, {}) getmetatable(t).__index = function(t, k) return t[k .. "x"] end println(t.a)`, "stack overflow"},
	{"metatables in a circle", `local a, b = {}, {} setmetatable(a, {__index = b}) setmetatable(b, {__index = a}) println(a.x)`, "too many recursions"},
	{"string of doubled length", `local s = "x" while true do s = s .. s end`, "a string can have at most"},
	{"string in a pcall", `local s = "x" while true do pcall(function() s = s .. s end) end`, tooLong},
	{"many strings", `local t = {} for i = 1, 1e9 do t[i] = ("x"):rep(1000) .. i end`, "too much memory"},
	{"large strings", `local t = {} for i = 1, 1e9 do t[i] = ("x"):rep(8000000) end`, "too much memory"},
	{"large strings in a pcall", `local t = {} while true do pcall(function() for i = 1, 1e9 do t[#t + 1] = ("x"):rep(8000000) .. "y" end end) end`, "too much memory"},
	{"string.rep", `("x"):rep(1e10)`, "a string can have at most"},
	{"string.rep of negative size", `("x"):rep(4611686018427387905)`, "a string can have at most"},
	{"string.format", `string.format("%99999999d", 1)`, "invalid option"},
	{"string.format with strings", `local s = ("x"):rep(8e6) string.format("%s%s%s", s, s, s)`, "a string can have at most"},
	{"string.format of a literal", `local s = ("\n"):rep(8e6) string.format("%q", s)`, "a string can have at most"},
	{"string.upper", `local s = ("x"):rep(8e6) local t = {} while true do t[#t + 1] = s:upper() end`, "too much memory"},
	{"string.byte", `local s = ("x"):rep(8e6) s:byte(1, -1)`, "string slice too long"},
	{"table.concat", `local t = {} local s = ("x"):rep(1e5) for i = 1, 1000 do t[i] = s end table.concat(t)`, "a string can have at most"},
	{"table.concat of a huge range", `table.concat({}, "x", 1, 2^50)`, "invalid value"},
	{"gsub that grows", `local s = ("x"):rep(1e6) s:gsub("x", ("y"):rep(1e6))`, "a string can have at most"},
	{"gsub with captures that grow", `local s = ("x"):rep(1e6) s:gsub("(.*)", ("%1"):rep(1e5))`, "a string can have at most"},
	{"gsub with functions", `("x"):rep(8e6):gsub("x", function() while true do end end)`, tooLong},
	{"backtracking pattern", `("a"):rep(1000):find((".-"):rep(20) .. "b")`, "too many steps"},
	{"backtracking pattern in a pcall", `while true do pcall(string.find, ("a"):rep(1000), (".*"):rep(20) .. "b") end`, tooLong},
	{"backtracking gmatch", `for _ in ("a"):rep(1e6):gmatch(".-b") do end`, "too many steps"},
	{"balanced pattern", `("("):rep(8e6):find("%b()")`, "too many steps"},
	{"back references", `("x"):rep(8e6):find("(.*)(.*)%1%2%1y")`, "too many steps"},
	{"long pattern", `("x"):find(("x*"):rep(1e6))`, "a pattern can have at most"},
	{"nested captures", `("x"):find(("("):rep(1000))`, "more than 32 captures"},
	{"comparisons of strings", `local a, b = ("x"):rep(8e6), ("x"):rep(8e6) while a <= b do end`, tooLong},
	{"arithmetic with strings", `local s = ("x"):rep(8e6) while true do pcall(function() return s + 1 end) end`, tooLong},
	{"tonumber of strings", `local s = ("1"):rep(8e6) while true do tonumber(s) end`, tooLong},
	{"index of a list", `local t = {} t[67108863] = 1`, "the index 67108863 is too large"},
	{"index in a constructor", `local t = {[67108863] = 1}`, "the index 67108863 is too large"},
	{"index with rawset", `rawset({}, 67108863, 1)`, "the index 67108863 is too large"},
	{"index with table.insert", `table.insert({}, 67108863, 1)`, "the index 67108863 is too large"},
	{"index of several assignments", `local t, a = {} a, t[67108863] = 1, 2`, "the index 67108863 is too large"},
	{"index through __newindex", `local t = setmetatable({}, {__newindex = {}}) t[67108863] = 1`, "the index 67108863 is too large"},
	{"many indexes", `local tables = {} while true do local t = {} for i = 1, 20 do t[1048576] = 1 tables[#tables + 1] = t end end`, "too much memory"},
	{"list without end", `local t = {} for i = 1, 1e9 do t[i] = i end`, "is too large"},
	{"map without end", `local t = {} for i = 1, 1e9 do t["k" .. i] = true end`, "too much memory"},
	{"map with deleted keys", `local t = {} for i = 1, 1e9 do t["k" .. i] = true t["k" .. i] = nil end`, "the script "},
	{"keys that are NaN", `local t = {} while true do t[0/0] = 1 end`, "cannot be NaN"},
	{"tables without end", `local t = {} while true do t = {t, {}, {}} end`, "too much memory"},
	{"large constructors", `local t = {} while true do t[#t + 1] = {` + strings.Repeat("x=1,", 60) + `} end`, "too much memory"},
	{"functions without end", `local t = {} while true do local x = t t = function() return x end end`, "too much memory"},
	{"arguments without end", `local function f(...) return f(1, ...) end f()`, "overflow"},
	{"unpack", `unpack({}, 1, 1e9)`, "too many results"},
	{"unpack of negative size", `unpack({}, -4611686018427387905, 4611686018427387905)`, "too many results"},
	{"unpack doubled", `local function f(...) return f(..., ...) end local t = {} for i = 1, 7000 do t[i] = i end local function g(...) local t = {...} return g(unpack(t), unpack(t)) end g(unpack(t)) f(unpack(t))`, "overflow"},
	{"sort without order", `local t = {} for i = 1, 1e5 do t[i] = i end while true do table.sort(t, function() return true end) end`, tooLong},
	{"sort that changes the list", `local t = {} for i = 1, 1000 do t[i] = i end while true do table.sort(t, function(a, b) t[#t + 1] = a return a > b end) end`, "a"},
	{"sort of long strings", `local t = {} local s = ("x"):rep(8e6) for i = 1, 1e6 do t[i] = s end table.sort(t)`, tooLong},
	{"output", `while true do println(("x"):rep(1000)) end`, "too much output"},
	{"output of empty lines", `while true do println() end`, "too much output"},
	{"output in a pcall", `while true do pcall(println, ("x"):rep(1e6)) end`, "too much output"},
	{"log", `while true do log("x") end`, "too much output"},
	{"output of a long line", `println(("x"):rep(8e6))`, "too much output"},
	{"error with a long message", `error(("x"):rep(8e6))`, "… (8000000 bytes)"},
	{"error with an object", `error(setmetatable({}, {__tostring = function() while true do end end}))`, "an error object of the type table"},
	{"__tostring without end", `tostring(setmetatable({}, {__tostring = function() while true do end end}))`, tooLong},
	{"__tostring of itself", `local t = {} setmetatable(t, {__tostring = function() return tostring(t) end}) tostring(t)`, "stack overflow"},
	{"coroutines", `while true do coroutine.create(function() end) end`, "nil"},
	{"string.dump", `string.dump(function() end)`, "attempt to call a non-function"},
	{"JSON of a circle", `local t = {} t.t = t json.encode(t)`, "nested more than 100 levels"},
	{"JSON that doubles", `local t = {} for i = 1, 60 do t = {t, t} end json.encode(t)`, "the value is too large"},
	{"JSON of long strings", `local s = ("\0"):rep(8e6) json.encode({s, s, s})`, "the value is too large"},
	{"JSON of escaped strings", `local t = {} local s = ("\0"):rep(1e6) while true do t[#t + 1] = json.encode(s) end`, "too much memory"},
	{"JSON of deep values", `local t = {} for i = 1, 1e5 do t = {t} end json.encode(t)`, "nested more than 100 levels"},
	{"deep JSON", `json.decode(("["):rep(1e6))`, "nested more than 100 levels"},
	{"large JSON", `local t = {} while true do t[#t + 1] = json.decode("[" .. ("[],"):rep(345000) .. "1]") end`, "too much memory"},
	{"long JSON", `json.decode(("x"):rep(8e6))`, "can have at most"},
	{"YAML of a circle", `local t = {} t.t = t yaml.encode(t)`, "nested more than 100 levels"},
	{"YAML that doubles", `local t = {} for i = 1, 60 do t = {t, t} end yaml.encode(t)`, "the value is too large"},
	{"large YAML to encode", `local t = {} for i = 1, 1e4 do t[i] = {} end while true do yaml.encode(t) end`, tooLong},
	{"deep YAML", `yaml.decode(("["):rep(1e6))`, "depth"},
	{"deep YAML in blocks", `yaml.decode(("- "):rep(5e5))`, "depth"},
	{"YAML with aliases", `local s = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n" for i = 1, 9 do s = s .. ("a%d: &a%d [%s*a%d]\n"):format(i, i, ("*a%d,"):format(i - 1):rep(8), i - 1) end yaml.decode(s)`, "excessive aliasing"},
	{"large YAML", `local t = {} while true do t[#t + 1] = yaml.decode("[" .. ("[],"):rep(345000) .. "1]") end`, "too much memory"},
	{"YAML with many maps", `local t = {} while true do t[#t + 1] = yaml.decode("[" .. ("{a: 1},"):rep(145000) .. "1]") end`, "the script "},
	{"YAML with many empty maps", `local t = {} while true do t[#t + 1] = yaml.decode("[" .. ("{},"):rep(340000) .. "1]") end`, "the script "},
	{"large YAML in a pcall", `while true do pcall(yaml.decode, ("- a\n"):rep(250000)) end`, "the script "},
	{"deep expressions", strings.Repeat("(", 200000), "at the end of the file"},
	{"deep tables", "x = " + strings.Repeat("{", 100000) + strings.Repeat("}", 100000), "nested more than 1000 levels"},
	{"deep blocks", strings.Repeat("do ", 30000) + strings.Repeat("end ", 30000), "nested more than 1000 levels"},
	{"long chain of operators", "x = 1" + strings.Repeat("+y", 100000), "nested more than 1000 levels"},
	{"long chain of concatenations", `x = ""` + strings.Repeat("..y", 50000), "at most 200 operands"},
	{"many constants", constants(10000), "more than 4000 different"},
	{"constants below the limit", constants(3900) + strings.Repeat("y=1 ", 20000) + "error('x')", "x"},
	{"long script", strings.Repeat(" ", 300000), "but can have at most"},
	{again + "memory of earlier calls", `keep = keep or {} for i = 1, 200000 do keep[#keep + 1] = {i} end`, "too much memory"},
	{again + "strings of earlier calls", `keep = keep or {} for i = 1, 30 do keep[#keep + 1] = ("x"):rep(1e6) .. i end`, "too much memory"},
}

// again is the beginning of the names of attacks whose script is run until it fails.
const again = "again: "

// constants returns a script with n different strings.
func constants(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "x='%d' ", i)
	}
	return b.String()
}

const (
	// attackVariable names the attack that a child process runs.
	attackVariable = "ORDERED_HELM_TEST_ATTACK"
	// maxAttackTime and maxAttackMemory are the bounds of section 7 of the contract.
	maxAttackTime   = 10 * time.Second
	maxAttackMemory = 256 << 20
)

// TestMain runs an attack instead of the tests in child processes.
func TestMain(m *testing.M) {
	name := os.Getenv(attackVariable)
	if name == "" {
		os.Exit(m.Run())
	}
	before := peakMemory()
	var script string
	options := luasandbox.Options{Owner: "attack"}
	for _, attack := range attacks {
		if attack.name == name {
			script = attack.script
			if attack.want == tooLong {
				options.Limits.Time = 2 * time.Second
			}
		}
	}
	start := time.Now()
	state := luasandbox.New(options)
	defer state.Close()
	var err error
	for calls := 0; calls == 0 || calls < 100 && err == nil && strings.HasPrefix(name, again); calls++ {
		err = state.Load(context.Background(), "attack.lua", script)
	}
	fmt.Printf("%d %d\n", time.Since(start).Milliseconds(), peakMemory()-before)
	if err != nil {
		if problem := (*luasandbox.Error)(nil); !errors.As(err, &problem) || problem.File != "attack.lua" || problem.Line == 0 && !strings.Contains(err.Error(), "can have at most") {
			fmt.Printf("the error %T has no position: ", err)
		}
		fmt.Println(err)
	}
}

// peakMemory returns the peak of the resident memory of the process in bytes.
func peakMemory() int {
	status, err := os.Open("/proc/self/status")
	if err != nil {
		return 0
	}
	defer func() { _ = status.Close() }()
	for lines := bufio.NewScanner(status); lines.Scan(); {
		if value, found := strings.CutPrefix(lines.Text(), "VmHWM:"); found {
			kib, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " kB"))
			return kib << 10
		}
	}
	return 0
}

// TestAttacks runs each attack in a child process, whose peak memory it measures. The limits of
// time are the contract of the sandbox, so that this is the only test that checks a duration.
func TestAttacks(t *testing.T) {
	program := os.Args[0]
	if raceEnabled {
		// The race detector multiplies the time and memory that scripts need.
		program = filepath.Join(t.TempDir(), "attacks.test")
		build := exec.CommandContext(t.Context(), "go", "test", "-c", "-race=false", "-trimpath", "-buildvcs=false", "-o", program, ".")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if output, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, output)
		}
	}
	for _, attack := range attacks {
		t.Run(attack.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 2*maxAttackTime)
			defer cancel()
			child := exec.CommandContext(ctx, program)
			child.Env = append(os.Environ(), attackVariable+"="+attack.name)
			output, err := child.CombinedOutput()
			if err != nil {
				t.Fatalf("the process failed: %v\n%.2000s", err, output)
			}
			measured, message, _ := strings.Cut(string(output), "\n")
			var milliseconds, memory int
			if _, err := fmt.Sscan(measured, &milliseconds, &memory); err != nil {
				t.Fatalf("%v: %s", err, output)
			}
			t.Logf("%d ms, %d MiB, %.300s", milliseconds, memory>>20, message)
			if !strings.HasPrefix(message, "attack: attack.lua:") || !strings.Contains(message, attack.want) {
				t.Errorf("got %.1000s", message)
			}
			if duration := time.Duration(milliseconds) * time.Millisecond; duration > maxAttackTime {
				t.Errorf("the script ran for %s", duration)
			}
			if memory > maxAttackMemory {
				t.Errorf("the script needed %d MiB", memory>>20)
			}
		})
	}
}
