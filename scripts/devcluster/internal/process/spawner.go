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

// Spawner starts all child processes from one operating system thread, which exists until
// Close is called. On Linux, this is necessary because the kernel kills the children when
// their parent thread ends, and Go can end threads at any time.
type Spawner struct {
	requests chan request
	done     chan struct{}
}

type request struct {
	cmd    *exec.Cmd
	result chan error
}

// NewSpawner starts a Spawner. Call Close when its children have ended: on Linux, it kills
// children that are still running.
func NewSpawner() *Spawner {
	s := &Spawner{requests: make(chan request), done: make(chan struct{})}
	go s.serve()
	return s
}

// serve starts the requested processes until Close is called. It locks its goroutine to its
// thread and never unlocks it, so that the thread ends with the goroutine. The program's first
// thread would not end: if serve runs on that thread, it starts another goroutine and keeps
// the first thread locked, so that the other goroutine runs on another thread.
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

// Start starts a process. The end of ctx does not end the process; use Process.Stop.
func (s *Spawner) Start(ctx context.Context, spec Spec) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	log, err := os.OpenFile(spec.LogPath, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	// The child has its own descriptor of the file.
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
