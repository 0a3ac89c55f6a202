// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ordered-helm/helm/test/binaries"
)

const (
	// tooLong is when a test gives up on what should happen soon; nothing is measured
	// by it.
	tooLong = 3 * time.Minute
	// processTimeout is when a process that has not ended is killed.
	processTimeout = 5 * time.Minute
)

// result is what a run of helm printed, and its exit code: -1 if a signal killed it.
type result struct {
	stdout, stderr string
	code           int
}

// process is helm while it runs.
type process struct {
	cmd            *exec.Cmd
	stdout, stderr lineBuffer
	// ended is closed when the process has ended; err is then what Wait returned.
	ended chan struct{}
	err   error
}

// start starts helm, which is killed when the test ends before it does.
func (h *helm) start(tb testing.TB, args ...string) *process {
	tb.Helper()
	return h.startBinary(tb, binaries.Get(tb).Helm, h.namespace, args...)
}

// startStock starts unmodified Helm.
func (h *helm) startStock(tb testing.TB, args ...string) *process {
	tb.Helper()
	return h.startBinary(tb, binaries.Get(tb).Stock, h.namespace, args...)
}

func (h *helm) startBinary(tb testing.TB, path, namespace string, args ...string) *process {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), processTimeout)
	args = append(append([]string{}, args...), "--namespace", namespace)
	p := &process{cmd: exec.CommandContext(ctx, path, args...), ended: make(chan struct{})}
	p.cmd.Env = h.env
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	if err := p.cmd.Start(); err != nil {
		cancel()
		tb.Fatal(err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
		p.stderr.close()
	}()
	tb.Cleanup(func() {
		cancel()
		<-p.ended
	})
	return p
}

// nextLine waits for the next line on stderr that contains a text; there is none if the
// process ends before.
func (p *process) nextLine(text string) (line string, found bool) { return p.stderr.next(text) }

// awaitLine waits for a line on stderr that contains a text, after those that were
// awaited before, and fails the test if the process ends without it.
func (p *process) awaitLine(tb testing.TB, text string) {
	tb.Helper()
	if _, found := p.nextLine(text); !found {
		r := p.wait(tb)
		tb.Fatalf("helm ended with exit code %d before it printed %q\n%s", r.code, text, r.stderr)
	}
}

// signal sends a signal, which must still find the process running.
func (p *process) signal(tb testing.TB, signal syscall.Signal) {
	tb.Helper()
	if err := p.cmd.Process.Signal(signal); err != nil {
		tb.Fatal(err)
	}
}

// kill kills the process, if it still runs.
func (p *process) kill() { _ = p.cmd.Process.Kill() } // which only fails if it has ended

// wait waits for the process to end.
func (p *process) wait(tb testing.TB) result {
	tb.Helper()
	<-p.ended
	if exit := new(exec.ExitError); p.err != nil && !errors.As(p.err, &exit) {
		tb.Fatal(p.err)
	}
	return result{stdout: p.stdout.String(), stderr: p.stderr.String(), code: p.cmd.ProcessState.ExitCode()}
}

// expectEnd waits for the process to end with an exit code, having printed all of want
// on stderr.
func (p *process) expectEnd(tb testing.TB, code int, want ...string) result {
	tb.Helper()
	r := p.wait(tb)
	if r.code != code {
		tb.Errorf("helm %s: exit code %d, want %d\n%s", strings.Join(p.cmd.Args[1:], " "), r.code, code, r.stderr)
	}
	expectSaid(tb, r.stderr, want...)
	return r
}

// lineBuffer collects what a process prints, and lets a test wait for lines of it.
type lineBuffer struct {
	mu     sync.Mutex
	grown  *sync.Cond
	text   bytes.Buffer
	read   int
	closed bool
}

// lock locks the buffer.
func (b *lineBuffer) lock() (unlock func()) {
	b.mu.Lock()
	if b.grown == nil {
		b.grown = sync.NewCond(&b.mu)
	}
	return b.mu.Unlock
}

func (b *lineBuffer) Write(data []byte) (int, error) {
	defer b.lock()()
	b.grown.Broadcast()
	return b.text.Write(data)
}

func (b *lineBuffer) String() string {
	defer b.lock()()
	return b.text.String()
}

func (b *lineBuffer) close() {
	defer b.lock()()
	b.closed = true
	b.grown.Broadcast()
}

// next returns the next line that contains a text, and waits until there is one or the
// buffer is closed.
func (b *lineBuffer) next(text string) (string, bool) {
	defer b.lock()()
	for {
		rest := b.text.String()[b.read:]
		for end := strings.IndexByte(rest, '\n'); end >= 0; end = strings.IndexByte(rest, '\n') {
			line := rest[:end]
			b.read, rest = b.read+end+1, rest[end+1:]
			if strings.Contains(line, text) {
				return line, true
			}
		}
		if b.closed {
			return "", false
		}
		b.grown.Wait()
	}
}
