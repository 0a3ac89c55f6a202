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

// exitOnSignal is added to the number of the signal that ends the program. The sum is the
// exit code, as in shells.
const exitOnSignal = 128

// duplicateSignalTime is the time after the first signal in which another signal is ignored.
// A terminal sends a signal to helm and to the program that started helm, which can forward
// it to helm.
const duplicateSignalTime = 500 * time.Millisecond

// signalHandlers contains the functions to call if the process is told to stop while it
// works on a release.
type signalHandlers struct {
	// first is called at the first signal, before the context is cancelled.
	first func()
	// second is called at the second signal. It must end the process with the exit code.
	second func(code int)
}

// cancelOnSignal returns a context that is cancelled if the process is interrupted or asked
// to terminate, or if its terminal is closed. The operation then records what it has done
// and, if requested, undoes it. A second signal ends the process without waiting for this.
// If nothing reads the progress output any more, the operation continues. After stop is
// called, signals end the process as usual. stop can be called more than once.
func cancelOnSignal(parent context.Context, handlers signalHandlers) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores this signal
		signal.Notify(signals, syscall.SIGHUP)
	}
	brokenPipe := make(chan os.Signal, 1) // never read; without it, the signal would end the process
	signal.Notify(brokenPipe, syscall.SIGPIPE)

	done := make(chan struct{})
	watcherDone := make(chan struct{})
	go func() {
		defer close(watcherDone)
		for first := (time.Time{}); ; {
			select {
			case s := <-signals:
				if first.IsZero() {
					first = time.Now()
					handlers.first()
					cancel()
				} else if time.Since(first) > duplicateSignalTime {
					number, _ := s.(syscall.Signal) // all of them have this type
					handlers.second(exitOnSignal + int(number))
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
		<-watcherDone
		cancel()
	})
}

// cancelMessages contains what is printed if a signal cancels an operation on a release.
type cancelMessages struct {
	release string
	// cancelled says that the operation was cancelled. It is printed to standard output if
	// onStdout is true, and otherwise to standard error, like the other messages.
	cancelled string
	onStdout  bool
	// remainingWork says what the operation still does after the signal. staysLocked is
	// true if the release stays locked when the process exits without finishing that work.
	remainingWork string
	staysLocked   bool
}

// terminalRestoreTimeout is how long the process waits at the second signal until the
// display has restored the terminal.
const terminalRestoreTimeout = time.Second

// cancelOnSignal is like the function cancelOnSignal, and prints messages at the first and
// the second signal. It requires that the view is open.
func (v *operationView) cancelOnSignal(ctx context.Context, m cancelMessages) (context.Context, func()) {
	errOut, display := v.app.errOut, v.display
	cancelledOut := errOut
	if m.onStdout {
		cancelledOut = v.app.out
	}
	return cancelOnSignal(ctx, signalHandlers{
		first: func() {
			fmt.Fprintln(cancelledOut, m.cancelled)
			fmt.Fprintf(errOut, "Waiting until %s. Press Ctrl-C again to exit immediately.\n", m.remainingWork)
		},
		second: func(code int) {
			closed := make(chan struct{})
			go func() { defer close(closed); display.Close() }()
			select {
			case <-closed:
			case <-time.After(terminalRestoreTimeout): // the process ends without the display being closed
			}
			fmt.Fprintln(v.errOut, m.exited())
			os.Exit(code)
		},
	})
}

// exited returns the message that is printed when a second signal ends the process. It says
// in which state the release is.
func (m *cancelMessages) exited() string {
	if !m.staysLocked {
		return fmt.Sprintf("Exited immediately: the result for release %s is not recorded.", m.release)
	}
	return fmt.Sprintf("Exited immediately without cleanup; the release keeps its recorded status. \"helm status %s\" shows its progress; "+
		"the next helm upgrade, rollback or uninstall takes over the release and continues.", m.release)
}
