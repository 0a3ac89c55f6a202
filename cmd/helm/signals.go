// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// signalExitCodeBase plus the number of the signal that ends the program is the exit code,
// as in shells.
const signalExitCodeBase = 128

// duplicateSignalTime is how long further signals are ignored after the first one. A terminal
// sends a signal to helm and also to the program that started helm, which can forward it to
// helm a second time.
const duplicateSignalTime = 500 * time.Millisecond

// signalHandlers contains the functions that cancelOnSignal calls.
type signalHandlers struct {
	// first is called at the first signal, before the context is canceled.
	first func()
	// second is called at the second signal. It must end the process with the given exit
	// code.
	second func(exitCode int)
}

// cancelOnSignal returns a context that is canceled by the first SIGINT, SIGTERM or SIGHUP, so
// that the operation can stop, record its status and, if requested, roll back or clean up. It
// ignores SIGPIPE, so that the operation continues if nothing reads its output any more. stop
// restores the default handling of signals and cancels the context. It can be called more
// than once.
func cancelOnSignal(parent context.Context, handlers signalHandlers) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores this signal
		signal.Notify(signals, syscall.SIGHUP)
	}
	// This channel is never read from. Without it, SIGPIPE would end the process.
	brokenPipe := make(chan os.Signal, 1)
	signal.Notify(brokenPipe, syscall.SIGPIPE)

	done := make(chan struct{})
	goroutineDone := make(chan struct{})
	go func() {
		defer close(goroutineDone)
		for first := (time.Time{}); ; {
			select {
			case s := <-signals:
				if first.IsZero() {
					first = time.Now()
					handlers.first()
					cancel()
				} else if time.Since(first) > duplicateSignalTime {
					number, _ := s.(syscall.Signal) // all signals have this type
					handlers.second(signalExitCodeBase + int(number))
				}
			case <-done:
				return
			}
		}
	}()
	return ctx, sync.OnceFunc(func() {
		signal.Stop(signals)
		signal.Stop(brokenPipe)
		close(done)
		<-goroutineDone
		cancel()
	})
}

// cancelMessages describes what is printed if a signal cancels an operation on a release.
type cancelMessages struct {
	release string
	// canceled says that the operation was canceled. It is printed to standard output if
	// onStdout is true and otherwise, like all other messages, to standard error.
	canceled string
	onStdout bool
	// remainingWork says for what the process waits after the signal, in words that can
	// follow "Waiting until".
	remainingWork string
	// staysLocked is true if the release stays locked when a second signal ends the process.
	staysLocked bool
}

// terminalRestoreTimeout is how long the process waits after the second signal for the display
// to restore the terminal.
const terminalRestoreTimeout = time.Second

// cancelOnSignal calls the function cancelOnSignal with handlers that print messages, and
// that end the process at the second signal. The display must be open.
func (v *operationView) cancelOnSignal(ctx context.Context, m cancelMessages) (context.Context, func()) {
	errOut, display := v.app.errOut, v.display
	canceledOut := errOut
	if m.onStdout {
		canceledOut = v.app.out
	}
	return cancelOnSignal(ctx, signalHandlers{
		first: func() {
			fmt.Fprintln(canceledOut, m.canceled)
			fmt.Fprintf(errOut, "Waiting until %s. Press Ctrl-C again to exit immediately.\n", m.remainingWork)
		},
		second: func(exitCode int) {
			closed := make(chan struct{})
			go func() { defer close(closed); display.Close() }()
			select {
			case <-closed:
			case <-time.After(terminalRestoreTimeout): // exit although the display is not closed
			}
			fmt.Fprintln(v.errOut, m.exitMessage())
			os.Exit(exitCode)
		},
	})
}

// exitMessage returns the message that is printed when a second signal ends the process. It
// says what has been recorded and what to do next.
func (m *cancelMessages) exitMessage() string {
	if !m.staysLocked {
		return fmt.Sprintf("Exited immediately; the results of the tests of release %s were not recorded.", m.release)
	}
	return fmt.Sprintf("Exited immediately without cleanup; the release keeps its recorded status. \"helm status %s\" shows its progress; "+
		"the next helm upgrade, rollback or uninstall takes over the release and continues.", m.release)
}
