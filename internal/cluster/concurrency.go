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
	// MaxConcurrency is the maximum number of requests that a Client sends at the same
	// time.
	MaxConcurrency = 32
	// InitialConcurrency is the limit of requests at the same time before it adapts to the
	// server.
	InitialConcurrency = 16
)

// concurrencyLimiter limits how many requests are sent at the same time, and adapts the
// limit to what the server can handle. It halves the limit when the server responds that
// there are too many requests (status 429). With a limit of n, it increases the limit by
// one after n other responses, but only if n requests were in progress at the same time. A
// request is in progress until its response begins, so an open watch does not count.
//
// A request needs a slot while it is in progress. There are MaxConcurrency slots, of which
// those above the limit are withheld.
type concurrencyLimiter struct {
	slots *semaphore.Weighted

	mu sync.Mutex
	// limit is the current limit. withheld is the number of slots that requests cannot
	// acquire. After a reduction, it grows only as slots are released.
	limit, withheld int
	// inUse is the number of slots that requests have acquired. reached says whether it was
	// as large as the limit at some time since the limit changed. successes counts the
	// responses after that time. reductions counts the reductions of the limit.
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

// acquire waits for a slot. The caller must pass the returned reductions to release.
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

// release adapts the limit to a response, and returns the slot of its request, or withholds
// it if there are too many. answer is nil if there was no response. reductions is what
// acquire returned.
func (l *concurrencyLimiter) release(reductions int, answer *http.Response) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case answer == nil:
	case answer.StatusCode == http.StatusTooManyRequests:
		if reductions == l.reductions { // requests that were sent before the last reduction do not count
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

// limitedTransport sends requests when limiter has a slot for them.
type limitedTransport struct {
	http.RoundTripper
	limiter *concurrencyLimiter
}

func (t *limitedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	reductions, err := t.limiter.acquire(r.Context())
	if err != nil {
		return nil, err
	}
	answer, err := t.RoundTripper.RoundTrip(r)
	t.limiter.release(reductions, answer)
	return answer, err
}

// WrappedRoundTripper is for client-go, which unwraps round trippers.
func (t *limitedTransport) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }
