// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// exitOnSignal is added to the number of the signal that ends the program. The sum is the
// exit code, as in shells.
const exitOnSignal = 128

// doubled is the time after the first signal in which another signal is ignored. A terminal
// sends a signal to helm and to the program that started helm, which can forward it to
// helm.
const doubled = 500 * time.Millisecond

// interruption contains the functions to call if the process is told to stop while it works
// on a release.
type interruption struct {
	// announce is called at the first signal, before the context is cancelled.
	announce func()
	// leave is called at the second signal. It must end the process with the exit code.
	leave func(code int)
}

// cancelOnSignal returns a context that is cancelled if the process is interrupted or asked
// to terminate, or if its terminal is closed. The operation then records what it has done
// and, if requested, undoes it. A second signal ends the process without waiting for this.
// If nothing reads the progress output any more, the operation continues. After stop is
// called, signals end the process as usual. stop can be called more than once.
func cancelOnSignal(parent context.Context, i interruption) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores this signal
		signal.Notify(signals, syscall.SIGHUP)
	}
	unread := make(chan os.Signal, 1) // received, so that the signal does not end the process
	signal.Notify(unread, syscall.SIGPIPE)

	done := make(chan struct{})
	watcherGone := make(chan struct{})
	go func() {
		defer close(watcherGone)
		for first := (time.Time{}); ; {
			select {
			case s := <-signals:
				if first.IsZero() {
					first = time.Now()
					i.announce()
					cancel()
				} else if time.Since(first) > doubled {
					number, _ := s.(syscall.Signal) // all of them have this type
					i.leave(exitOnSignal + int(number))
				}
			case <-done:
				return
			}
		}
	}()
	return ctx, sync.OnceFunc(func() {
		signal.Stop(signals)
		signal.Stop(unread)
		close(done)
		<-watcherGone
		cancel()
	})
}

// interruptible describes an operation on a release for the messages that are printed if a
// signal cancels it.
type interruptible struct {
	release string
	// notice is the message that the operation was cancelled. It is printed to the writer
	// to, or to standard error if that is nil.
	notice string
	to     io.Writer
	// remainingWork says what the operation still does after the signal. staysLocked is
	// true if the release stays locked when the process exits without finishing that work.
	remainingWork string
	staysLocked   bool
}

// terminalRestoreTimeout is how long the process waits at the second signal until the
// display has restored the terminal.
const terminalRestoreTimeout = time.Second

// untilSignal is like cancelOnSignal, and prints the messages of op at the first and second
// signal. It requires that the view is open.
func (a *app) untilSignal(ctx context.Context, view *operationView, op interruptible) (context.Context, func()) {
	errOut, display := a.errOut, view.display
	if op.to == nil {
		op.to = errOut
	}
	return cancelOnSignal(ctx, interruption{
		announce: func() {
			fmt.Fprintln(op.to, op.notice)
			fmt.Fprintf(errOut, "Waiting until %s. Press Ctrl-C again to exit immediately.\n", op.remainingWork)
		},
		leave: func(code int) {
			closed := make(chan struct{})
			go func() { defer close(closed); display.Close() }()
			select {
			case <-closed:
			case <-time.After(terminalRestoreTimeout): // the process ends without the display being closed
			}
			fmt.Fprintln(view.errOut, op.exitMessage())
			os.Exit(code)
		},
	})
}

// exitMessage returns the message that is printed when a second signal ends the process. It
// says in which state the release is.
func (op *interruptible) exitMessage() string {
	if !op.staysLocked {
		return fmt.Sprintf("Exited immediately: the result for release %s is not recorded.", op.release)
	}
	return fmt.Sprintf("Exited immediately: nothing is undone, and the recorded status of release %[1]s does not change. \"helm status %[1]s\" shows its progress; "+
		"the next helm upgrade, rollback or uninstall takes over the release and continues.", op.release)
}
