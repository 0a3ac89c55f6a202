// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	// mostAtOnce is how many requests are under way at once at most, and
	// atOnce how many at first.
	mostAtOnce = 32
	atOnce     = 16
)

// pace bounds how many requests are under way at once by what the server bears: each
// time it says that there are too many, half as many go on; for each round of answers
// without that, one more. A watch counts until it is answered.
type pace struct {
	places *semaphore.Weighted

	mu sync.Mutex
	// limit is how many places there are to be, withheld how many of mostAtOnce
	// nobody can take.
	limit, withheld int
	// good counts the answers since the limit was changed, which was at changed.
	good    int
	changed time.Time
}

func newPace() *pace {
	p := &pace{places: semaphore.NewWeighted(mostAtOnce), limit: atOnce, withheld: mostAtOnce - atOnce}
	p.places.TryAcquire(int64(p.withheld)) // which nobody else has yet
	return p
}

// wrap has the requests of a client keep the pace.
func (p *pace) wrap(rt http.RoundTripper) http.RoundTripper { return &pacedTransport{rt, p} }

// leave gives a place back, or keeps it as one too many.
func (p *pace) leave(began time.Time, answer *http.Response) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case answer == nil:
	case answer.StatusCode == http.StatusTooManyRequests:
		// Of those that were under way together only the first counts.
		if began.After(p.changed) {
			p.limit, p.good, p.changed = max(1, p.limit/2), 0, time.Now()
		}
	default:
		if p.good++; p.good >= p.limit && p.limit < mostAtOnce {
			p.limit, p.good = p.limit+1, 0
		}
	}
	if p.withheld < mostAtOnce-p.limit {
		p.withheld++
		return
	}
	p.places.Release(1)
	for ; p.withheld > mostAtOnce-p.limit; p.withheld-- {
		p.places.Release(1)
	}
}

// pacedTransport sends requests at a pace.
type pacedTransport struct {
	http.RoundTripper
	pace *pace
}

func (t *pacedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := t.pace.places.Acquire(r.Context(), 1); err != nil {
		return nil, err
	}
	began := time.Now()
	answer, err := t.RoundTripper.RoundTrip(r)
	t.pace.leave(began, answer)
	return answer, err
}

// WrappedRoundTripper is for client-go, which looks through round trippers.
func (t *pacedTransport) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }
