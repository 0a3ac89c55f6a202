// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package luaplugin_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/cli"
	"helm.sh/helm/v3/pkg/getter"
	"helm.sh/helm/v3/pkg/plugin"

	"github.com/ordered-helm/helm/internal/clusterscript"
	"github.com/ordered-helm/helm/internal/luaplugin"
	"github.com/ordered-helm/helm/internal/luasandbox"
)

// asHelm is the environment variable that makes this test binary print its arguments, like a helm
// that a script runs.
const asHelm = "LUAPLUGIN_TEST_AS_HELM"

func TestMain(m *testing.M) {
	if os.Getenv(asHelm) != "" {
		if os.Args[1] == "wait" {
			recordEnd(os.Args[2])
			return
		}
		fmt.Print(strings.Join(os.Args[1:], ","))
		fmt.Fprint(os.Stderr, "warning")
		os.Exit(len(os.Args) - 1)
	}
	os.Exit(m.Run())
}

// recordEnd creates a file, waits for SIGTERM and writes "recorded" to the file, like a helm that
// records that its operation was stopped.
func recordEnd(file string) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	_ = os.WriteFile(file, nil, 0o600)
	<-signals
	_ = os.WriteFile(file, []byte("recorded"), 0o600)
}

// TestHelmCanceled checks that the end of the context tells a helm that a script runs to end, and that
// the script waits for it.
func TestHelmCanceled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	file := filepath.Join(t.TempDir(), "file")
	program := &luaplugin.Program{
		File:        filepath.Join(writeFiles(t, map[string]string{"main.lua": `helm.run("wait", arg[1]) error("not reached")`}), "main.lua"),
		Arguments:   []string{file},
		Environment: append(os.Environ(), asHelm+"=1"),
		Stdin:       strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard,
	}
	interrupted := errors.New("interrupted")
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(file); err == nil {
				cancel(interrupted)
			}
			time.Sleep(time.Millisecond)
		}
	}()
	if err := program.Run(ctx); !errors.Is(err, interrupted) {
		t.Errorf("got %v", err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "recorded" {
		t.Errorf("got %q, %v: helm could not record how it ended", got, err)
	}
}

func TestRun(t *testing.T) {
	for name, tt := range map[string]struct {
		source string
		stdin  string
		want   string
		code   int
		err    string
	}{
		"streams":           {source: `io.stderr:write("e") print(io.read("*a"))`, stdin: "text", want: "text\n"},
		"arguments":         {source: `print(#arg, arg[1], arg[2])`, want: "2\tone\ttwo words\n"},
		"environment":       {source: `print(os.getenv("A"), os.getenv("PATH"))`, want: "last\tnil\n"},
		"exit code":         {source: `os.exit(3)`, code: 3},
		"error":             {source: "\nlocal x = nil + 1", err: `plugin "test": main.lua:2:`},
		"interpreter line":  {source: "#!/usr/bin/lua\nprint('x')\nerror('here')", want: "x\n", err: "main.lua:3: here"},
		"byte order mark":   {source: "\ufeffprint('x')\nerror('here')", want: "x\n", err: "main.lua:2: here"},
		"mark and line":     {source: "\ufeff#!/usr/bin/lua\r\nprint('x')\r\n", want: "x\n"},
		"exit in handlers":  {source: `pcall(function() xpcall(function() return setmetatable({}, {__index = function() os.exit(7) end}).x end, function() os.exit(8) end) end) print("not reached")`, code: 7},
		"all libraries":     {source: `print(type(io), type(http), type(cluster), type(os.getenv), type(yaml), type(json), type(semver))`, want: "table\ttable\ttable\tfunction\ttable\ttable\ttable\n"},
		"println":           {source: `println("a", 1)`, want: "a\t1\n"},
		"no limits":         {source: `local s = ("x"):rep(20 * 1024 * 1024) io.write(#s)`, want: "20971520"},
		"helm":              {source: `local r = helm.run("get", "manifest", 7) print(r.code, r.stdout, r.stderr)`, want: "3\tget,manifest,7\twarning\n"},
		"helm, no string":   {source: `helm.run({})`, err: "helm.run: argument 1 must be a string"},
		"no Secrets":        {source: `cluster.get("v1", "Secret", "default", "x")`, err: "scripts cannot read Secrets"},
		"empty cluster":     {source: `print(cluster.get("v1", "Pod", "default", "x"))`, want: "nil\n"},
		"standard input":    {source: `for line in io.lines() do io.write("<", line, ">") end`, stdin: "a\nb", want: "<a><b>"},
		"nothing to report": {source: ``},
	} {
		t.Run(name, func(t *testing.T) {
			dir := writeFiles(t, map[string]string{"main.lua": tt.source})
			var out bytes.Buffer
			program := &luaplugin.Program{
				Owner: `plugin "test"`, File: filepath.Join(dir, "main.lua"), Arguments: []string{"one", "two words"},
				Environment: []string{"A=first", "A=last", asHelm + "=1"},
				Stdin:       strings.NewReader(tt.stdin), Stdout: &out, Stderr: io.Discard,
				Cluster: clusterscript.Functions(nil),
			}
			err := program.Run(t.Context())
			exit, exited := errors.AsType[*luasandbox.ExitError](err)
			switch {
			case tt.code != 0:
				if !exited || exit.Code != tt.code {
					t.Errorf("got the error %v, want the exit code %d", err, tt.code)
				}
			case tt.err != "":
				if err == nil || exited || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got the error %v, want %q", err, tt.err)
				}
			case err != nil:
				t.Error(err)
			}
			if out.String() != tt.want {
				t.Errorf("got %q, want %q", out.String(), tt.want)
			}
		})
	}
}

