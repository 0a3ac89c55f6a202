// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package httpretry retries requests to an API server that does not respond or is
// temporarily unavailable, if that is safe. An operation that takes minutes must not fail
// because a connection broke (docs/reliability.md, "When the API server is unavailable").
// Package cluster adds its Transport to the clients.
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

	"github.com/ordered-helm/helm/internal/clock"
)

const (
	// maxRetryTime is how long a request is retried after its first failure. It is longer
	// than an API server takes to restart.
	maxRetryTime = 45 * time.Second
	// attemptTimeout limits the time until the response to one attempt. API servers time
	// out after a minute.
	attemptTimeout = 65 * time.Second
	// recordTimeout limits the total time of a request that updates a stored release, with
	// all retries. The lock holder must be certain that it still has the lock when the
	// server processes the update.
	recordTimeout = 8 * time.Second
	// maxServerErrors is how often a request is sent that fails with a server error other
	// than "unavailable". Such an error can be permanent, as with a broken webhook.
	maxServerErrors = 6
	// maxServerErrorTime is how long such a request is retried. A webhook that does not
	// respond makes each attempt slow.
	maxServerErrorTime = 5 * time.Second
	// notifyAfter is the time from the first failure of a request until OnUnavailable is
	// called.
	notifyAfter = 2 * time.Second
)

// Server has the state of an API server that the Transports of all its clients share:
// whether it has responded before, and its clock. It is safe for concurrent use.
type Server struct {
	responded atomic.Bool
	clock     serverClock
}

// MarkReached records that the server has responded before, and returns s. If no connection
// can be made, requests are only retried if the server has responded before: otherwise the
// address may be wrong.
func (s *Server) MarkReached() *Server {
	s.responded.Store(true)
	return s
}

// Transport is an http.RoundTripper that sends requests with Base, and retries them.
type Transport struct {
	Base http.RoundTripper
	*Server
	// OnUnavailable is called at most once for each request: with its last error, when it
	// has failed for two seconds. It can be nil.
	OnUnavailable func(error)
}

type contextKey int

const (
	withoutRetriesKey contextKey = iota
	streamingKey
)

// WithoutRetries returns a context with which Transport does not retry a request. It is for
// callers that retry requests themselves.
func WithoutRetries(ctx context.Context) context.Context {
	return context.WithValue(ctx, withoutRetriesKey, true)
}

// WithStreaming returns a context with which Transport returns a response as soon as it
// begins. The caller reads the body while it arrives, and must handle a body that ends
// early.
func WithStreaming(ctx context.Context) context.Context {
	return context.WithValue(ctx, streamingKey, true)
}

// RoundTrip sends a request, and retries it if necessary. Except for watches and other
// streams, it reads the complete response body before it returns.
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

// WrappedRoundTripper returns Base. client-go uses it to unwrap round trippers.
func (t *Transport) WrappedRoundTripper() http.RoundTripper { return t.Base }

// retrier is the state of one request: it sends the request until there is a response.
type retrier struct {
	*Transport
	request *http.Request
	body    []byte
	kind    requestKind
	// startedAt is the time of the first attempt, by the clock of the server if it is
	// known.
	startedAt time.Time
	// startedLocally is the time of the first attempt by the local clock.
	startedLocally time.Time
	// firstFailure is the time at which an attempt first failed. serverErrors counts the
	// attempts that failed with a server error. maybeApplied is true if the server may have
	// processed a failed attempt. notified is true if OnUnavailable was called.
	firstFailure time.Time
	serverErrors int
	maybeApplied bool
	notified     bool
	// lastErr describes the last failure.
	lastErr error
	backoff wait.Backoff
}

// newRetrier reads the body of a request, so that it can be sent more than once.
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

// run sends the request until it succeeds, fails in a way that must not be retried, or the
// time for retries has passed.
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
			_ = response.Body.Close() // the connection may not be reusable
		}
		if !clock.Sleep(ctx, max(after, d.backoff.Step())) {
			return nil, context.Cause(ctx)
		}
		if d.kind.updatesRelease && clock.Elapsed(d.startedLocally) >= recordTimeout {
			return nil, &RecordTimeoutError{d.lastErr}
		}
	}
}

// finalResult returns the result of a request that is not retried any longer. It removes
// from it what would make client-go retry the request again.
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

// RecordTimeoutError reports that a stored release could not be updated within
// recordTimeout. Before the caller retries, it must check that it still has the lock.
type RecordTimeoutError struct{ Err error }

func (e *RecordTimeoutError) Error() string {
	return fmt.Sprintf("the API server did not respond for %s: %s", recordTimeout, e.Err)
}

// Unwrap returns Err, the last failure.
func (e *RecordTimeoutError) Unwrap() error { return e.Err }

// noResponseError reports that the server did not respond to a request within maxRetryTime.
type noResponseError struct{ text string }

func (e *noResponseError) Error() string {
	return fmt.Sprintf("the API server did not respond for %s: %s", maxRetryTime, e.text)
}

// send sends the request once. Unless the response is a stream, it reads the complete body,
// so that a connection that breaks while the body is read can be retried.
func (d *retrier) send(ctx context.Context) (*http.Response, error) {
	attemptCtx, cancel := context.WithCancel(ctx)
	r := d.request.WithContext(attemptCtx)
	if d.body != nil {
		r.Body = io.NopCloser(bytes.NewReader(d.body))
	}
	timeout := attemptTimeout
	switch {
	case d.kind.updatesRelease:
		timeout = recordTimeout - clock.Elapsed(d.startedLocally)
	case d.kind.readsRelease:
		timeout = min(recordTimeout+clock.Elapsed(d.startedLocally), timeout) // a stored release may be large
	}
	timer := time.AfterFunc(timeout, cancel)
	response, err := d.Base.RoundTrip(r)
	late := !timer.Stop()
	if err != nil {
		cancel()
		if late && ctx.Err() == nil {
			return nil, fmt.Errorf("the server did not respond for %s", timeout.Round(time.Second))
		}
		return nil, err
	}
	d.responded.Store(true)
	d.clock.set(response.Header.Get("Date"))
	if d.kind.streams {
		response.Body = &BodyWithCleanup{response.Body, cancel}
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

// BodyWithCleanup is a response body whose Close also calls Cleanup, to end the request.
type BodyWithCleanup struct {
	io.ReadCloser
	Cleanup func()
}

// Close closes the body, and then calls Cleanup.
func (b *BodyWithCleanup) Close() error {
	defer b.Cleanup()
	return b.ReadCloser.Close()
}
