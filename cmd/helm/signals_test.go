// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"syscall"
	"testing"
)

func TestCancelOnSignal(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(signal.String(), func(t *testing.T) {
			announced := 0
			ctx, stop := cancelOnSignal(t.Context(), func() { announced++ })
			if err := ctx.Err(); err != nil {
				t.Fatalf("ended before any signal: %v", err)
			}
			for range 2 {
				if err := syscall.Kill(os.Getpid(), signal); err != nil {
					t.Fatal(err)
				}
			}
			<-ctx.Done()
			stop() // returns when the watcher is gone: announced may be read
			if announced != 1 {
				t.Errorf("announced %d times", announced)
			}
		})
	}
}

func TestCancelOnSignalWithoutASignal(t *testing.T) {
	parent, cancel := context.WithCancel(t.Context())
	ctx, stop := cancelOnSignal(parent, func() { t.Error("announced without a signal") })
	cancel()
	<-ctx.Done()
	stop()
}
