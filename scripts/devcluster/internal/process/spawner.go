// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
)

// Spawner starts children from one operating system thread that lives as long
// as the Spawner: Linux ends a child whose parent thread ends, and Go moves
// goroutines between threads as it likes.
type Spawner struct {
	requests chan request
	done     chan struct{}
}

type request struct {
	cmd    *exec.Cmd
	result chan error
}

// NewSpawner starts a Spawner. Close it when its children are gone; on Linux,
// children that still live then are killed.
func NewSpawner() *Spawner {
	s := &Spawner{requests: make(chan request), done: make(chan struct{})}
	go s.serve()
	return s
}

// serve starts what is asked for until the requests end. Its thread ends with
// it, as it is never unlocked. Only the program's first thread would live on:
// while that is held here, another goroutine is sure to run on another one.
func (s *Spawner) serve() {
	runtime.LockOSThread()
	if onFirstThread() {
		defer runtime.UnlockOSThread()
		go s.serve()
		<-s.done
		return
	}
	defer close(s.done)
	for r := range s.requests {
		r.result <- r.cmd.Start()
	}
}

// Close ends the Spawner's thread.
func (s *Spawner) Close() {
	close(s.requests)
	<-s.done
}

// Start starts a process. It outlives ctx: end it with Stop.
func (s *Spawner) Start(ctx context.Context, spec Spec) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	log, err := os.OpenFile(spec.LogPath, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	// The child has its own copy of the file.
	defer func() { _ = log.Close() }()

	cmd := exec.CommandContext(context.WithoutCancel(ctx), spec.Path, spec.Args...)
	cmd.Dir = spec.Dir
	if len(spec.Env) > 0 {
		cmd.Env = append(os.Environ(), spec.Env...)
	}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = childAttributes()
	if spec.Inherit != nil {
		cmd.ExtraFiles = []*os.File{spec.Inherit}
	}
	result := make(chan error)
	s.requests <- request{cmd: cmd, result: result}
	if err := <-result; err != nil {
		return nil, &ExitError{Process: spec.Name, Err: fmt.Errorf("cannot be started: %w", err), LogPath: spec.LogPath}
	}
	p := &Process{name: spec.Name, logPath: spec.LogPath, cmd: cmd, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.err = cmd.Wait()
	}()
	return p, nil
}
