// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
)

// server serves one listener. It knows when its last connection is gone, which
// http.Server does not tell.
type server struct {
	http    *http.Server
	cancel  context.CancelFunc
	serving sync.WaitGroup
	open    sync.WaitGroup
}

func serve(ctx context.Context, listener net.Listener, handler http.Handler) *server {
	ctx, cancel := context.WithCancel(ctx)
	s := &server{cancel: cancel}
	s.http = &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTimeout, ErrorLog: log.New(io.Discard, "", 0),
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
	s.serving.Go(func() { _ = s.http.Serve(listener) }) // ends with the listener, by stop
	return s
}

// stop closes the listener and all connections, and waits until all that served
// them has ended.
func (s *server) stop() {
	s.cancel()
	_ = s.http.Close()
	s.serving.Wait()
	_ = s.http.Close() // a connection that was taken in meanwhile
	s.open.Wait()
}