// TestCancel checks that the end of the context ends a script, even one that waits for its input, and
// that no script catches it.
func TestCancel(t *testing.T) {
	for name, source := range map[string]string{
		"loop":    `io.write("started") while true do pcall(function() while true do end end) end`,
		"waiting": `io.write("started") pcall(io.read) while true do end`,
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			interrupted, started := errors.New("interrupted"), make(chan struct{})
			in, input, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _, _ = in.Close(), input.Close() })
			program := &luaplugin.Program{
				File:  filepath.Join(writeFiles(t, map[string]string{"main.lua": source}), "main.lua"),
				Stdin: in, Stderr: io.Discard,
				Stdout: writerFunc(func(p []byte) (int, error) {
					close(started)
					return len(p), nil
				}),
			}
			ended := make(chan struct{})
			go func() {
				<-started
				for name == "waiting" && ctx.Err() == nil && !runs("epollCancelReader") {
					runtime.Gosched()
				}
				cancel(interrupted)
				close(ended)
			}()
			if err := program.Run(ctx); !errors.Is(err, interrupted) {
				t.Errorf("got %v", err)
			}
			<-ended
		})
	}
}

// runs reports whether a goroutine runs a function whose name contains a text.
func runs(text string) bool {
	stacks := make([]byte, 1<<20)
	return strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), text)
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// TestGetters checks that downloaders get the arguments and the environment that Helm gives to those
// that are processes.
func TestGetters(t *testing.T) {
	dir := writeFiles(t, map[string]string{"lua.yaml": "", "get.lua": `
		if arg[#arg]:match("missing") then error("there is no such file", 0) end
		io.write(table.concat(arg, " "))
		for _, name in ipairs({"USERNAME", "PASSWORD", "PASS_CREDENTIALS_ALL", "NAME", "DIR"}) do io.write(" ", os.getenv("HELM_PLUGIN_" .. name)) end`})
	for _, name := range []string{"HELM_PLUGIN_NAME", "HELM_PLUGIN_DIR"} {
		t.Setenv(name, "") // SetupPluginEnv changes it
	}
	d := luaplugin.Downloaders{Settings: cli.New(), Stderr: io.Discard, Plugins: []*plugin.Plugin{{Dir: dir, Metadata: &plugin.Metadata{
		Name: "test", Downloaders: []plugin.Downloaders{{Protocols: []string{"test"}, Command: "get.lua -x"}, {Protocols: []string{"other"}, Command: "get.sh"}},
	}}}}
	if !d.HaveScripts() {
		t.Error("the downloader was not found")
	}
	client, err := d.Getters(t.Context()).ByScheme("test")
	if err != nil {
		t.Fatal(err)
	}
	got, err := client.Get("test://host/file", getter.WithBasicAuth("ann", "secret"), getter.WithTLSClientConfig("c", "k", "ca"), getter.WithPassCredentialsAll(true))
	if want := "-x c k ca test://host/file ann secret true test " + dir; err != nil || got.String() != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if _, err := client.Get("test://host/missing"); err == nil || !strings.Contains(err.Error(), `the downloader of plugin "test" failed`) || !strings.Contains(err.Error(), "there is no such file") {
		t.Errorf("got %v", err)
	}
	if _, err := d.Getters(t.Context()).ByScheme("https"); err != nil {
		t.Error(err)
	}
	d.Plugins[0].Metadata.Downloaders = d.Plugins[0].Metadata.Downloaders[1:]
	if d.HaveScripts() {
		t.Error("a downloader that is a process was taken for a Lua script")
	}
}

func TestPostRenderer(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"good.lua":  `io.write(io.read("*a"), arg[1])`,
		"bad.lua":   `io.stderr:write("details") error("failed", 0)`,
		"named.lua": "#!/bin/sh\n", "short.lua": "#", "empty.lua": "", "blank.lua": `io.write(" \n")`,
	})
	run := func(ctx context.Context, file string) (*bytes.Buffer, error) {
		r := luaplugin.PostRenderer{Program: func() (*luaplugin.Program, error) {
			return &luaplugin.Program{Owner: "post-renderer", File: filepath.Join(dir, file), Arguments: []string{"last"}}, nil
		}}
		return r.RunWithContext(ctx, bytes.NewBufferString("first "))
	}
	if got, err := run(t.Context(), "good.lua"); err != nil || got.String() != "first last" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := run(t.Context(), "bad.lua"); err == nil || !strings.Contains(err.Error(), "failed") || !strings.Contains(err.Error(), "details") {
		t.Errorf("got %v", err)
	}
	for _, file := range []string{"empty.lua", "blank.lua"} {
		if _, err := run(t.Context(), file); err == nil || !strings.Contains(err.Error(), file+" has written no manifests") {
			t.Errorf("%s: got %v", file, err)
		}
	}
	for file, want := range map[string]bool{"good.lua": false, "named.lua": true, "short.lua": false, "missing.lua": false} {
		if got := luaplugin.NamesInterpreter(filepath.Join(dir, file)); got != want {
			t.Errorf("%s names an interpreter: %t", file, got)
		}
	}
	for file, want := range map[string]bool{"good.lua": true, "missing.lua": false, "": false} {
		if got := luaplugin.IsPostRenderer(filepath.Join(dir, file)); got != want {
			t.Errorf("%q is a post-renderer: %t", file, got)
		}
	}
}
