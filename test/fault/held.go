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

// Delay is a rule that passes a request on after a while. One whose client gave up
// meanwhile is not passed on.
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

// Hang is a rule that never answers: the request is over when its client gives
// up.
func Hang(_ http.ResponseWriter, r *http.Request, _ Request) bool {
	readAhead(r)
	<-r.Context().Done()
	return true
}

// Silent is a rule by which a watch is granted and tells nothing, as behind a
// proxy that keeps back what it is sent.
func Silent(w http.ResponseWriter, r *http.Request, what Request) bool {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	flush(w)
	return Hang(w, r, what)
}

// HalfClose is a rule that ends the connection in the direction to the client
// alone, without an answer, and reads on for as long as the client keeps its own
// direction open. The server is not asked.
func HalfClose(w http.ResponseWriter, r *http.Request, _ Request) bool {
	connection, sent, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // it is gone
	}
	below := connection
	if secure, ok := connection.(*tls.Conn); ok {
		below = secure.NetConn()
	}
	drop := func() { _ = below.Close() }
	defer drop()
	defer context.AfterFunc(r.Context(), drop)()
	if below != connection {
		_ = closeWrite(connection) // TLS says that it is over, too
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

// readAhead reads what a request sends: only after it does an http.Server look
// whether the client is still there.
func readAhead(r *http.Request) {
	if r.Body == nil || r.Body == http.NoBody {
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // the client is gone
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
}
