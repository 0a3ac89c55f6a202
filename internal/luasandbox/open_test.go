// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package luasandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// makePipe creates a named pipe and a symbolic link to it.
func makePipe(t *testing.T) (pipe, link string) {
	t.Helper()
	dir := t.TempDir()
	pipe, link = filepath.Join(dir, "pipe"), filepath.Join(dir, "link")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(pipe, link); err != nil {
		t.Fatal(err)
	}
	return pipe, link
}

// within fails the test if a function does not return. The function goes on in the background.
func within(t *testing.T, function func() error) error {
	t.Helper()
	result := make(chan error, 1)
	go func() { result <- function() }()
	select {
	case err := <-result:
		return err
	case <-time.After(20 * time.Second):
		t.Fatal("the function blocks")
		return nil
	}
}

// TestSpecialFiles checks that files that could block are refused, in each mode.
func TestSpecialFiles(t *testing.T) {
	pipe, link := makePipe(t)
	for _, name := range []string{pipe, link, "/dev/zero", "/dev/null", filepath.Dir(pipe)} {
		for _, mode := range []string{"r", "r+", "w", "w+", "a", "a+", "lines"} {
			script := fmt.Sprintf("local f, message = io.open(%q, %q) error(message)", name, mode)
			if mode == "lines" {
				script = fmt.Sprintf("for line in io.lines(%q) do end", name)
			}
			state := New(Options{Permissions: []Permission{Filesystem}})
			err := within(t, func() error { return state.Load(context.WithoutCancel(t.Context()), "a.lua", script) })
			if err == nil || !strings.Contains(err.Error(), "not a regular file") && !strings.Contains(err.Error(), "no such file") {
				t.Errorf("%s of %s: got %v", mode, name, err)
			}
			state.Close()
		}
	}
}

// TestReplacedFiles checks that a named pipe is refused that has taken the place of a regular file
// after it was checked.
func TestReplacedFiles(t *testing.T) {
	_, link := makePipe(t)
	for _, flag := range []int{os.O_RDONLY, os.O_RDWR, os.O_WRONLY, os.O_WRONLY | os.O_CREATE | os.O_TRUNC} {
		err := within(t, func() error {
			opened, err := openNonblocking(link, flag)
			if err == nil {
				_ = opened.Close()
			}
			return err
		})
		if err == nil {
			t.Errorf("flag %d: the pipe was opened", flag)
		}
	}
}

// TestWaitingReads checks that a read ends with its call if the file has no data yet.
func TestWaitingReads(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = reader.Close(), writer.Close() }()
	state := New(Options{})
	defer state.Close()
	state.guard = newGuard(t.Context(), Limits{Time: time.Second / 10}, 0)
	defer state.guard.cancel(context.Canceled)
	if _, err := writer.WriteString("x"); err != nil {
		t.Fatal(err)
	}
	if n, err := state.interruptible(reader).Read(make([]byte, 10)); n != 1 || err != nil {
		t.Errorf("got %d bytes, %v", n, err)
	}
	err = within(t, func() error {
		_, err := state.interruptible(reader).Read(make([]byte, 10))
		return err
	})
	if !errors.Is(err, ErrTimeLimit) {
		t.Errorf("got %v", err)
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
	if err := within(t, func() error { return state.Load(context.WithoutCancel(t.Context()), "a.lua", script) }); err != nil {
		t.Error(err)
	}
}
