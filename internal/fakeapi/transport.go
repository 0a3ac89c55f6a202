// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package fakeapi

import (
	"context"
	"io"
	"net/http"
	"sync"
	"syscall"
	"testing"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// Transport is an http.RoundTripper that calls Handler, such as a Server, for each request.
// Because it needs no network, tests can use it in a bubble of testing/synctest, where time
// advances only while all goroutines wait.
type Transport struct {
	Handler http.Handler

	mu          sync.Mutex
	err         error // the error of every request; nil if requests work
	dropWatches bool
}

// RefuseConnections determines whether all requests fail with "connection refused".
func (t *Transport) RefuseConnections(refuse bool) { t.fail(refuse, syscall.ECONNREFUSED) }

// DropConnections determines whether all requests fail as if the server had closed the
// connection without a response.
func (t *Transport) DropConnections(drop bool) { t.fail(drop, io.EOF) }

// DropWatches is like DropConnections, but only for watch requests.
func (t *Transport) DropWatches(drop bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dropWatches = drop
}

func (t *Transport) fail(fail bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !fail {
		err = nil
	}
	t.err = err
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.mu.Lock()
	err := t.err
	if t.dropWatches && r.URL.Query().Get("watch") != "" {
		err = io.EOF
	}
	t.mu.Unlock()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(r.Context())
	reader, writer := io.Pipe()
	response := &responseWriter{header: http.Header{}, body: writer, started: make(chan struct{})}
	stop := context.AfterFunc(ctx, func() { _ = writer.CloseWithError(context.Canceled) })
	go func() {
		defer stop()
		t.Handler.ServeHTTP(response, r.WithContext(ctx))
		response.WriteHeader(http.StatusOK)
		_ = writer.Close()
	}()
	select {
	case <-response.started:
	case <-ctx.Done():
		cancel()
		return nil, ctx.Err()
	}
	return &http.Response{
		StatusCode: response.code, Header: response.header, Request: r, ProtoMajor: 1, ProtoMinor: 1,
		Body: &responseBody{Reader: reader, cancel: cancel},
	}, nil
}

type responseWriter struct {
	header  http.Header
	body    *io.PipeWriter
	once    sync.Once
	code    int
	started chan struct{}
}

func (w *responseWriter) Header() http.Header { return w.header }

func (w *responseWriter) WriteHeader(code int) {
	w.once.Do(func() {
		w.code = code
		close(w.started)
	})
}

func (w *responseWriter) Write(data []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(data)
}

func (w *responseWriter) Flush() { w.WriteHeader(http.StatusOK) }

type responseBody struct {
	io.Reader
	cancel context.CancelFunc
}

func (b *responseBody) Close() error {
	b.cancel()
	return nil
}

// Client returns a client that sends its requests to host, using transport. The client has no
// rate limit.
func Client(tb testing.TB, host string, transport http.RoundTripper) dynamic.Interface {
	tb.Helper()
	client, err := dynamic.NewForConfigAndClient(&rest.Config{Host: host, QPS: -1}, &http.Client{Transport: transport})
	if err != nil {
		tb.Fatal(err)
	}
	return client
}
