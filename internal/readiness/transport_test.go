// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"context"
	"io"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// transport answers requests by a handler, without a network: inside a bubble of
// synctest, time passes only when nothing is left to do, so that a test sees the
// exact order of events. A test that leaves a goroutine behind does not end.
type transport struct {
	handler http.Handler

	mu      sync.Mutex
	failure error // what every request comes to, if not nil
	noWatch bool  // connections of watches are closed without an answer
}

// refuse has connections refused, or accepted again.
func (p *transport) refuse(down bool) { p.fail(down, syscall.ECONNREFUSED) }

// drop has connections closed without an answer, or served again.
func (p *transport) drop(down bool) { p.fail(down, io.EOF) }

// dropWatches is drop for watches alone.
func (p *transport) dropWatches(down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.noWatch = down
}

func (p *transport) fail(down bool, failure error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !down {
		failure = nil
	}
	p.failure = failure
}

func (p *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	p.mu.Lock()
	failure := p.failure
	if p.noWatch && r.URL.Query().Get("watch") != "" {
		failure = io.EOF
	}
	p.mu.Unlock()
	if failure != nil {
		return nil, failure
	}
	ctx, cancel := context.WithCancel(r.Context())
	reader, writer := io.Pipe()
	answer := &answerWriter{header: http.Header{}, body: writer, started: make(chan struct{})}
	stop := context.AfterFunc(ctx, func() { _ = writer.CloseWithError(context.Canceled) })
	go func() {
		defer stop()
		p.handler.ServeHTTP(answer, r.WithContext(ctx))
		answer.WriteHeader(http.StatusOK)
		_ = writer.Close()
	}()
	select {
	case <-answer.started:
	case <-ctx.Done():
		cancel()
		return nil, ctx.Err()
	}
	return &http.Response{
		StatusCode: answer.code, Header: answer.header, Request: r, ProtoMajor: 1, ProtoMinor: 1,
		Body: &answerBody{Reader: reader, cancel: cancel},
	}, nil
}

type answerWriter struct {
	header  http.Header
	body    *io.PipeWriter
	once    sync.Once
	code    int
	started chan struct{}
}

func (w *answerWriter) Header() http.Header { return w.header }

func (w *answerWriter) WriteHeader(code int) {
	w.once.Do(func() {
		w.code = code
		close(w.started)
	})
}

func (w *answerWriter) Write(data []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(data)
}

func (w *answerWriter) Flush() { w.WriteHeader(http.StatusOK) }

type answerBody struct {
	io.Reader
	cancel context.CancelFunc
}

func (b *answerBody) Close() error {
	b.cancel()
	return nil
}

// bench is what a tracker test works with.
type bench struct {
	*testing.T
	api       *fakeAPI
	transport *transport
	client    dynamic.Interface
	tracker   *Tracker
	notices   *journal[Notice]
}

// journal collects what callbacks are told.
type journal[T any] struct {
	mu      sync.Mutex
	entries []T
}

func (j *journal[T]) add(entry T) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries = append(j.entries, entry)
}

func (j *journal[T]) all() []T {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]T(nil), j.entries...)
}

// inBubble runs a test with a tracker on a fake API, in fake time.
func inBubble(t *testing.T, test func(b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		api := newFakeAPI(t)
		b := &bench{T: t, api: api, transport: &transport{handler: api}, notices: &journal[Notice]{}}
		b.client = clientFor(t, "http://127.0.0.1", b.transport)
		b.tracker = NewTracker(t.Context(), Config{Client: b.client, Notify: b.notices.add})
		defer b.tracker.Close()
		test(b)
		b.tracker.Close()
		synctest.Wait()
		if n := api.openWatches(); n != 0 {
			t.Errorf("%d watches are open after Close", n)
		}
	})
}

func clientFor(t *testing.T, host string, carrier http.RoundTripper) dynamic.Interface {
	t.Helper()
	client, err := dynamic.NewForConfigAndClient(&rest.Config{Host: host, QPS: -1}, &http.Client{Transport: carrier})
	if err != nil {
		t.Fatal(err)
	}
	return client
}
