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
	// mostAtOnce is how many requests are under way at once at most, and
	// atOnce how many at first.
	mostAtOnce = 32
	atOnce     = 16
)

// pace bounds how many requests are under way at once by what the server bears: each
// time it says that there are too many, half as many go on; for each round of answers
// without that, one more, if so many were wanted. A watch counts until it is answered.
type pace struct {
	places *semaphore.Weighted

	mu sync.Mutex
	// limit is how many places there are to be, withheld how many of mostAtOnce
	// nobody can take.
	limit, withheld int
	// taken is how many places are taken, full whether all were at a time since the
	// limit was changed; good counts the answers since then, cuts how often it was cut.
	taken, good, cuts int
	full              bool
}

func newPace() *pace {
	p := &pace{places: semaphore.NewWeighted(mostAtOnce), limit: atOnce, withheld: mostAtOnce - atOnce}
	p.places.TryAcquire(int64(p.withheld)) // which nobody else has yet
	return p
}

// wrap has the requests of a client keep the pace.
func (p *pace) wrap(rt http.RoundTripper) http.RoundTripper { return &pacedTransport{rt, p} }

// enter takes a place, and returns what leave is to be told.
func (p *pace) enter(ctx context.Context) (cuts int, err error) {
	if err := p.places.Acquire(ctx, 1); err != nil {
		return 0, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken++
	p.full = p.full || p.taken >= p.limit
	return p.cuts, nil
}

// leave gives a place back, or keeps it as one too many.
func (p *pace) leave(cuts int, answer *http.Response) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case answer == nil:
	case answer.StatusCode == http.StatusTooManyRequests:
		if cuts == p.cuts { // of those that were under way together only the first counts
			p.limit, p.good, p.full, p.cuts = max(1, p.limit/2), 0, false, p.cuts+1
		}
	case p.full: // else it says nothing of more
		if p.good++; p.good >= p.limit && p.limit < mostAtOnce {
			p.limit, p.good, p.full = p.limit+1, 0, false
		}
	}
	p.taken--
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
	cuts, err := t.pace.enter(r.Context())
	if err != nil {
		return nil, err
	}
	answer, err := t.RoundTripper.RoundTrip(r)
	t.pace.leave(cuts, answer)
	return answer, err
}

// WrappedRoundTripper is for client-go, which looks through round trippers.
func (t *pacedTransport) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }
