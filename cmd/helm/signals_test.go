// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	ossignal "os/signal"
	"syscall"
	"testing"
	"time"
)

func TestCancelOnSignal(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		t.Run(signal.String(), func(t *testing.T) {
			if ossignal.Ignored(signal) { // as under nohup
				t.Skipf("this process ignores the signal %s", signal)
			}
			began := time.Now()
			announced, left := 0, make(chan int, 1)
			ctx, stop := cancelOnSignal(t.Context(), signalHandlers{func() { announced++ }, func(code int) {
				select {
				case left <- code:
				default:
				}
			}})
			if err := ctx.Err(); err != nil {
				t.Fatalf("ended before any signal: %v", err)
			}
			send(t, signal)
			<-ctx.Done()
			for code := 0; code == 0; { // a signal that comes too soon after the first is ignored
				send(t, signal)
				select {
				case code = <-left:
					if code != 128+int(signal) {
						t.Errorf("left with exit code %d", code)
					}
				case <-time.After(duplicateSignalTime / 2):
				}
			}
			stop() // returns after the watcher has ended, so announced can be read
			if time.Since(began) < duplicateSignalTime {
				t.Error("left because of a signal that is the first one once more")
			}
			if announced != 1 {
				t.Errorf("announced %d times", announced)
			}
		})
	}
}

func send(t *testing.T, signal syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(os.Getpid(), signal); err != nil {
		t.Fatal(err)
	}
}

func TestCancelOnSignalWithoutASignal(t *testing.T) {
	parent, cancel := context.WithCancel(t.Context())
	ctx, stop := cancelOnSignal(parent, signalHandlers{
		func() { t.Error("announced without a signal") }, func(int) { t.Error("left without a signal") },
	})
	cancel()
	<-ctx.Done()
	stop()
	stop()
}
