// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package luasandbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/internal/testutil/blocking"
)

// TestSpecialFiles checks that files that could block are refused, in each mode.
func TestSpecialFiles(t *testing.T) {
	pipe, link := blocking.NamedPipe(t)
	for _, name := range []string{pipe, link, "/dev/zero", "/dev/null", filepath.Dir(pipe)} {
		for _, mode := range []string{"r", "r+", "w", "w+", "a", "a+", "lines"} {
			script := fmt.Sprintf("local f, message = io.open(%q, %q) error(message)", name, mode)
			if mode == "lines" {
				script = fmt.Sprintf("for line in io.lines(%q) do end", name)
			}
			state := New(Options{Permissions: []Permission{Filesystem}})
			err := blocking.MustReturn(t, func() error { return state.Load(context.WithoutCancel(t.Context()), "a.lua", script) })
			if err == nil || !strings.Contains(err.Error(), "not a regular file") && !strings.Contains(err.Error(), "no such file") {
				t.Errorf("%s of %s: got %v", mode, name, err)
			}
			state.Close()
		}
	}
}

// TestProcessFiles checks that reading and writing the memory of the process fails.
func TestProcessFiles(t *testing.T) {
	if _, err := os.Stat("/proc/self/mem"); err != nil {
		t.Skip("needs /proc")
	}
	const script = `local f = assert(io.open("/proc/self/mem", "r+"))
		for _, format in ipairs({"*a", "*l", 8e6}) do
			if f:read(format) then error("read") end
		end
		if f:write("x") then error("written") end`
	state := New(Options{Permissions: []Permission{Filesystem}})
	defer state.Close()
	if err := blocking.MustReturn(t, func() error { return state.Load(context.WithoutCancel(t.Context()), "a.lua", script) }); err != nil {
		t.Error(err)
	}
}
