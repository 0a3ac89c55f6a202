// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package process runs the child processes of a cluster and makes sure that
// none of them outlives it.
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

// Spec defines what to run.
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
	// LogPath is the file to which stdout and stderr are written. It is truncated first.
	LogPath string
	// Inherit is a file that the child keeps open. It can be nil.
	Inherit *os.File
}

// Process is a child that is running or has ended.
type Process struct {
	name    string
	logPath string
	cmd     *exec.Cmd
	done    chan struct{}
	err     error
}

// ExitError is the error if a process of the cluster ended unexpectedly. It shows the end
// of its log.
type ExitError struct {
	// Process is the name of the process.
	Process string
	// Err is how it ended.
	Err error
	// LogPath is its log. LogTail is the end of the log.
	LogPath string
	LogTail string
}

func (e *ExitError) Error() string {
	if e.LogTail == "" {
		return fmt.Sprintf("%s ended: %v; its log %s is empty", e.Process, e.Err, e.LogPath)
	}
	return fmt.Sprintf("%s ended: %v; the end of its log %s:\n%s", e.Process, e.Err, e.LogPath, e.LogTail)
}

// Unwrap returns how the process ended.
func (e *ExitError) Unwrap() error { return e.Err }

// Name returns the name of the process.
func (p *Process) Name() string { return p.name }

// PID returns the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended and its exit status was read.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err waits until the process has ended, and returns how it ended: nil for exit status 0.
func (p *Process) Err() error {
	<-p.done
	return p.err
}

// ExitError waits until the process has ended, and describes how it ended.
func (p *Process) ExitError() *ExitError {
	<-p.done
	err := p.err
	if err == nil {
		err = errors.New("exit status 0")
	}
	return &ExitError{Process: p.name, Err: err, LogPath: p.logPath, LogTail: Tail(p.logPath)}
}

// Stop asks the process to end, and kills it if ctx ends first. It returns when the process
// is gone.
func (p *Process) Stop(ctx context.Context) {
	select {
	case <-p.done:
		return
	default:
	}
	// An error means that the process is gone. Done reports this.
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
		// If a check times out, its error is not about the process.
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
