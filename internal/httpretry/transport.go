// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package httpretry sends requests to an API server again that it did not answer, or could
// not serve for a while, where that does no harm: an operation of minutes must not fail
// because a connection broke (docs/reliability.md, "When the API server is in trouble").
package httpretry

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// patience is for how long a request is sent again, from its first failure on, unless
	// its own time ends before: longer than an API server takes to be restarted.
	patience = 45 * time.Second
	// attemptLimit is how long one attempt may be without an answer: servers themselves
	// give up after a minute.
	attemptLimit = 65 * time.Second
	// recordLimit is for how long it is tried to write the record of a release: who holds
	// the release must be sure of that when the server gets what it has written.
	recordLimit = 8 * time.Second
	// mostRefusals is how often a request is sent at most that the server says it has
	// failed to serve: what it says may stay so, as of a webhook that is broken.
	mostRefusals = 6
	// refusalPatience is for how long that is done: a webhook that hangs takes its time
	// for each.
	refusalPatience = 5 * time.Second
	// sayAfter is for how long there was no answer when that is said.
	sayAfter = 2 * time.Second
)

// Server is what is known of a server. It is shared by all who talk to it, and safe for
// concurrent use.
type Server struct {
	answered atomic.Bool
	clock    serverClock
}

// MarkReached notes that the server has answered before. One that never has, and is not
// there, is not waited for.
func (s *Server) MarkReached() *Server {
	s.answered.Store(true)
	return s
}

// Transport sends requests again.
type Transport struct {
	Base http.RoundTripper
	*Server
	// OnUnavailable, if set, is told of a request that was not answered for some time, once for
	// each.
	OnUnavailable func(error)
}

// wish is what a context says about the requests that are made with it.
type wish int

const (
	sentOnce wish = iota
	read
)

// WithoutRetries returns a context for requests that are not sent again: whoever makes them does so
// itself.
func WithoutRetries(ctx context.Context) context.Context {
	return context.WithValue(ctx, sentOnce, true)
}

// WithStreaming returns a context for requests whose answers are read as they come, and which
// may break off.
func WithStreaming(ctx context.Context) context.Context { return context.WithValue(ctx, read, true) }

// RoundTrip sends a request until it is answered. Reads other than watches are answered
// when the whole answer is there.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Context().Value(sentOnce) != nil {
		return t.Base.RoundTrip(r)
	}
	d, err := t.prepare(r)
	if err != nil {
		return nil, err
	}
	return d.run(r.Context())
}

// WrappedRoundTripper is for client-go, which looks through round trippers.
func (t *Transport) WrappedRoundTripper() http.RoundTripper { return t.Base }

// delivery is one request, sent as often as it takes.
type delivery struct {
	*Transport
	request *http.Request
	body    []byte
	kind    kind
	// began is when it was sent first, by the server's clock as far as that is known.
	began time.Time
	// sent is the same by this machine's clock.
	sent time.Time
	// failed is when it failed first; refusals counts the answers that it cannot be
	// served, and unsure is whether the server may have done what was asked of it.
	failed   time.Time
	refusals int
	unsure   bool
	said     bool
	// trouble is what went wrong last.
	trouble error
	pause   wait.Backoff
}

func (t *Transport) prepare(r *http.Request) (*delivery, error) {
	d := &delivery{
		Transport: t, request: r.WithContext(WithoutRetries(r.Context())), began: t.clock.now(), sent: time.Now(),
		pause: wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 6, Cap: 3 * time.Second},
	}
	if r.Body != nil && r.Body != http.NoBody {
		var err error
		if d.body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		if err := r.Body.Close(); err != nil {
			return nil, err
		}
	}
	d.kind = kindOf(r, d.body)
	return d, nil
}

// run sends the request until it is answered, or that is given up.
func (d *delivery) run(ctx context.Context) (*http.Response, error) {
	for {
		answer, err := d.attempt(ctx)
		if ctx.Err() != nil {
			return answer, err
		}
		after, again := d.again(answer, err)
		if !again {
			if d.failed.IsZero() {
				return d.settled(ctx, answer, err)
			}
			last, err := d.last(answer, err)
			return d.settled(ctx, last, err)
		}
		if answer != nil {
			_ = answer.Body.Close() // its connection may be used again, or not
		}
		if !d.rest(ctx, after) {
			return nil, context.Cause(ctx)
		}
		if d.kind.records && d.age() >= recordLimit {
			return nil, &RecordTimeoutError{d.trouble}
		}
	}
}

// last is what a request comes to that was sent again, in a form which no client takes for
// a reason to begin anew.
func (d *delivery) last(answer *http.Response, err error) (*http.Response, error) {
	if answer != nil {
		answer.Header.Del("Retry-After")
		return answer, nil
	}
	if time.Since(d.failed) < patience {
		return nil, err
	}
	return nil, &unansweredError{text: strings.ReplaceAll(err.Error(), "connection reset by peer", "the connection was reset")}
}

// age is how long ago the request was sent first. A machine that slept counts the time of
// day alone.
func (d *delivery) age() time.Duration {
	return max(time.Since(d.sent), time.Now().Round(0).Sub(d.sent.Round(0)))
}

// RecordTimeoutError says that the record of a release could not be written soon: whoever wants to
// go on trying makes sure before that it still may.
type RecordTimeoutError struct{ Err error }

func (e *RecordTimeoutError) Error() string {
	return fmt.Sprintf("the API server did not answer for %s: %s", recordLimit, e.Err)
}

// Unwrap gives the last trouble with the server.
func (e *RecordTimeoutError) Unwrap() error { return e.Err }

// unansweredError says that a request was given up.
type unansweredError struct{ text string }

func (e *unansweredError) Error() string {
	return fmt.Sprintf("the API server did not answer for %s: %s", patience, e.text)
}

// attempt sends the request once. What can be read whole is read here: an answer may
// break off.
func (d *delivery) attempt(ctx context.Context) (*http.Response, error) {
	limited, cancel := context.WithCancel(ctx)
	r := d.request.WithContext(limited)
	if d.body != nil {
		r.Body = io.NopCloser(bytes.NewReader(d.body))
	}
	longest := attemptLimit
	switch {
	case d.kind.records:
		longest = recordLimit - d.age()
	case d.kind.asks:
		longest = min(recordLimit+d.age(), longest) // it may be large, and the way to it slow
	}
	limit := time.AfterFunc(longest, cancel)
	answer, err := d.Base.RoundTrip(r)
	late := !limit.Stop()
	if err != nil {
		cancel()
		if late && ctx.Err() == nil {
			return nil, fmt.Errorf("the server has not answered for %s", longest.Round(time.Second))
		}
		return nil, err
	}
	d.answered.Store(true)
	d.clock.set(answer.Header.Get("Date"))
	if d.kind.streams {
		answer.Body = &body{answer.Body, cancel}
		return answer, nil
	}
	defer cancel()
	defer answer.Body.Close()
	whole, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	answer.Body = io.NopCloser(bytes.NewReader(whole))
	return answer, nil
}

// body is the body of an answer that is read as it comes.
type body struct {
	io.ReadCloser
	end func()
}

func (b *body) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}

// rest waits before the request is sent again; false if its time ends meanwhile.
func (d *delivery) rest(ctx context.Context, after time.Duration) bool {
	timer := time.NewTimer(max(after, d.pause.Step()))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
