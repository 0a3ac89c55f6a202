// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package luaio

import (
	"context"
	"errors"
	"os"
	"path/filepath"
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
	ctx, cancel := context.WithTimeout(t.Context(), time.Second/10)
	defer cancel()
	files := New(nil, Options{Host: contextHost{ctx: ctx}})
	if _, err := writer.WriteString("x"); err != nil {
		t.Fatal(err)
	}
	if n, err := files.interruptible(reader).Read(make([]byte, 10)); n != 1 || err != nil {
		t.Errorf("got %d bytes, %v", n, err)
	}
	err = within(t, func() error {
		_, err := files.interruptible(reader).Read(make([]byte, 10))
		return err
	})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// contextHost is a Host whose call must end when a context ends.
type contextHost struct {
	Host
	ctx context.Context
}

func (h contextHost) Check() error { return h.ctx.Err() }
