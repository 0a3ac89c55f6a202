// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// cancelOnSignal returns a context that ends when the process is interrupted or
// asked to terminate; announce is called once before it ends. Further signals
// are taken and dropped until stop is called, so that the clean-up of an
// interrupted operation is not itself cut short. Nor does an operation end half
// done because nobody reads any more what it says of its progress. Once stop was
// called, which may be more than once, a closed pipe ends the process as usual.
func cancelOnSignal(parent context.Context, announce func()) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	unread := make(chan os.Signal, 1) // taken, so that it does not end the process
	signal.Notify(unread, syscall.SIGPIPE)

	done := make(chan struct{})
	watcherGone := make(chan struct{})
	go func() {
		defer close(watcherGone)
		select {
		case <-signals:
			announce()
			cancel()
		case <-done:
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
