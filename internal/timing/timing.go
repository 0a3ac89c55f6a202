// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package timing measures time correctly even if the machine was suspended, and sleeps until
// a duration has passed or a context is done.
package timing

import (
	"context"
	"time"
)

// Elapsed returns the time that has passed since a point in time. It measures this time
// with the monotonic clock, which may stop while the machine is suspended, and with the
// wall clock, which may be set back, and returns the longer one.
func Elapsed(since time.Time) time.Duration {
	return max(time.Since(since), time.Now().Round(0).Sub(since.Round(0)))
}

// Sleep waits for the duration d, and returns true. If ctx is done first, it returns false
// immediately.
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
