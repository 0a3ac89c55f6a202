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

// Transport answers requests by calling a handler, without a network. In a bubble of
// testing/synctest, time then passes only when all goroutines wait, so a test sees events
// in a deterministic order. A test that leaves a goroutine running does not end.
type Transport struct {
	Handler http.Handler

	mu          sync.Mutex
	err         error // fails every request, unless nil
	dropWatches bool
}

// RefuseConnections makes all requests fail, or serves them again.
func (t *Transport) RefuseConnections(refuse bool) { t.fail(refuse, syscall.ECONNREFUSED) }

// DropConnections closes connections without a response, or serves them again.
func (t *Transport) DropConnections(drop bool) { t.fail(drop, io.EOF) }

// DropWatches closes the connections of watches without a response, or serves them again.
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

// Client returns a client without a rate limit that sends its requests through a
// transport.
func Client(tb testing.TB, host string, transport http.RoundTripper) dynamic.Interface {
	tb.Helper()
	client, err := dynamic.NewForConfigAndClient(&rest.Config{Host: host, QPS: -1}, &http.Client{Transport: transport})
	if err != nil {
		tb.Fatal(err)
	}
	return client
}
