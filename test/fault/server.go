// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
)

// server is an HTTP server for one listener. Unlike http.Server, it can wait until its last
// connection has ended.
type server struct {
	http        *http.Server
	connections *connections
	cancel      context.CancelFunc
	serving     sync.WaitGroup
	open        sync.WaitGroup
}

// serve starts a server that handles the requests of a listener with the proxy.
func (p *Proxy) serve(ctx context.Context, listener net.Listener) *server {
	ctx, cancel := context.WithCancel(ctx)
	s := &server{
		cancel:      cancel,
		connections: &connections{Listener: listener, silence: &p.silence, open: map[*connection]struct{}{}},
	}
	s.http = &http.Server{
		Handler: s.counted(p), ReadHeaderTimeout: headerTimeout, ErrorLog: log.New(io.Discard, "", 0),
		BaseContext: func(net.Listener) context.Context { return ctx },
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				s.open.Add(1)
			case http.StateClosed, http.StateHijacked:
				s.open.Done()
			}
		},
	}
	listener = s.connections
	if p.identity != nil {
		listener = tls.NewListener(listener, p.identity.config())
	}
	s.serving.Go(func() { _ = s.http.Serve(listener) }) // ends with the listener, by stop
	return s
}

// counted returns a handler that counts every request that is in progress, because http.Server
// does not track connections that a handler has hijacked.
func (s *server) counted(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.open.Add(1)
		defer s.open.Done()
		handler.ServeHTTP(w, r)
	})
}

// drop closes all connections and returns their number.
func (s *server) drop() int { return s.connections.drop() }

// stop closes the listener and all connections, and waits until their goroutines have ended.
func (s *server) stop() {
	s.cancel()
	_ = s.connections.Close()
	s.serving.Wait() // no connection is accepted from here on
	s.drop()
	_ = s.http.Close()
	s.open.Wait()
}
