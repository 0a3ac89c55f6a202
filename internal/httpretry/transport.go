// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package httpretry retries requests to an API server that does not respond or is
// temporarily unavailable, if a retry is safe. An operation that takes minutes must not fail
// because a connection broke (docs/reliability.md, "When the API server is unavailable").
// Package cluster adds the Transport of this package to its clients.
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

	"github.com/ordered-helm/helm/internal/timing"
)

const (
	// maxRetryTime is how long a request is retried after its first failure. An API server
	// needs less time to restart.
	maxRetryTime = 45 * time.Second
	// attemptTimeout limits how long one attempt waits for its response. It is longer than
	// the timeout of API servers, which is a minute.
	attemptTimeout = 65 * time.Second
	// releaseUpdateTimeout limits the total time, with all retries, of a request that
	// updates a stored release. It ensures that the operation still holds the lock of the
	// release when the server processes the update.
	releaseUpdateTimeout = 8 * time.Second
	// maxServerErrors is how often a request is sent if it fails with a server error other
	// than 503 (Service Unavailable). The error can be permanent, for example if a webhook
	// is broken.
	maxServerErrors = 6
	// maxServerErrorTime is how long a request is retried after server errors other than
	// 503. A webhook that does not respond makes each attempt slow.
	maxServerErrorTime = 5 * time.Second
	// notifyAfter is the time from the first failure of a request until OnUnavailable is
	// called.
	notifyAfter = 2 * time.Second
)

// ServerState holds what is known about an API server: whether it has responded before, and
// its clock. The Transports of all clients of the server share it. It is safe for concurrent
// use.
type ServerState struct {
	responded atomic.Bool
	clock     serverClock
}

// MarkReached records that the server has responded before, and returns s. After a failure
// to connect, Transport retries requests only if the server has responded before, because
// otherwise its address may be wrong.
func (s *ServerState) MarkReached() *ServerState {
	s.responded.Store(true)
	return s
}

// Transport is an http.RoundTripper that sends requests with Base, and retries them.
type Transport struct {
	Base http.RoundTripper
	*ServerState
	// OnUnavailable is called with the last error of a request when the request has failed
	// for two seconds. It is called at most once for each request. It can be nil.
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

// WithStreaming returns a context with which Transport returns a response as soon as its
// headers have arrived. The caller reads the body while it arrives, and must handle a body
// that ends early.
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

// WrappedRoundTripper returns Base. It lets client-go find the wrapped round tripper.
func (t *Transport) WrappedRoundTripper() http.RoundTripper { return t.Base }

// CancelRequest does nothing, because RoundTrip ends when the context of the request does.
// Without it, client-go would write to stderr that requests cannot be canceled when a request
// takes longer than the timeout of its client.
func (*Transport) CancelRequest(*http.Request) {}

// retrier sends one request, and retries it. It holds the state of the retries.
type retrier struct {
	*Transport
	request *http.Request
	body    []byte
	kind    requestKind
	// startedAt is the estimated time on the clock of the server when the request was first
	// sent. startedLocally is the same time on the local clock.
	startedAt, startedLocally time.Time
	// firstFailure is the time of the first failed attempt. serverErrors counts the
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

// newRetrier returns a retrier for a request. It reads the body of the request, so that the
// request can be sent more than once.
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

// run sends the request until it succeeds, fails with an error that must not be retried, or
// has been retried for too long.
func (d *retrier) run(ctx context.Context) (*http.Response, error) {
	for {
		response, err := d.send(ctx)
		if ctx.Err() != nil {
			return response, err
		}
		after, again := d.shouldRetry(response, err)
		if !again {
			if d.firstFailure.IsZero() {
				return d.correctResponse(ctx, response, err)
			}
			last, err := d.finalResult(response, err)
			return d.correctResponse(ctx, last, err)
		}
		if response != nil {
			_ = response.Body.Close() // an error does not matter, because the body is not needed
		}
		if !timing.Sleep(ctx, max(after, d.backoff.Step())) {
			return nil, context.Cause(ctx)
		}
		if d.kind.updatesRelease && timing.Elapsed(d.startedLocally) >= releaseUpdateTimeout {
			return nil, &ReleaseUpdateTimeoutError{d.lastErr}
		}
	}
}

// finalResult returns the result of a request that is not retried any longer. It changes
// headers and errors because of which client-go would retry the request.
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

// ReleaseUpdateTimeoutError reports that a stored release could not be updated in time (see
// releaseUpdateTimeout). Before the caller tries again, it must check that it still holds the
// lock of the release.
type ReleaseUpdateTimeoutError struct{ Err error }

func (e *ReleaseUpdateTimeoutError) Error() string {
	return fmt.Sprintf("the API server did not respond for %s: %s", releaseUpdateTimeout, e.Err)
}

// Unwrap returns Err, the last failure.
func (e *ReleaseUpdateTimeoutError) Unwrap() error { return e.Err }

// noResponseError reports that the server did not respond to a request within maxRetryTime.
type noResponseError struct{ text string }

func (e *noResponseError) Error() string {
	return fmt.Sprintf("the API server did not respond for %s: %s", maxRetryTime, e.text)
}

// send sends the request once. Unless the response is a stream, it reads the complete body,
// so that the request can be retried if the connection breaks meanwhile.
func (d *retrier) send(ctx context.Context) (*http.Response, error) {
	attemptCtx, cancel := context.WithCancel(ctx)
	r := d.request.WithContext(attemptCtx)
	if d.body != nil {
		r.Body = io.NopCloser(bytes.NewReader(d.body))
	}
	timeout := attemptTimeout
	switch {
	case d.kind.updatesRelease:
		timeout = releaseUpdateTimeout - timing.Elapsed(d.startedLocally)
	case d.kind.readsRelease:
		timeout = min(releaseUpdateTimeout+timing.Elapsed(d.startedLocally), timeout) // later attempts have more time, because a stored release may be large
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

// BodyWithCleanup is a response body whose Close also calls Cleanup, for example to cancel
// the context of the request.
type BodyWithCleanup struct {
	io.ReadCloser
	Cleanup func()
}

// Close closes the body, and then calls Cleanup.
func (b *BodyWithCleanup) Close() error {
	defer b.Cleanup()
	return b.ReadCloser.Close()
}
