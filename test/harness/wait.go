// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"testing"
	"time"
)

// Timeout is how long tests wait for something that should happen soon, even on a busy
// machine.
const Timeout = 3 * time.Minute

// Eventually waits until happened returns true. After Timeout, it ends the test with a message
// that contains what.
func Eventually(tb testing.TB, what string, happened func() bool) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), Timeout)
	defer cancel()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for !happened() {
		select {
		case <-look.C:
		case <-ctx.Done():
			tb.Fatalf("%s never happened", what)
		}
	}
}

// AwaitClosed waits until a channel is closed. After Timeout, it ends the test with a message
// that contains what.
func AwaitClosed(tb testing.TB, happened <-chan struct{}, what string) {
	tb.Helper()
	select {
	case <-happened:
	case <-time.After(Timeout):
		tb.Fatalf("%s never happened", what)
	}
}

// NoError ends the test if there is an error.
func NoError(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
