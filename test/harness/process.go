// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ordered-helm/helm/test/binaries"
)

// processTimeout is the time after which Wait kills a process and fails the test.
const processTimeout = 5 * time.Minute

// Process is a running helm process.
type Process struct {
	Cmd *exec.Cmd
	// Ended is closed when the process has ended.
	Ended          chan struct{}
	stdout, stderr lineBuffer
	err            error
}

// Start starts helm. It is killed if the test ends first.
func (h *Helm) Start(tb testing.TB, args ...string) *Process {
	tb.Helper()
	return h.StartBinary(tb, binaries.Get(tb).Helm, h.Namespace, args...)
}

// StartStock starts stock Helm. It is killed if the test ends first.
func (h *Helm) StartStock(tb testing.TB, args ...string) *Process {
	tb.Helper()
	return h.StartBinary(tb, binaries.Get(tb).Stock, h.Namespace, args...)
}

// StartBinary starts the binary at path in a namespace. It is killed if the test ends first. If it
// is stock Helm, and does not know the storage driver of the test run, the rest of the test is
// skipped.
func (h *Helm) StartBinary(tb testing.TB, path, namespace string, args ...string) *Process {
	tb.Helper()
	if path != binaries.Get(tb).Helm && !slices.Contains([]string{"template", "lint", "package", "show"}, args[0]) {
		RequireSecrets(tb, filepath.Base(path)+" works on the release")
	}
	ctx, cancel := context.WithTimeout(tb.Context(), processTimeout)
	args = append(append([]string{}, args...), "--namespace", namespace)
	p := &Process{Cmd: exec.CommandContext(ctx, path, args...), Ended: make(chan struct{})}
	p.Cmd.Env, p.Cmd.WaitDelay = h.Env, 10*time.Second // for children that keep the output open
	p.Cmd.Stdout, p.Cmd.Stderr = &p.stdout, &p.stderr
	if err := p.Cmd.Start(); err != nil {
		cancel()
		tb.Fatal(err)
	}
	go func() {
		p.err = p.Cmd.Wait()
		close(p.Ended)
		p.stderr.close()
	}()
	tb.Cleanup(func() {
		cancel()
		<-p.Ended
	})
	return p
}

// NextLine waits for the next line on stderr that contains a text. found is false if the
// process ends without printing it.
func (p *Process) NextLine(text string) (line string, found bool) { return p.stderr.next(text) }

// AwaitLine waits for the next line on stderr that contains a text. It ends the test if the
// process ends without printing it.
func (p *Process) AwaitLine(tb testing.TB, text string) {
	tb.Helper()
	if _, found := p.NextLine(text); !found {
		r := p.Wait(tb)
		tb.Fatalf("helm ended with exit code %d before it printed %q\n%s", r.ExitCode, text, r.Stderr)
	}
}

// Signal sends a signal to the process. It ends the test if the process is no longer running.
func (p *Process) Signal(tb testing.TB, signal syscall.Signal) {
	tb.Helper()
	NoError(tb, p.Cmd.Process.Signal(signal))
}

// Kill kills the process if it is still running.
func (p *Process) Kill() { _ = p.Cmd.Process.Kill() } // only fails if it has ended

// Wait waits for the process to end, and returns its result.
func (p *Process) Wait(tb testing.TB) Result {
	tb.Helper()
	<-p.Ended
	if exit := new(exec.ExitError); p.err != nil && !errors.As(p.err, &exit) {
		tb.Fatal(p.err)
	}
	return Result{Stdout: p.stdout.String(), Stderr: p.stderr.String(), ExitCode: p.Cmd.ProcessState.ExitCode()}
}

// ExpectExit waits for the process to end, and checks its exit code and that stderr contains
// all of want.
func (p *Process) ExpectExit(tb testing.TB, code int, want ...string) Result {
	tb.Helper()
	r := p.Wait(tb)
	if r.ExitCode != code {
		tb.Errorf("helm %s: exit code %d, want %d\n%s", strings.Join(p.Cmd.Args[1:], " "), r.ExitCode, code, r.Stderr)
	}
	ExpectContains(tb, r.Stderr, want...)
	return r
}

// lineBuffer stores the output of a process, and lets tests wait for lines of it.
type lineBuffer struct {
	mu     sync.Mutex
	grown  *sync.Cond
	text   bytes.Buffer
	read   int
	closed bool
}

// lock locks the buffer, and returns the function that unlocks it.
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

// next returns the next line, after the one that it returned before, that contains a text. It
// waits until there is one or the buffer is closed.
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
