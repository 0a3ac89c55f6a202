// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// cancelOnSignal returns a context that ends when the process is interrupted or
// asked to terminate; announce is called once before it ends. Further signals
// are taken and dropped until stop is called, so that the clean-up of an
// interrupted operation is not itself cut short.
func cancelOnSignal(parent context.Context, announce func()) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)

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
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		<-watcherGone
		cancel()
	}
}
