// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package httpretry retries requests to an API server that does not respond or is
// temporarily unavailable, if that is safe. An operation that takes minutes must not fail
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
	// maxRetryTime limits the time for retries of a request after its first failure. It is
	// longer than an API server takes to restart.
	maxRetryTime = 45 * time.Second
	// attemptTimeout limits the time until there is a response. API servers time out
	// after a minute.
	attemptTimeout = 65 * time.Second
	// recordTimeout limits the time for retries of a write to a stored release. The lock
	// holder must be certain that it still has the lock when the server processes the
	// write.
	recordTimeout = 8 * time.Second
	// maxServerErrors limits how often a request that fails with a server error is sent.
	// Such an error can be permanent, as with a broken webhook.
	maxServerErrors = 6
	// maxServerErrorTime limits the time of these retries. A webhook that does not
	// respond makes each of them slow.
	maxServerErrorTime = 5 * time.Second
	// notifyAfter is the time after which OnUnavailable is called.
	notifyAfter = 2 * time.Second
)

// Server is the state of an API server. It is shared by all of its clients and safe for
// concurrent use.
type Server struct {
	responded atomic.Bool
	clock     serverClock
}

// MarkReached records that the server has responded before. Requests to a server that has
// never responded are not retried if no connection can be made.
func (s *Server) MarkReached() *Server {
	s.responded.Store(true)
	return s
}

// Transport is an http.RoundTripper that retries requests.
type Transport struct {
	Base http.RoundTripper
	*Server
	// OnUnavailable is called with the last error of a request that has failed for two
	// seconds, once for each request. It can be nil.
	OnUnavailable func(error)
}

// contextKey is the type of the keys in a context.
type contextKey int

const (
	withoutRetriesKey contextKey = iota
	streamingKey
)

// WithoutRetries returns a context for requests that are not retried, because the caller
// retries them.
func WithoutRetries(ctx context.Context) context.Context {
	return context.WithValue(ctx, withoutRetriesKey, true)
}

// WithStreaming returns a context for requests whose response body is read while it
// arrives, and may end early.
func WithStreaming(ctx context.Context) context.Context {
	return context.WithValue(ctx, streamingKey, true)
}

// RoundTrip sends a request until there is a response. Except for watches and other
// streams, it returns when the response body is complete.
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

// WrappedRoundTripper lets client-go unwrap the transport.
func (t *Transport) WrappedRoundTripper() http.RoundTripper { return t.Base }

// retrier sends one request until there is a response.
type retrier struct {
	*Transport
	request *http.Request
	body    []byte
	kind    requestKind
	// startedAt is the time at which the request was first sent, by the clock of the server
	// if it is known.
	startedAt time.Time
	// startedLocally is the same time by the local clock.
	startedLocally time.Time
	// firstFailure is the time at which the request first failed. serverErrors counts the
	// server errors. maybeApplied says whether the server may have processed the request.
	firstFailure time.Time
	serverErrors int
	maybeApplied bool
	notified     bool
	// lastErr is the last error.
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

// run sends the request until there is a response or the retries end.
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
		if !d.wait(ctx, after) {
			return nil, context.Cause(ctx)
		}
		if d.kind.updatesRelease && d.elapsed() >= recordTimeout {
			return nil, &RecordTimeoutError{d.lastErr}
		}
	}
}

// finalResult returns the result of a request after retries, in a form that makes no
// client retry it again.
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

// elapsed returns the time since the request was first sent. It also counts the time that
// the machine was suspended.
func (d *retrier) elapsed() time.Duration {
	return max(time.Since(d.startedLocally), time.Now().Round(0).Sub(d.startedLocally.Round(0)))
}

// RecordTimeoutError reports that a stored release could not be written in time. Before the
// caller retries, it must check that it still has the lock.
type RecordTimeoutError struct{ Err error }

func (e *RecordTimeoutError) Error() string {
	return fmt.Sprintf("the API server did not respond for %s: %s", recordTimeout, e.Err)
}

// Unwrap returns the last error of the server.
func (e *RecordTimeoutError) Unwrap() error { return e.Err }

// noResponseError reports that the retries of a request have ended.
type noResponseError struct{ text string }

func (e *noResponseError) Error() string {
	return fmt.Sprintf("the API server did not respond for %s: %s", maxRetryTime, e.text)
}

// send sends the request once. Unless the response is a stream, it reads the whole body,
// because the connection may break.
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
		timeout = min(recordTimeout+d.elapsed(), timeout) // a stored release may be large
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

// streamedBody is a response body that is read while it arrives.
type streamedBody struct {
	io.ReadCloser
	cancel func()
}

func (b *streamedBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}

// wait waits before the next attempt. It returns false if the context is done first.
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
