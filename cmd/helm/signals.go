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

// exitOnSignal is the number that shells add to the number of the signal that ended a
// program.
const exitOnSignal = 128

// doubled is how soon after the first signal a further one counts as the same: the terminal
// sends the signal to helm and to the program that started it, which may forward it.
const doubled = 500 * time.Millisecond

// interruption is what happens if the process is told to stop while it works on a release.
type interruption struct {
	// announce is called once, at the first signal, before the context ends.
	announce func()
	// leave is called at the second signal. It ends the process with an exit code.
	leave func(code int)
}

// cancelOnSignal returns a context that is cancelled if the process is interrupted or asked
// to terminate, or if its terminal closes. The operation then records what it began, and
// undoes it if that was requested; a second signal does not wait for this. If nobody reads
// the progress output any more, the operation continues. After a call to stop, signals end
// the process as usual. stop can be called more than once.
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

// interruptible is an operation on a release that a signal can cancel.
type interruptible struct {
	release string
	// notice is the sentence that reports the cancellation, and to receives it.
	notice string
	to     io.Writer
	// remainingWork is what is still done after the signal. staysLocked is whether the
	// release stays locked if the process does not wait for that.
	remainingWork string
	staysLocked   bool
}

// terminalRestoreTimeout is how long restoring the terminal may take.
const terminalRestoreTimeout = time.Second

// untilSignal is cancelOnSignal for an operation that a view displays. The view must have
// been opened.
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

// exitMessage says what state the release is in after a second signal.
func (op *interruptible) exitMessage() string {
	if !op.staysLocked {
		return fmt.Sprintf("Exited immediately: the result for release %s is not recorded.", op.release)
	}
	return fmt.Sprintf("Exited immediately: nothing is undone, and the recorded status of release %[1]s does not change. \"helm status %[1]s\" shows its progress; "+
		"the next helm upgrade, rollback or uninstall takes over the release and continues.", op.release)
}
