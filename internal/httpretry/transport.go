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
	// maxRetryTime is for how long a request is sent again, from its first failure on, unless
	// its own time ends before: longer than an API server takes to be restarted.
	maxRetryTime = 45 * time.Second
	// attemptTimeout is how long one attempt may be without an answer: servers themselves
	// give up after a minute.
	attemptTimeout = 65 * time.Second
	// recordTimeout is for how long it is tried to write the record of a release: who holds
	// the release must be sure of that when the server gets what it has written.
	recordTimeout = 8 * time.Second
	// maxServerErrors is how often a request is sent at most that the server says it has
	// failed to serve: what it says may stay so, as of a webhook that is broken.
	maxServerErrors = 6
	// maxServerErrorTime is for how long that is done: a webhook that hangs takes its time
	// for each.
	maxServerErrorTime = 5 * time.Second
	// notifyAfter is for how long there was no answer when that is said.
	notifyAfter = 2 * time.Second
)

// Server is what is known of a server. It is shared by all who talk to it, and safe for
// concurrent use.
type Server struct {
	responded atomic.Bool
	clock     serverClock
}

// MarkReached notes that the server has answered before. One that never has, and is not
// there, is not waited for.
func (s *Server) MarkReached() *Server {
	s.responded.Store(true)
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

// contextKey is what a context says about the requests that are made with it.
type contextKey int

const (
	withoutRetriesKey contextKey = iota
	streamingKey
)

// WithoutRetries returns a context for requests that are not sent again: whoever makes them does so
// itself.
func WithoutRetries(ctx context.Context) context.Context {
	return context.WithValue(ctx, withoutRetriesKey, true)
}

// WithStreaming returns a context for requests whose answers are read as they come, and which
// may break off.
func WithStreaming(ctx context.Context) context.Context {
	return context.WithValue(ctx, streamingKey, true)
}

// RoundTrip sends a request until it is answered. Reads other than watches are answered
// when the whole answer is there.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Context().Value(withoutRetriesKey) != nil {
		return t.Base.RoundTrip(r)
	}
	d, err := t.newRetrier(r)
	if err != nil {
		return nil, err
	}
	return d.run(r.Context())
}

// WrappedRoundTripper is for client-go, which looks through round trippers.
func (t *Transport) WrappedRoundTripper() http.RoundTripper { return t.Base }

// retrier is one request, sent as often as it takes.
type retrier struct {
	*Transport
	request *http.Request
	body    []byte
	kind    requestKind
	// startedAt is when it was sent first, by the server's clock as far as that is known.
	startedAt time.Time
	// startedLocally is the same by this machine's clock.
	startedLocally time.Time
	// firstFailure is when it failed first; refusals counts the answers that it cannot be
	// served, and unsure is whether the server may have done what was asked of it.
	firstFailure time.Time
	serverErrors int
	maybeApplied bool
	notified     bool
	// lastErr is what went wrong last.
	lastErr error
	backoff wait.Backoff
}

func (t *Transport) newRetrier(r *http.Request) (*retrier, error) {
	d := &retrier{
		Transport: t, request: r.WithContext(WithoutRetries(r.Context())), startedAt: t.clock.now(), startedLocally: time.Now(),
		backoff: wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 6, Cap: 3 * time.Second},
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
	d.kind = classify(r, d.body)
	return d, nil
}

// run sends the request until it is answered, or that is given up.
func (d *retrier) run(ctx context.Context) (*http.Response, error) {
	for {
		response, err := d.send(ctx)
		if ctx.Err() != nil {
			return response, err
		}
		after, again := d.shouldRetry(response, err)
		if !again {
			if d.firstFailure.IsZero() {
				return d.resolve(ctx, response, err)
			}
			last, err := d.finalResult(response, err)
			return d.resolve(ctx, last, err)
		}
		if response != nil {
			_ = response.Body.Close() // its connection may be used again, or not
		}
		if !d.wait(ctx, after) {
			return nil, context.Cause(ctx)
		}
		if d.kind.updatesRelease && d.elapsed() >= recordTimeout {
			return nil, &RecordTimeoutError{d.lastErr}
		}
	}
}

// finalResult is what a request comes to that was sent again, in a form which no client takes for
// a reason to begin anew.
func (d *retrier) finalResult(response *http.Response, err error) (*http.Response, error) {
	if response != nil {
		response.Header.Del("Retry-After")
		return response, nil
	}
	if time.Since(d.firstFailure) < maxRetryTime {
		return nil, err
	}
	return nil, &noResponseError{text: strings.ReplaceAll(err.Error(), "connection reset by peer", "the connection was reset")}
}

// elapsed is how long ago the request was sent first. A machine that slept counts the time of
// day alone.
func (d *retrier) elapsed() time.Duration {
	return max(time.Since(d.startedLocally), time.Now().Round(0).Sub(d.startedLocally.Round(0)))
}

// RecordTimeoutError says that the record of a release could not be written soon: whoever wants to
// go on trying makes sure before that it still may.
type RecordTimeoutError struct{ Err error }

func (e *RecordTimeoutError) Error() string {
	return fmt.Sprintf("the API server did not answer for %s: %s", recordTimeout, e.Err)
}

// Unwrap gives the last trouble with the server.
func (e *RecordTimeoutError) Unwrap() error { return e.Err }

// noResponseError says that a request was given up.
type noResponseError struct{ text string }

func (e *noResponseError) Error() string {
	return fmt.Sprintf("the API server did not answer for %s: %s", maxRetryTime, e.text)
}

// send sends the request once. What can be read whole is read here: an answer may
// break off.
func (d *retrier) send(ctx context.Context) (*http.Response, error) {
	attemptCtx, cancel := context.WithCancel(ctx)
	r := d.request.WithContext(attemptCtx)
	if d.body != nil {
		r.Body = io.NopCloser(bytes.NewReader(d.body))
	}
	timeout := attemptTimeout
	switch {
	case d.kind.updatesRelease:
		timeout = recordTimeout - d.elapsed()
	case d.kind.readsRelease:
		timeout = min(recordTimeout+d.elapsed(), timeout) // it may be large, and the way to it slow
	}
	timer := time.AfterFunc(timeout, cancel)
	response, err := d.Base.RoundTrip(r)
	late := !timer.Stop()
	if err != nil {
		cancel()
		if late && ctx.Err() == nil {
			return nil, fmt.Errorf("the server has not answered for %s", timeout.Round(time.Second))
		}
		return nil, err
	}
	d.responded.Store(true)
	d.clock.set(response.Header.Get("Date"))
	if d.kind.streams {
		response.Body = &streamedBody{response.Body, cancel}
		return response, nil
	}
	defer cancel()
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(data))
	return response, nil
}

// streamedBody is the body of an answer that is read as it comes.
type streamedBody struct {
	io.ReadCloser
	cancel func()
}

func (b *streamedBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}

// wait waits before the request is sent again; false if its time ends meanwhile.
func (d *retrier) wait(ctx context.Context, after time.Duration) bool {
	timer := time.NewTimer(max(after, d.backoff.Step()))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
