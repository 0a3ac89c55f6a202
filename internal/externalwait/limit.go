// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package externalwait

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// minOutageCheck is the minimum time between two checks of a timeout, so that an outage, in which
// the remaining time does not change, causes no busy loop.
const minOutageCheck = 100 * time.Millisecond

// TimeoutError is the cause of an UnmetError if its timeout, which the chart declares, expired.
type TimeoutError struct{ Limit time.Duration }

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("external dependencies were not ready within %s", e.Limit)
}

// Unwrap returns context.DeadlineExceeded, so that errors.Is finds it, as in any other timeout.
func (e *TimeoutError) Unwrap() error { return context.DeadlineExceeded }

// outages measures the time during which the API server does not respond to some of the requests
// of a Waiter. It does not count for timeouts.
type outages struct {
	mu    sync.Mutex
	away  map[any]bool // what currently gets no response
	since time.Time    // when away got its first element
	past  time.Duration
}

func newOutages() *outages { return &outages{away: map[any]bool{}} }

// set records whether source currently gets no response.
func (o *outages) set(source any, away bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	before := len(o.away)
	if away {
		o.away[source] = true
	} else {
		delete(o.away, source)
	}
	switch after := len(o.away); {
	case before == 0 && after > 0:
		o.since = time.Now()
	case before > 0 && after == 0:
		o.past += time.Since(o.since)
	}
}

// total returns the duration of all outages until now.
func (o *outages) total() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.away) > 0 {
		return o.past + time.Since(o.since)
	}
	return o.past
}

// limit returns a context that ends when ctx ends, with the cause ErrClosed when the Waiter is
// closed, and with a *TimeoutError when timeout expires, from which outages are subtracted; 0
// means no timeout. The caller must call the returned function.
func (w *Waiter) limit(ctx context.Context, timeout time.Duration) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var running sync.WaitGroup
	running.Go(func() { cancel(w.awaitLimit(ctx, timeout)) })
	return ctx, func() {
		cancel(context.Canceled)
		running.Wait()
	}
}

// awaitLimit returns when ctx ends, the Waiter is closed, or timeout expires. The error says which.
func (w *Waiter) awaitLimit(ctx context.Context, timeout time.Duration) error {
	start, before := time.Now(), w.outages.total()
	for {
		var expired <-chan time.Time
		if timeout > 0 {
			left := timeout - (time.Since(start) - (w.outages.total() - before))
			if left <= 0 {
				return &TimeoutError{timeout}
			}
			expired = time.After(max(left, minOutageCheck))
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-w.done:
			return ErrClosed
		case <-expired:
		}
	}
}
