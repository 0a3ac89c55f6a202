// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"context"
	"net/http"
	"time"
)

// watching is a watch that the proxy passes on.
type watching struct {
	cancel  context.CancelFunc
	stalled chan struct{} // closed when it falls silent
}

// CutWatches drops the connections of all open watches, and says how many there
// were.
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

// StallWatches has all open watches tell nothing any more, without an end: what
// the server sends after it returned does not arrive. It says how many they were,
// those that had stalled before among them; later watches are as ever.
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

// CutAfter is a rule that drops the connection of each watch after a while, of a
// length between the two. The seed decides how long, as it does in Random.
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

// StallAfter is a rule by which each watch tells nothing any more after a while,
// of a length between the two, and does not end before its client ends it. The
// seed decides how long, as it does in Random.
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

// untilStalled passes a request on until the moment from which its client is told
// nothing; that the server ends the answer is not told then either.
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

// stallable is the answer to a watch that may fall silent.
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
