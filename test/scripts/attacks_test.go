// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package scripts

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// The bounds of every run with scripts: its duration, and the memory that it needs in addition to that
// of a run without scripts.
const (
	maxElapsed = 10 * time.Second
	maxMemory  = 256 << 20
)

// atOnce is the number of attacks that run at the same time.
const atOnce = 3

// attack is a chart that tries to exhaust the machine, to reach what it must not reach, or to control the
// terminal.
type attack struct {
	name   string
	script string
	files  map[string]string // in addition to the script
	args   []string
	// lint says that helm lints the chart, instead of rendering it.
	lint bool
	// want is on stderr of the run, which must fail. If it is empty, the run must succeed: the attack
	// has no effect.
	want string
}

// position is in the errors of scripts that name the file and the line.
const position = `chart "app": ext/lua/script.lua:1: `

// exhausting contains the attacks on time and memory.
var exhausting = []attack{
	{name: "loop while loading", script: "while true do end", want: position + "the script takes too long"},
	{name: "loop in a handler", script: on("post-render", "while true do pcall(function() while true do end end) end"), want: position + "the script takes too long"},
	{name: "slow handlers", script: "for i = 1, 1000 do " + on("pre-render", "for i = 1, 2e7 do end") + " end", want: position + "the script takes too long: the handlers of pre-render ran for more than"},
	{name: "scripts that are slow together", script: "for i = 1, 1e8 do end", files: map[string]string{
		"ext/lua/a.lua": "for i = 1, 1e8 do end", "ext/lua/b.lua": "for i = 1, 1e8 do end", "ext/lua/c.lua": "for i = 1, 1e8 do end", "ext/lua/d.lua": "for i = 1, 1e8 do end",
	}, want: "the script takes too long"},
	{name: "backtracking pattern", script: on("pre-render", `while true do pcall(string.find, ("a"):rep(1000), (".*"):rep(20) .. "b") end`), want: position + "the script takes too long"},
	{name: "error object that loops", script: "error(setmetatable({}, {__tostring = function() while true do end end}))", want: position + "an error object of the type table"},
	{name: "recursion", script: on("pre-render", "local function f() return 1 + f() end f()"), want: position + "stack overflow"},
	{name: "recursion in pcall", script: on("pre-render", "local function f() pcall(f) f() end f()"), want: "ext/lua/script.lua:1: "},
	{name: "string.rep", script: `("x"):rep(1e10)`, want: position + "a string can have at most"},
	{name: "large strings", script: on("pre-render", `local t = {} while true do t[#t + 1] = ("x"):rep(8e6) end`), want: position + "the script needs too much memory"},
	{name: "large strings in pcall", script: on("pre-render", `local t = {} while true do pcall(function() t[#t + 1] = ("x"):rep(8e6) end) end`), want: position + "the script needs too much memory"},
	{name: "concatenation that doubles", script: `local s = "x" while true do s = s .. s end`, want: position + "a string can have at most"},
	{name: "index of a list", script: "local t = {} t[67108863] = 1", want: position + "the index 67108863 is too large"},
	{name: "table without end", script: `local t = {} for i = 1, 1e9 do t["k" .. i] = {} end`, want: position + "the script needs too much memory"},
	{name: "tables that are nested", script: "local t = {} while true do t = {t} end", want: position + "the script needs too much memory"},
	{name: "coroutines", script: "while true do coroutine.wrap(function() end) end", want: position + "attempt to index a non-table object(nil) with key 'wrap'"},
	{name: "printed text", script: `while true do println(("x"):rep(1000)) end`, want: position + "the script writes too much output"},
	{name: "logged text", script: `while true do pcall(log, "x") end`, args: []string{"--debug"}, want: position + "the script writes too much output"},
	{name: "printed text of many handlers", script: "for i = 1, 1000 do " + on("pre-render", `for i = 1, 1000 do println("x") end`) + " end", want: position + "the script writes too much output: the scripts of all charts"},
	{name: "long error", script: on("pre-render", `error(("x"):rep(8e6))`), want: position + "xxx"},
	{name: "long name of an event", script: `while true do pcall(events.on, ("x"):rep(8e6), 0, print) end`, want: position + "the script "},
	{name: "handlers without end", script: "while true do " + on("pre-render", "") + " end", want: position + "the script "},
	{name: "values that are kept", script: "local kept = {} for i = 1, 100 do " + on("pre-render", `kept[#kept + 1] = ("x"):rep(8e6)`) + " end", want: position + "the script needs too much memory"},
	{name: "huge values", script: "for i = 1, 100 do " + on("pre-render", `values["v" .. i] = ("x"):rep(1e6)`) + " end", want: position + "the handler of pre-render has added too much to the values"},
	{name: "values that contain themselves", script: on("pre-render", "values.a = values"), want: position + "the handler of pre-render has changed the values to something that is not YAML"},
	{name: "values that double", script: on("pre-render", "local t = {} for i = 1, 60 do t = {t, t} end values.a = t"), want: position + "the handler of pre-render has changed the values to something that is not YAML: the value is too large"},
	{name: "many documents", script: on("post-render", `for i = 1, 1e6 do manifest[i + 1] = {kind = "C"} end`), want: "ext/lua/script.lua:1: the "},
	{name: "documents of many handlers", script: "for i = 1, 100 do " + on("post-render", `for j = 1, 5000 do table.insert(manifest, {apiVersion = "v1", kind = "C", metadata = {name = i .. "." .. j}}) end`) + " end", want: position + "the handler of post-render has added too much to the manifest"},
	{name: "large document", script: on("post-render", `local t = {} for i = 1, 1e6 do t[i] = 1 end manifest[1].data = t`), want: position + "the handler of post-render has added too much to the manifest"},
	{name: "largest documents", script: `kept = {} for i = 1, 50 do kept[i] = ("x"):rep(1e6) .. i end ` +
		on("post-render", `local t = {} for i = 1, 400 do local u = {} for j = 1, 95 do u = {u} end t[i] = u end manifest[1].data = t manifest[1].binaryData = {a = ("\1"):rep(450000)}`)},
	{name: "deep document", script: on("post-render", "local t = {} for i = 1, 1e4 do t = {t} end manifest[1].data = t"), want: position + "the handler of post-render has changed the manifest to something that is not a list of documents: element 1: tables are nested more than 100 levels deep"},
	{name: "deep script", script: "x = " + strings.Repeat("{", 100_000), want: "ext/lua/script.lua"},
	{name: "loop in lint", lint: true, script: on("post-render", "while true do end"), want: "ext/lua/script.lua:1: a handler of post-render failed: the script takes too long"},
	{name: "printed text in lint", lint: true, script: "for i = 1, 1000 do " + on("pre-render", `for i = 1, 1000 do println("x") end`) + " end", want: "the script writes too much output"},
	{name: "large strings in lint", lint: true, script: `local t = {} while true do t[#t + 1] = ("x"):rep(8e6) end`, want: "the script needs too much memory"},
	{name: "many charts", script: `kept = ("x"):rep(8e6)`, files: subcharts(30, `kept = ("x"):rep(8e6)`), want: "the script needs too much memory"},
}

