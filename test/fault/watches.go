// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"context"
	"net/http"
	"time"
)

// watching is a watch that is in progress.
type watching struct {
	cancel  context.CancelFunc
	stalled chan struct{} // closed when it stalls
}

// CutWatches closes the connections of all open watches, and returns their number.
func (p *Proxy) CutWatches() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	cut := len(p.watches)
	for _, w := range p.watches {
		w.cancel()
	}
	clear(p.watches)
	return cut
}

// StallWatches makes all open watches stall: they stay open, but their clients receive no more
// data. It returns the number of open watches, including those that had stalled before.
// Watches that are opened later are not affected.
func (p *Proxy) StallWatches() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.watches {
		select {
		case <-w.stalled:
		default:
			close(w.stalled)
		}
	}
	return len(p.watches)
}

// CutAfter returns a rule that closes the connection of each watch after a random time between
// atLeast and atMost, which depends on the seed as in Random.
func CutAfter(seed uint64, atLeast, atMost time.Duration) Rule {
	return watchesAfter(seed, atLeast, atMost, func(w http.ResponseWriter, r *http.Request, d time.Duration) {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		timer := time.AfterFunc(d, cancel)
		defer timer.Stop()
		Pass(w, r.WithContext(ctx))
		if ctx.Err() != nil {
			panic(http.ErrAbortHandler)
		}
	})
}

// StallAfter returns a rule that makes each watch stall after a random time between atLeast
// and atMost, which depends on the seed as in Random. A stalled watch sends no more data, and
// ends only when its client cancels it.
func StallAfter(seed uint64, atLeast, atMost time.Duration) Rule {
	return watchesAfter(seed, atLeast, atMost, func(w http.ResponseWriter, r *http.Request, d time.Duration) {
		stalled := make(chan struct{})
		timer := time.AfterFunc(d, func() { close(stalled) })
		defer timer.Stop()
		untilStalled(w, r, stalled, Pass)
	})
}

func watchesAfter(seed uint64, atLeast, atMost time.Duration, pass func(http.ResponseWriter, *http.Request, time.Duration)) Rule {
	lots := newLots(seed)
	return func(w http.ResponseWriter, r *http.Request, what Request) bool {
		if !Watches(what) {
			return false
		}
		d := atLeast
		if atMost > atLeast {
			d += time.Duration(lots.draw(what).Int64N(int64(atMost - atLeast)))
		}
		pass(w, r, d)
		return true
	}
}

// untilStalled calls pass to answer a request. After stalled is closed, the client receives no
// more data, not even the end of the response.
func untilStalled(w http.ResponseWriter, r *http.Request, stalled <-chan struct{}, pass func(http.ResponseWriter, *http.Request)) {
	defer func() {
		select {
		case <-stalled:
			if cause := recover(); cause != nil && cause != http.ErrAbortHandler { //nolint:errorlint // a panic, compared as http.Server does
				panic(cause)
			}
			<-r.Context().Done()
			panic(http.ErrAbortHandler)
		default:
		}
	}()
	pass(stallable{w, r.Context(), stalled}, r)
}

// stallable is an http.ResponseWriter for a watch that can stall.
type stallable struct {
	http.ResponseWriter
	ctx     context.Context // of the request
	stalled <-chan struct{}
}

func (s stallable) Write(b []byte) (int, error) {
	select {
	case <-s.stalled:
		<-s.ctx.Done()
		return 0, s.ctx.Err()
	default:
		return s.ResponseWriter.Write(b)
	}
}

func (s stallable) Flush() { flush(s.ResponseWriter) }

func (s stallable) Unwrap() http.ResponseWriter { return s.ResponseWriter }
