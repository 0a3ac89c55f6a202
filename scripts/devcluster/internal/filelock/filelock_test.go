// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package filelock

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestTryWhileLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := Try(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Try(path); !errors.Is(err, ErrHeld) {
		t.Errorf("a second holder: %v", err)
	}
	waited := make(chan struct{})
	got := make(chan error)
	go func() {
		second, err := Acquire(context.Background(), path, func() { close(waited) })
		if err == nil {
			err = second.Release()
		}
		got <- err
	}()
	<-waited
	if err := first.Release(); err != nil {
		t.Error(err)
	}
	if err := <-got; err != nil {
		t.Errorf("after the first released it: %v", err)
	}
}

func TestWaitEndsWithContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	lock, err := Try(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := Acquire(ctx, path, cancel); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	if err := lock.Release(); err != nil {
		t.Error(err)
	}
}

func TestChildProcessKeepsLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	lock, err := Try(path)
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), "cat")
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	child.ExtraFiles = []*os.File{lock.File()}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if err := lock.Release(); err != nil {
		t.Error(err)
	}
	if _, err := Try(path); !errors.Is(err, ErrHeld) {
		t.Errorf("while the child lives: %v", err)
	}
	if err := errors.Join(stdin.Close(), child.Wait()); err != nil {
		t.Fatal(err)
	}
	again, err := Try(path)
	if err != nil {
		t.Fatalf("after the child's end: %v", err)
	}
	if err := again.Release(); err != nil {
		t.Error(err)
	}
}

func TestMissingDirectory(t *testing.T) {
	if _, err := Try(filepath.Join(t.TempDir(), "absent", "lock")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the error is %v", err)
	}
}
