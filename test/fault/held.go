// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"time"
)

// Delay returns a rule that forwards requests after a delay. A request is not forwarded if its
// client cancels it during the delay.
func Delay(d time.Duration) Rule {
	return func(_ http.ResponseWriter, r *http.Request, _ Request) bool {
		readAhead(r)
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			return false
		case <-r.Context().Done():
			return true
		}
	}
}

// Hang is a rule that never answers a request. The request ends when its client cancels it.
func Hang(_ http.ResponseWriter, r *http.Request, _ Request) bool {
	readAhead(r)
	<-r.Context().Done()
	return true
}

// Silent is a rule that answers a watch with a header, and then sends no events.
func Silent(w http.ResponseWriter, r *http.Request, what Request) bool {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	flush(w)
	return Hang(w, r, what)
}

// HalfClose is a rule that does not answer a request. It closes the connection only in the
// direction to the client, and reads until the client closes the other direction.
func HalfClose(w http.ResponseWriter, r *http.Request, _ Request) bool {
	connection, sent, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // the connection is closed
	}
	below := connection
	if secure, ok := connection.(*tls.Conn); ok {
		below = secure.NetConn()
	}
	drop := func() { _ = below.Close() }
	defer drop()
	defer context.AfterFunc(r.Context(), drop)()
	if below != connection {
		_ = closeWrite(connection) // also announce the end in TLS
	}
	_ = closeWrite(below)
	_, _ = io.Copy(io.Discard, sent)
	return true
}

func closeWrite(connection net.Conn) error {
	half, ok := connection.(interface{ CloseWrite() error })
	if !ok {
		return nil
	}
	return half.CloseWrite()
}

// readAhead reads the whole body of a request, because an http.Server does not detect before
// that the client has closed the connection.
func readAhead(r *http.Request) {
	if r.Body == nil || r.Body == http.NoBody {
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // the client has gone
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
}
