// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package timing

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestSleep checks that Sleep waits for the duration, unless the context is done first.
func TestSleep(t *testing.T) {
	for _, c := range []struct {
		duration, timeout, want time.Duration
		complete                bool
	}{
		{duration: time.Second, timeout: time.Minute, want: time.Second, complete: true},
		{duration: time.Minute, timeout: time.Second, want: time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), c.timeout)
			defer cancel()
			began := time.Now()
			if complete := Sleep(ctx, c.duration); complete != c.complete || Elapsed(began) != c.want {
				t.Errorf("%+v: got %v after %s", c, complete, Elapsed(began))
			}
		})
	}
}

// TestElapsed checks that a time without a monotonic clock reading is measured, too.
func TestElapsed(t *testing.T) {
	if got := Elapsed(time.Now().Add(-time.Hour).Round(0)); got < time.Hour || got > time.Hour+time.Minute {
		t.Errorf("got %s", got)
	}
}
