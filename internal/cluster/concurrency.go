// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"net/http"
	"sync"

	"golang.org/x/sync/semaphore"
)

const (
	// MaxConcurrency is the maximum number of requests that a Client sends at the same time.
	MaxConcurrency = 32
	// InitialConcurrency is the number of requests that a Client sends at the same time
	// before it adapts this limit to the server.
	InitialConcurrency = 16
)

// concurrencyLimiter limits how many requests are in progress at the same time, and adapts
// the limit to what the server can handle. It halves the limit when the server responds that
// there are too many requests (status 429). It increases a limit of n by one after n other
// responses, but only if n requests were in progress at the same time. A request is in
// progress until its response begins, so an open watch does not count.
//
// A request occupies a slot while it is in progress. There are MaxConcurrency slots. The
// limiter withholds those above the limit, which means that no request can acquire them.
type concurrencyLimiter struct {
	slots *semaphore.Weighted

	mu sync.Mutex
	// limit is the current limit. withheld is the number of slots that are withheld. After
	// a reduction of the limit, withheld grows only when requests release their slots.
	limit, withheld int
	// inUse is the number of slots that requests have acquired. reached is true if inUse
	// was as large as the limit at some time since the limit last changed. successes counts
	// the responses after that time. reductions counts how often the limit was reduced.
	inUse, successes, reductions int
	reached                      bool
}

func newConcurrencyLimiter() *concurrencyLimiter {
	l := &concurrencyLimiter{
		slots: semaphore.NewWeighted(MaxConcurrency), limit: InitialConcurrency, withheld: MaxConcurrency - InitialConcurrency,
	}
	l.slots.TryAcquire(int64(l.withheld)) // succeeds, because no slot is acquired yet
	return l
}

// wrap returns a round tripper that sends requests with rt, within the limit.
func (l *concurrencyLimiter) wrap(rt http.RoundTripper) http.RoundTripper {
	return &limitedTransport{rt, l}
}

// acquire waits for a slot. It returns the current number of reductions of the limit, which
// the caller must pass to release.
func (l *concurrencyLimiter) acquire(ctx context.Context) (reductions int, err error) {
	if err := l.slots.Acquire(ctx, 1); err != nil {
		return 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inUse++
	l.reached = l.reached || l.inUse >= l.limit
	return l.reductions, nil
}

// release adapts the limit to the response of a request, and frees the slot of the request,
// or withholds it if the limit was reduced. response is nil if there was none. reductions is
// what acquire returned.
func (l *concurrencyLimiter) release(reductions int, response *http.Response) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case response == nil:
	case response.StatusCode == http.StatusTooManyRequests:
		if reductions == l.reductions { // a request sent before the last reduction says nothing about the new limit
			l.limit, l.successes, l.reached, l.reductions = max(1, l.limit/2), 0, false, l.reductions+1
		}
	case l.reached: // otherwise it is unknown whether the server can handle more
		if l.successes++; l.successes >= l.limit && l.limit < MaxConcurrency {
			l.limit, l.successes, l.reached = l.limit+1, 0, false
		}
	}
	l.inUse--
	if l.withheld < MaxConcurrency-l.limit {
		l.withheld++
		return
	}
	l.slots.Release(1)
	for ; l.withheld > MaxConcurrency-l.limit; l.withheld-- {
		l.slots.Release(1)
	}
}

// limitedTransport sends each request when limiter has a slot for it.
type limitedTransport struct {
	http.RoundTripper
	limiter *concurrencyLimiter
}

func (t *limitedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	reductions, err := t.limiter.acquire(r.Context())
	if err != nil {
		return nil, err
	}
	response, err := t.RoundTripper.RoundTrip(r)
	t.limiter.release(reductions, response)
	return response, err
}

// WrappedRoundTripper lets client-go find the wrapped round tripper.
func (t *limitedTransport) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }
