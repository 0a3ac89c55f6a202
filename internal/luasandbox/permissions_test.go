// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package luasandbox_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ordered-helm/helm/internal/luasandbox"
)

// TestPermissions checks what each permission makes available, and that nothing else is.
func TestPermissions(t *testing.T) {
	const list = `local names = {} for name in pairs(_G) do names[#names + 1] = name end
		if os then for name in pairs(os) do names[#names + 1] = "os." .. name end end
		table.sort(names) println(table.concat(names, " "))`
	const base = "_G _VERSION assert error getmetatable ipairs json log math next %spairs pcall println rawequal rawget rawset select semver setmetatable string table tonumber tostring type unpack xpcall yaml"
	tests := []struct {
		permissions []luasandbox.Permission
		want        string
	}{
		{nil, fmt.Sprintf(base, "")},
		{[]luasandbox.Permission{luasandbox.Network}, strings.Replace(fmt.Sprintf(base, ""), "ipairs", "http ipairs", 1)},
		{[]luasandbox.Permission{luasandbox.Environment}, fmt.Sprintf(base, "os os.getenv ")},
		{[]luasandbox.Permission{luasandbox.Filesystem}, strings.Replace(fmt.Sprintf(base, "os os.remove os.rename "), "ipairs", "io ipairs", 1)},
		{[]luasandbox.Permission{luasandbox.Cluster}, strings.Replace(fmt.Sprintf(base, ""), "error", "cluster error", 1)},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.permissions), func(t *testing.T) {
			got, err := run(t, luasandbox.Options{Permissions: tt.permissions}, list)
			if err != nil || got != tt.want {
				t.Errorf("got %v and\n%s\nwant\n%s", err, got, tt.want)
			}
		})
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "in.txt"), []byte("one\ntwo\n\nlast"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	options := luasandbox.Options{Permissions: []luasandbox.Permission{luasandbox.Filesystem}}
	got, err := run(t, options, `
		local f = assert(io.open("in.txt"))
		println(f:read(), f:read(2), f:read("*a"), f:read(), f:close(), pcall(f.read, f))
		for line in io.lines("in.txt") do println("<" .. line .. ">") end
		println(io.open("missing.txt"))
		println(io.open("."))
		println(io.open("in.txt", "x"))
		local out = assert(io.open("out.txt", "w"))
		println(out:write("a", 1, "b"), out:close(), os.rename("out.txt", "new.txt"), os.remove("in.txt"))
		println(os.remove("in.txt") == nil, io.popen, io.stdin, io.stdout, os.execute, os.exit, os.getenv)
		for i = 1, 101 do local f, message = io.open("new.txt") if not f then println(i, message) end end
		println(pcall(f.read, json.null))`)
	const want = `one	tw	o

last	nil	true	false	test.lua:3: bad argument #1 to (anonymous) (the file is closed)
<one>
<two>
<>
<last>
nil	open missing.txt: no such file or directory
nil	. is not a regular file
nil	invalid mode "x"
true	true	true	true
true	nil	nil	nil	nil	nil	nil
101	at most 100 files can be open
false	test.lua:12: bad argument #1 to (anonymous) (file expected)`
	if got = strings.ReplaceAll(got, "The system cannot find the file specified.", "no such file or directory"); err != nil || got != want {
		t.Errorf("got %v and\n%s\nwant\n%s", err, got, want)
	}
	if content, err := os.ReadFile("new.txt"); err != nil || string(content) != "a1b" {
		t.Errorf("got %q, %v", content, err)
	}
}

