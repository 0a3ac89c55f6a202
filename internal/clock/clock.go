// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package clock measures time across a suspension of the machine, and waits for the time to
// pass or a context to end.
package clock

import (
	"context"
	"time"
)

// Elapsed returns the time since a point in time: the longer of the times that two clocks
// measure. The monotonic clock may stop while the machine is suspended, and the wall clock
// can be set back.
func Elapsed(since time.Time) time.Duration {
	return max(time.Since(since), time.Now().Round(0).Sub(since.Round(0)))
}

// Sleep waits for a duration. It returns false if the context is done first.
func Sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
