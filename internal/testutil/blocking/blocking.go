// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

// Package blocking helps to test that functions do not block, for example when they open a named pipe.
package blocking

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// NamedPipe creates a named pipe and a symbolic link to it.
func NamedPipe(tb testing.TB) (pipe, link string) {
	tb.Helper()
	dir := tb.TempDir()
	pipe, link = filepath.Join(dir, "pipe"), filepath.Join(dir, "link")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		tb.Fatal(err)
	}
	if err := os.Symlink(pipe, link); err != nil {
		tb.Fatal(err)
	}
	return pipe, link
}

// MustReturn calls a function, and ends the test if it does not return. The function then continues in the
// background.
func MustReturn(tb testing.TB, function func() error) error {
	tb.Helper()
	const timeout = 20 * time.Second
	result := make(chan error, 1)
	go func() { result <- function() }()
	select {
	case err := <-result:
		return err
	case <-time.After(timeout):
		tb.Fatal("the function blocks")
		return nil
	}
}
