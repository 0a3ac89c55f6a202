// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package process runs the child processes of a cluster, and ensures that none of them
// outlives it.
package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Spec describes a process to run.
type Spec struct {
	// Name is the name of the process in messages.
	Name string
	// Path is the program. Args are its arguments without the program name.
	Path string
	Args []string
	// Dir is the working directory.
	Dir string
	// Env is added to this process's environment.
	Env []string
	// LogPath is the path of the file to which stdout and stderr are written. It is truncated
	// first.
	LogPath string
	// Inherit is a file that the child inherits and keeps open. It can be nil.
	Inherit *os.File
}

// Process is a child process that was started.
type Process struct {
	name    string
	logPath string
	cmd     *exec.Cmd
	done    chan struct{}
	err     error
}

// ExitError is the error that a process of the cluster has ended unexpectedly. Its message
// contains the end of the log.
type ExitError struct {
	// Process is the name of the process.
	Process string
	// Err is the error with which the process ended, or nil for exit status 0.
	Err error
	// LogPath is the path of the log. LogTail is the end of the log.
	LogPath string
	LogTail string
}

func (e *ExitError) Error() string {
	if e.LogTail == "" {
		return fmt.Sprintf("%s ended: %v; its log %s is empty", e.Process, e.Err, e.LogPath)
	}
	return fmt.Sprintf("%s ended: %v; the end of its log %s:\n%s", e.Process, e.Err, e.LogPath, e.LogTail)
}

// Unwrap returns Err.
func (e *ExitError) Unwrap() error { return e.Err }

// Name returns the name of the process.
func (p *Process) Name() string { return p.name }

// PID returns the process ID.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended and its exit status was read.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err waits until the process has ended, and returns the error with which it ended, or nil for
// exit status 0.
func (p *Process) Err() error {
	<-p.done
	return p.err
}

// ExitError waits until the process has ended, and returns the ExitError for it.
func (p *Process) ExitError() *ExitError {
	<-p.done
	err := p.err
	if err == nil {
		err = errors.New("exit status 0")
	}
	return &ExitError{Process: p.name, Err: err, LogPath: p.logPath, LogTail: Tail(p.logPath)}
}

// Stop sends SIGTERM to the process, and kills it if ctx ends first. It returns when the
// process has ended.
func (p *Process) Stop(ctx context.Context) {
	select {
	case <-p.done:
		return
	default:
	}
	// An error means that the process has already ended.
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-ctx.Done():
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// Await calls check every few milliseconds until it returns nil. If the process ends first,
// Await returns its ExitError. If ctx ends first, Await returns check's last error together
// with the error of ctx.
func (p *Process) Await(ctx context.Context, check func(context.Context) error) error {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	var last error
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		// The error of a check that ctx has canceled does not describe the process.
		if last == nil || ctx.Err() == nil {
			last = err
		}
		select {
		case <-p.done:
			return p.ExitError()
		case <-ctx.Done():
			return &ExitError{
				Process: p.name,
				Err:     fmt.Errorf("not ready in time: %w: %w", ctx.Err(), last),
				LogPath: p.logPath,
				LogTail: Tail(p.logPath),
			}
		case <-ticker.C:
		}
	}
}
