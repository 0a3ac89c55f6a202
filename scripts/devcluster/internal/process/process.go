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

// Spec says what to run.
type Spec struct {
	// Name is what people call the process.
	Name string
	// Path is the program, Args its arguments without the name.
	Path string
	Args []string
	// Dir is the working folder.
	Dir string
	// Env is added to this process's environment.
	Env []string
	// LogPath is the file that takes stdout and stderr; it is truncated.
	LogPath string
	// Inherit is a file that the child keeps open, nil for none.
	Inherit *os.File
}

// Process is a running, or ended, child.
type Process struct {
	name    string
	logPath string
	cmd     *exec.Cmd
	done    chan struct{}
	err     error
}

// ExitError says that a process of the cluster ended by itself, and shows
// what it wrote last.
type ExitError struct {
	// Process is the name of the process.
	Process string
	// Err says how it ended.
	Err error
	// LogPath is its log, LogTail the log's end.
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

// Done is closed when the process has ended and was waited for.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err returns how the process ended, nil for exit status 0. It waits for the
// end.
func (p *Process) Err() error {
	<-p.done
	return p.err
}

// ExitError describes the end of the process, for which it waits.
func (p *Process) ExitError() *ExitError {
	<-p.done
	err := p.err
	if err == nil {
		err = errors.New("exit status 0")
	}
	return &ExitError{Process: p.name, Err: err, LogPath: p.logPath, LogTail: Tail(p.logPath)}
}

// Stop asks the process to end, kills it when ctx ends first, and returns
// when it is gone.
func (p *Process) Stop(ctx context.Context) {
	select {
	case <-p.done:
		return
	default:
	}
	// An error means that the process is gone, which Done tells.
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-ctx.Done():
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// Await calls check every few milliseconds until it returns nil. It returns
// the process's ExitError when that ends first, and check's last error with
// ctx's when ctx does.
func (p *Process) Await(ctx context.Context, check func(context.Context) error) error {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	var last error
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		// A check that time ran out on says nothing of the process.
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
