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
	// InitialConcurrency is the initial limit.
	InitialConcurrency = 16
)

// concurrencyLimiter adapts the number of requests that are sent at the same time to what
// the server can handle. Each time the server answers that there are too many requests, the
// limit is halved. For each round of other answers the limit is increased by one, if it was
// reached. A watch counts until it is answered.
type concurrencyLimiter struct {
	slots *semaphore.Weighted

	mu sync.Mutex
	// limit is the current number of slots. withheld is the number of slots, out of
	// MaxConcurrency, that cannot be acquired.
	limit, withheld int
	// inUse is the number of acquired slots. reached says whether all slots were acquired
	// at some time since the limit changed. successes counts the answers since then.
	// reductions counts the reductions of the limit.
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

// wrap limits the requests of a client.
func (l *concurrencyLimiter) wrap(rt http.RoundTripper) http.RoundTripper {
	return &limitedTransport{rt, l}
}

// acquire waits for a slot. The caller must pass reductions to release.
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

// release frees a slot, or withholds it if there are too many.
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

// limitedTransport limits how many requests are sent at the same time.
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