// subcharts returns the files of subcharts that have the same script.
func subcharts(count int, script string) map[string]string {
	files := map[string]string{}
	for i := range count {
		dir := fmt.Sprintf("charts/sub%d/", i)
		files[dir+"Chart.yaml"] = strings.Replace(metadata, "app", fmt.Sprint("sub", i), 1)
		files[dir+"ext/lua/script.lua"] = script
	}
	return files
}

// absent fails if a script can reach one of the functions that can leave the sandbox.
const absent = `for _, name in ipairs({"io", "os", "package", "debug", "coroutine", "http", "cluster", "require", "module", "dofile", "loadfile", "load", "loadstring", "newproxy", "setfenv", "getfenv", "collectgarbage", "print", "ffi", "channel"}) do
  assert(_G[name] == nil, "reached " .. name)
end
assert(string.dump == nil, "reached string.dump")`

// escaping contains the attacks on what scripts must not reach, and on the terminal.
var escaping = []attack{
	{name: "functions", script: absent},
	{name: "functions through metatables", script: `local m = getmetatable("") assert(type(m) ~= "table" or m.__index ~= string) assert(not pcall(function() m.__index = {} end)) assert(("x"):upper() == "X")`},
	{name: "metatables of values", script: on("post-render", `for _, v in ipairs({values, manifest, chart, json.null, println}) do local ok, m = pcall(getmetatable, v) if ok and type(m) == "table" then for k, f in pairs(m) do pcall(f, {}) pcall(f) end end end`)},
	{name: "arguments of functions", script: `for _, library in ipairs({string, table, math, json, yaml, semver, events}) do for name, f in pairs(library) do for _, v in ipairs({nil, 0, -1, "x", {}, json.null, f}) do pcall(f, v) pcall(f, v, v) pcall(f, v, v, v) end end end`},
	{name: "file", script: `io.open("/etc/passwd")`, want: position + "attempt to index a non-table object(nil) with key 'open'"},
	{name: "environment", script: `println(os.getenv("SECRET_OF_USER"))`, want: position + "attempt to index a non-table object(nil) with key 'getenv'"},
	{name: "process", script: `os.execute("true")`, want: position + "attempt to index a non-table object(nil) with key 'execute'"},
	{name: "process with the permission for files", script: `io.popen("true")`, files: map[string]string{"ext/permissions.yaml": "lua: [filesystem, environment]"}, args: []string{"--yes"}, want: position + "attempt to call a non-function"},
	{name: "end of the process", script: `os.exit(0)`, files: map[string]string{"ext/permissions.yaml": "lua: [filesystem, environment]"}, args: []string{"--yes"}, want: position + "attempt to call a non-function"},
	{name: "socket", script: `http.get("http://127.0.0.1:1")`, want: position + "attempt to index a non-table object(nil) with key 'get'"},
	{name: "Secret", script: `cluster.get("v1", "Secret", "default", "s")`, files: map[string]string{"ext/permissions.yaml": "lua: [cluster]"}, args: []string{"--yes"}, want: position + "scripts cannot read Secrets"},
	{name: "file that is not regular", script: `io.open("/dev/zero"):read("*a")`, files: map[string]string{"ext/permissions.yaml": "lua: [filesystem]"}, args: []string{"--yes"}, want: position},
	{name: "permission of another chart", script: "", files: map[string]string{
		"ext/permissions.yaml": "lua: [filesystem]", "charts/sub/Chart.yaml": strings.Replace(metadata, "app", "sub", 1), "charts/sub/ext/lua/script.lua": absent,
	}, args: []string{"--yes"}},
	{name: "state of another chart", script: `assert(secret == nil and ("x"):rep(2) == "xx" and table.insert and pairs and events)`, files: map[string]string{
		"charts/sub/Chart.yaml":         strings.Replace(metadata, "app", "sub", 1),
		"charts/sub/ext/lua/script.lua": `secret = 1 string.rep = nil table.insert = nil pairs = nil setmetatable(_G, {__index = function() return 1 end}) events.on = nil events = nil`,
	}},
	{name: "documents of another chart", script: "", files: map[string]string{
		"charts/sub/Chart.yaml":         strings.Replace(metadata, "app", "sub", 1),
		"charts/sub/ext/lua/script.lua": on("post-render", `assert(#manifest == 0) table.insert(manifest, 1, {kind = "ConfigMap", apiVersion = "v1", metadata = {name = "app"}})`),
	}, want: "app"},
	{name: "functions in values", script: on("pre-render", "values.f = function() end"), want: position + "the handler of pre-render has changed the values to something that is not YAML: a function is not allowed"},
	{name: "functions in documents", script: on("post-render", "manifest[1].data = {f = println}"), want: position + "the handler of post-render has changed the manifest to something that is not YAML: a function is not allowed"},
	{name: "keys that are NaN", script: on("post-render", `manifest[1].data = {[0/0] = "x"}`), want: position + "the key of a table cannot be NaN"},
	{name: "numbers that are NaN", script: on("post-render", `manifest[1].data = {x = 0/0}`), want: position + "the handler of post-render has changed the manifest to something that is not YAML: the number NaN is not allowed"},
	{name: "keys that are numbers", script: on("post-render", `manifest[1].data = {x = 1, [1] = 2}`), want: position + "the handler of post-render has changed the manifest"},
	{name: "control characters in output", script: `println("\27[2J\27]0;title\7 \r\8\0\127\194\155\226\128\174\226\129\166")`},
	{name: "control characters in the log", script: `log("\27[2J\r\194\155\226\128\174")`, args: []string{"--debug"}},
	{name: "control characters in an error", script: `error("\27[2J\r\194\155\226\128\174")`, want: position},
	{name: "control characters in an error object", script: `error(setmetatable({}, {__tostring = function() return "\27[2J" end}))`, want: position},
	{name: "control characters in the name of an event", script: `events.on("\27[2J\226\128\174", 0, println)`, want: position + "there is no event"},
	{name: "control characters in the script", script: "x = = '\x1b[2J'", want: "ext/lua/script.lua:1: "},
	{name: "control characters in an error in lint", lint: true, script: on("pre-render", `error("\27[2J\r\194\155\226\128\174")`), want: "ext/lua/script.lua:1: a handler of pre-render failed"},
	{name: "control characters in documents", script: on("post-render", `table.insert(manifest, {apiVersion = "v1", kind = "ConfigMap", metadata = {name = "a\27[2J"}})`)},
	{name: "control characters in the name of a file", script: "", files: map[string]string{"ext/lua/\x1b[2J\u202e.lua": "error('x')"}, want: ".lua:1: x"},
	{name: "control characters in the name of a file that adds documents", script: "", files: map[string]string{
		"ext/lua/\x1b[2J\u202e.lua": on("post-render", `table.insert(manifest, {apiVersion = "v1", kind = "ConfigMap", metadata = {name = "a"}})`),
	}},
	{name: "control characters in permissions", script: "", files: map[string]string{"ext/permissions.yaml": `lua: ["\e[2J\u202e"]`}, want: "ext/permissions.yaml:1: there is no permission"},
	{name: "control characters in the annotation", script: "", files: map[string]string{"Chart.yaml": "apiVersion: v2\nname: app\nversion: 0.1.0\nannotations: {helm.sh/scripts: \"\\e[2J\"}\n"}, want: `must be "enabled" or "disabled"`},
}

// TestAttacks checks that attacks end in time, with limited memory, and without reaching anything.
func TestAttacks(t *testing.T) {
	t.Parallel()
	testAttacks(t, append(exhausting, escaping...))
}

// TestAttacksUnderLoad checks the bounds of the attacks on time and memory while other processes use all
// processors. It needs a minute.
func TestAttacksUnderLoad(t *testing.T) {
	if os.Getenv("ORDERED_HELM_SOAK") == "" {
		t.Skip("part of make soak")
	}
	for range runtime.NumCPU() {
		go func() {
			for t.Context().Err() == nil {
			}
		}()
	}
	testAttacks(t, exhausting)
}

func testAttacks(t *testing.T, attacks []attack) {
	t.Helper()
	base := runHelm(t, "template", "rel", writeChart(t, "", map[string]string{"Chart.yaml": strings.Replace(metadata, "enabled", "disabled", 1)}))
	base.expect(t)
	running := make(chan struct{}, atOnce)
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			running <- struct{}{}
			defer func() { <-running }()
			chart := writeChart(t, a.script, a.files)
			var r result
			if a.lint {
				r = runHelm(t, "lint", chart)
				r.stderr = r.stdout + r.stderr
			} else {
				r = runHelm(t, append([]string{"template", "rel", chart}, a.args...)...)
			}
			// On a busy machine, a script can reach the limit of time before that of memory.
			const slow = "the script takes too long"
			switch {
			case a.want == "":
				r.expect(t)
			case strings.Contains(a.want, "too much memory") && strings.Contains(r.stderr, slow):
				r.expect(t, slow)
			default:
				r.expect(t, a.want)
			}
			if r.elapsed > maxElapsed {
				t.Errorf("helm ran for %s", r.elapsed)
			}
			if more := r.memory - base.memory; more > maxMemory {
				t.Errorf("helm needs %d MiB more than without scripts", more>>20)
			}
			t.Logf("%s, %d MiB more than without scripts", r.elapsed.Round(time.Millisecond), (r.memory-base.memory)>>20)
		})
	}
}
