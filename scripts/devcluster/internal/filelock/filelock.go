// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package filelock locks files between processes. A lock ends with the process that holds
// it, however that process ends.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// ErrHeld is the error of Try if another process holds the lock.
var ErrHeld = errors.New("the lock is held by another process")

// pollInterval is the interval at which Acquire tries to lock the file. It polls because flock
// cannot be canceled by a context.
const pollInterval = 50 * time.Millisecond

// Lock is a lock that this process holds.
type Lock struct {
	file *os.File
}

// Try locks the file at path, and creates it if it does not exist. If another process holds
// the lock, Try returns ErrHeld immediately.
func Try(path string) (*Lock, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	if err := lockFile(file); err != nil {
		_ = file.Close()
		if errors.Is(err, ErrHeld) {
			return nil, err
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return &Lock{file: file}, nil
}

// Acquire locks the file at path, and waits until ctx ends if another process holds the lock.
// It calls waiting, which can be nil, once before it waits.
func Acquire(ctx context.Context, path string, waiting func()) (*Lock, error) {
	for {
		lock, err := Try(path)
		if !errors.Is(err, ErrHeld) {
			return lock, err
		}
		if waiting != nil {
			waiting()
			waiting = nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for lock %s: %w", path, ctx.Err())
		case <-time.After(pollInterval):
		}
	}
}

// File returns the open file. A child process that inherits it shares the lock with its
// parent: the lock is free when both have closed the file or ended.
func (l *Lock) File() *os.File { return l.file }

// Release closes the file. The lock is free unless a child process has inherited it.
func (l *Lock) Release() error {
	if err := l.file.Close(); err != nil {
		return fmt.Errorf("release lock: %w", err)
	}
	return nil
}
