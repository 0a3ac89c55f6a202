// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// noLeaks checks that the test leaves no goroutine after everything that it started since
// the call is closed.
func noLeaks(t *testing.T) {
	t.Helper()
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				stacks := make([]byte, 1<<20)
				t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
			}
		}
	})
}

// newProxyTo starts a proxy in front of a server with this handler.
func newProxyTo(t *testing.T, handler http.HandlerFunc) *Proxy {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return New(t, &rest.Config{Host: server.URL})
}

// call applies one rule to a request, with a server behind it. It returns whether the rule
// answered, and whether it dropped the connection.
func call(ctx context.Context, rule Rule, server http.HandlerFunc, method, target string) (w *httptest.ResponseRecorder, answered, dropped bool) {
	r := httptest.NewRequestWithContext(ctx, method, target, nil)
	what := describe(r)
	way := &passage{what: what, server: server}
	w = httptest.NewRecorder()
	defer func() {
		if cause := recover(); cause == http.ErrAbortHandler { //nolint:errorlint // a panic, compared as http.Server does
			dropped = true
		} else if cause != nil {
			panic(cause)
		}
	}()
	answered = rule(w, r.WithContext(context.WithValue(ctx, passageKey{}, way)), what)
	return w, answered, dropped
}
