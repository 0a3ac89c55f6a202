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

// noLeaks checks at the end of the test that no goroutine is left that was started after the
// call.
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

// newProxyTo starts a server with the handler, and a proxy in front of it.
func newProxyTo(t *testing.T, handler http.HandlerFunc) *Proxy {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return New(t, &rest.Config{Host: server.URL})
}

// call applies a rule to a request, with server as the server behind the proxy. It returns the
// response, whether the rule answered the request, and whether the rule dropped the
// connection.
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