// TestFilesAreClosed checks that Close closes the files that scripts have left open.
func TestFilesAreClosed(t *testing.T) {
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip("needs /proc")
	}
	name := filepath.Join(t.TempDir(), "file")
	state := luasandbox.New(luasandbox.Options{Permissions: []luasandbox.Permission{luasandbox.Filesystem}})
	if err := state.Load(t.Context(), "a.lua", fmt.Sprintf("f = assert(io.open(%q, 'w'))", name)); err != nil {
		t.Fatal(err)
	}
	isOpen := func() bool {
		links, err := filepath.Glob("/proc/self/fd/*")
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range links {
			if target, err := os.Readlink(link); err == nil && target == name {
				return true
			}
		}
		return false
	}
	if !isOpen() {
		t.Error("the file is not open")
	}
	if state.Close(); isOpen() {
		t.Error("the file is still open")
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("ORDERED_HELM_TEST_VARIABLE", "value")
	options := luasandbox.Options{Permissions: []luasandbox.Permission{luasandbox.Environment}}
	got, err := run(t, options, `println(os.getenv("ORDERED_HELM_TEST_VARIABLE"), os.getenv("ORDERED_HELM_TEST_MISSING"))`)
	if err != nil || got != "value\tnil" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestHTTP(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch r.URL.Path {
		case "/large":
			for {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		case "/slow":
			for r.Context().Err() == nil {
				if _, err := w.Write([]byte("x")); err != nil || http.NewResponseController(w).Flush() != nil {
					return
				}
			}
		case "/redirect":
			http.Redirect(w, r, "/redirect?token=secret", http.StatusFound)
		case "/hanging":
			<-r.Context().Done()
		default:
			w.Header().Set("X-Reply", r.Header.Get("X-Test"))
			w.WriteHeader(http.StatusTeapot)
			fmt.Fprintf(w, "%s %s", r.Method, body)
		}
	}))
	defer server.Close()
	options := luasandbox.Options{Permissions: []luasandbox.Permission{luasandbox.Network}, HTTP: server.Client()}
	call := func(t *testing.T, ctx context.Context, script string) (string, error) {
		var output string
		options.Print = func(line string) { output = line }
		return output, newState(t, options).Load(ctx, "a.lua", fmt.Sprintf("local url = %q\n", server.URL)+script)
	}
	tests := []struct{ name, script, want string }{
		{"redirects without end", `http.get(url .. "/redirect")`, "/redirect: stopped after 10 redirects"},
		{"an invalid URL", `http.get("http://user:secret:x@localhost/%zz?token=secret")`, "the URL is invalid"},
		{"an invalid port", `http.get("http://user:secret/x")`, "the URL is invalid"},
		{"no connection", `http.get("http://user:secret@127.0.0.1:1/x?token=secret")`, "http: GET http://127.0.0.1:1/x: "},
		{"a large response with a secret", `http.get(url:gsub("//", "//user:secret@") .. "/large?token=secret")`, "more than 8388608 bytes"},
		{"get", `local r = http.get(url, {["X-Test"] = "a"}) assert(r.status == 418 and r.headers["x-reply"] == "a" and r.body == "GET ")`, ""},
		{"request", `local r = http.request({url = url, method = "post", body = "b"}) assert(r.body == "POST b")`, ""},
		{"no URL", `http.get()`, "the URL is missing"},
		{"a header that is a table", `http.get(url, {["X-Test"] = {}})`, "the header \"X-Test\" must be a string"},
		{"an invalid header", `http.get(url, {["X-Test"] = "a\nsecret"})`, "invalid header field value"},
		{"an invalid method", `http.request({url = url, method = "a b"})`, "invalid method"},
		{"no table", `http.request("x")`, "needs a table"},
		{"a large response", `http.get(url .. "/large")`, "more than 8388608 bytes"},
		{"an unknown protocol", `http.get("file:///etc/passwd")`, "unsupported protocol scheme"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := call(t, t.Context(), tt.script)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v", err)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the error contains a secret: %v", err)
			}
		})
	}
	t.Run("a slow response", func(t *testing.T) {
		options.Limits = luasandbox.Limits{Time: time.Second / 2, String: -1}
		defer func() { options.Limits = luasandbox.Limits{} }()
		if _, err := call(t, t.Context(), `while true do pcall(http.get, url .. "/slow") end`); !errors.Is(err, luasandbox.ErrTimeLimit) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("cancellation", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		options.Log = func(string) { cancel() }
		if _, err := call(t, ctx, `log("x") pcall(http.get, url .. "/hanging") log("never")`); err == nil || !strings.Contains(err.Error(), "context canceled") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("no client", func(t *testing.T) {
		options.HTTP = nil
		if _, err := call(t, t.Context(), `http.get(url)`); err == nil || !strings.Contains(err.Error(), "not available here") {
			t.Errorf("got %v", err)
		}
	})
}

func TestCluster(t *testing.T) {
	options := luasandbox.Options{
		Permissions: []luasandbox.Permission{luasandbox.Cluster},
		Cluster: map[string]luasandbox.GoFunction{"get": func(_ context.Context, arguments []any) ([]any, error) {
			return []any{map[string]any{"name": arguments[0]}}, nil
		}},
	}
	if got, err := run(t, options, `println(cluster.get("x").name)`); err != nil || got != "x" {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestEscapes runs scripts that try to reach what the sandbox does not provide. None of them may
// print anything.
func TestEscapes(t *testing.T) {
	tests := []struct{ name, script string }{
		{"the metatable of strings", `if getmetatable("") ~= nil then println("reached") end`},
		{"a metatable for strings", `pcall(setmetatable, "", {__index = function() println("changed") end}) local _ = ("").x`},
		{"the metatable of functions", `if getmetatable(print) or pcall(setmetatable, log, {}) then println("changed") end`},
		{"the metatable of null", `if getmetatable(json.null) or pcall(setmetatable, json.null, {}) then println("changed") end`},
		{"fields of null", `println(json.null.x)`},
		{"fields of functions", `println(log.x)`},
		{"the functions of the compiler", `for name in pairs(_G) do if name:find("[^%w_]") then println(name) end end local a = ... if a then println(a) end`},
		{"bytecode", `println(pcall(string.dump, function() end) and "dumped") `},
		{"the environment", `println(getfenv and "getfenv") println(setfenv)`},
		{"the registry", `println(debug.getregistry())`},
		{"threads", `println(coroutine.create(function() end))`},
		{"channels", `println(channel.make())`},
		{"proxies", `println(newproxy(true))`},
		{"garbage collection", `collectgarbage() println("collected")`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, _ := run(t, luasandbox.Options{}, tt.script)
			for line := range strings.Lines(got) {
				if strings.TrimSpace(line) != "nil" && strings.TrimSpace(line) != "false" {
					t.Errorf("got %s", got)
				}
			}
		})
	}
}

// TestStatesAreSeparate checks that no state sees what another one has changed.
func TestStatesAreSeparate(t *testing.T) {
	first, second := newState(t, luasandbox.Options{}), newState(t, luasandbox.Options{})
	if err := first.Load(t.Context(), "a.lua", `x = 1 string.upper = nil math.pi = 3 json.null = 1 table.y = 1`); err != nil {
		t.Fatal(err)
	}
	if err := second.Load(t.Context(), "a.lua", `assert(not x and string.upper and math.pi > 3.1 and json.null ~= 1 and not table.y)`); err != nil {
		t.Error(err)
	}
}
