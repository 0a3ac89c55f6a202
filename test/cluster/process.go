// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
)

// process is a running devcluster command, which supervises the processes of a cluster. It
// ends when its stdin is closed, which happens at the latest when this process ends.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	ended chan struct{}
	err   error
	// stderr must only be read after ended is closed.
	stderr *bytes.Buffer

	stopping sync.Once
}

// startProcess starts the devcluster command, and returns when its cluster is ready.
func startProcess(ctx context.Context, command, dir string, args ...string) (*process, error) {
	args = append([]string{"run", "--with-parent", "--dir", dir}, args...)
	p := &process{
		// The process must not be killed when the context of the start ends.
		cmd:    exec.CommandContext(context.WithoutCancel(ctx), command, args...),
		ended:  make(chan struct{}),
		stderr: &bytes.Buffer{},
	}
	p.cmd.Stderr = p.stderr
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start the cluster: %w", err)
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start the cluster: %w", err)
	}
	p.stdin = stdin
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the cluster: %w", err)
	}
	ready := make(chan struct{})
	go p.read(stdout, ready)
	select {
	case <-ready:
		return p, nil
	case <-p.ended:
		return nil, fmt.Errorf("start the cluster: %w\n%s", p.err, p.stderr)
	case <-ctx.Done():
		return nil, errors.Join(fmt.Errorf("start the cluster: %w", ctx.Err()), p.stop())
	}
}

// read reads the output of the command until it ends, and closes ready when the cluster is
// ready.
func (p *process) read(stdout io.Reader, ready chan<- struct{}) {
	defer close(p.ended)
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if lines.Text() == "ready" {
			close(ready)
		}
	}
	p.err = p.cmd.Wait()
	if p.err == nil {
		p.err = errors.New("it ended")
	}
}

// stop stops the cluster, and returns when the command has exited. It returns an error if the
// command had exited before, or if it fails.
func (p *process) stop() error {
	var early bool
	select {
	case <-p.ended:
		early = true
	default:
	}
	p.stopping.Do(func() { _ = p.stdin.Close() })
	<-p.ended
	if early || p.cmd.ProcessState == nil || !p.cmd.ProcessState.Success() {
		return fmt.Errorf("the cluster did not live until it was stopped: %w\n%s", p.err, p.stderr)
	}
	return nil
}
