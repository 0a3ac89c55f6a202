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

// exitOnSignal is what a shell adds to the number of the signal that ended a program.
const exitOnSignal = 128

// doubled is how soon after the first signal another one is the same: who runs helm may
// pass on what the terminal has sent to both.
const doubled = 500 * time.Millisecond

// interruption is what is said and done when a process is told to stop while it works
// on a release.
type interruption struct {
	// announce is called once, at the first signal, before the context ends.
	announce func()
	// leave is called at the second one: it ends the process with an exit code.
	leave func(code int)
}

// cancelOnSignal returns a context that ends when the process is interrupted or
// asked to terminate, or its terminal goes away. What was begun is then recorded, and
// undone where that was asked for; a second signal does not wait for that. Nor does an
// operation end half done because nobody reads any more what it says of its progress.
// Once stop was called, which may be more than once, signals end the process as usual.
func cancelOnSignal(parent context.Context, i interruption) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		signal.Notify(signals, syscall.SIGHUP)
	}
	unread := make(chan os.Signal, 1) // taken, so that it does not end the process
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
					number, _ := s.(syscall.Signal) // as all of them are
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

// interruptible is an operation on a release that a signal ends.
type interruptible struct {
	release string
	// notice is the sentence that says so, and to whom it goes.
	notice string
	to        io.Writer
	// remainingWork is what is still done after that; held is whether the release stays held
	// if that is not waited for.
	remainingWork string
	staysLocked  bool
}

// terminalRestoreTimeout is how long the terminal may take to be as it was before.
const terminalRestoreTimeout = time.Second

// untilSignal is cancelOnSignal for an operation that a view shows: it was opened
// before.
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
			case <-time.After(terminalRestoreTimeout): // the process ends all the same
			}
			fmt.Fprintln(view.errOut, op.exitMessage())
			os.Exit(code)
		},
	})
}

// exitMessage says how it goes on after a second signal.
func (op *interruptible) exitMessage() string {
	if !op.staysLocked {
		return fmt.Sprintf("Exited immediately: the result for release %s is not recorded.", op.release)
	}
	return fmt.Sprintf("Exited immediately: nothing is undone, and the recorded status of release %[1]s does not change. \"helm status %[1]s\" shows its progress; "+
		"the next helm upgrade, rollback or uninstall takes over the release and continues.", op.release)
}
