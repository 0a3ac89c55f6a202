// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package luasandbox_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/internal/luasandbox"
)

func TestProcess(t *testing.T) {
	for name, tt := range map[string]struct {
		source         string
		stdin          string
		stdout, stderr string
		code           int
		err            string
	}{
		"arguments":        {source: `print(arg[0], arg[1], arg[2], #arg, ...)`, stdout: "main.lua\tone\ttwo words\t2\tone\ttwo words\n"},
		"standard input":   {source: `print(io.read()) print(io.stdin:read(2)) print(io.read("*a")) print(io.read())`, stdin: "first\nsecond\nthird", stdout: "first\nse\ncond\nthird\nnil\n"},
		"lines":            {source: `for line in io.lines() do io.write("<", line, ">") end`, stdin: "a\nb\n", stdout: "<a><b>"},
		"streams":          {source: `io.stdout:write("out\27[0m") io.stderr:write("err", 1)`, stdout: "out\x1b[0m", stderr: "err1"},
		"print":            {source: `print(setmetatable({}, {__tostring = function() return "object" end}), nil, 1.5)`, stdout: "object\tnil\t1.5\n"},
		"end":              {source: `print(1)`, stdout: "1\n"},
		"exit":             {source: `print(1) os.exit() print(2)`, stdout: "1\n"},
		"exit with code":   {source: `print(1) os.exit(3) print(2)`, stdout: "1\n", code: 3},
		"exit with true":   {source: `os.exit(true) print(2)`},
		"exit with false":  {source: `os.exit(false)`, code: 1},
		"exit in pcall":    {source: `pcall(os.exit, 4) print(2)`, code: 4},
		"exit, coroutine":  {source: `local ok = xpcall(function() os.exit(5) end, function() print("caught") end) print(ok)`, code: 5},
		"written input":    {source: `print(io.stdin:write("x"))`, stdout: "nil\tthe stream cannot be written\n"},
		"read output":      {source: `print(io.stdout:read())`, stdout: "nil\tthe stream cannot be read\n"},
		"closed output":    {source: `io.stdout:close() io.write("x")`, err: "the file is closed"},
		"error":            {source: "print(1)\nerror('wrong')", stdout: "1\n", err: "main.lua:2: wrong"},
		"nothing to print": {source: `print()`, stdout: "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr strings.Builder
			state := luasandbox.New(luasandbox.Options{
				Owner: "test", Permissions: []luasandbox.Permission{luasandbox.Filesystem},
				Process: &luasandbox.Process{Arguments: []string{"one", "two words"}, Stdin: strings.NewReader(tt.stdin), Stdout: &stdout, Stderr: &stderr},
			})
			defer state.Close()
			err := state.Load(t.Context(), "main.lua", tt.source)
			exit := (*luasandbox.ExitError)(nil)
			switch {
			case tt.code != 0:
				if !errors.As(err, &exit) || exit.Code != tt.code {
					t.Errorf("got the error %v, want the exit code %d", err, tt.code)
				}
			case tt.err != "":
				if err == nil || errors.As(err, &exit) || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got the error %v, want %q", err, tt.err)
				}
			case err != nil:
				t.Error(err)
			}
			if stdout.String() != tt.stdout || stderr.String() != tt.stderr {
				t.Errorf("got %q and %q, want %q and %q", stdout.String(), stderr.String(), tt.stdout, tt.stderr)
			}
		})
	}
}
