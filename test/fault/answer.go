// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"bytes"
	"net/http"
)

// answer is an http.ResponseWriter that stores a response, so that a rule can change it or
// send only part of it.
type answer struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

// ask returns the response of the server, or of a later rule, to a request.
func ask(r *http.Request) *answer {
	a := &answer{header: http.Header{}, code: http.StatusOK}
	Pass(a, r)
	return a
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) Write(b []byte) (int, error) { return a.body.Write(b) }

func (a *answer) WriteHeader(code int) {
	if !interim(code) {
		a.code = code
	}
}

// send sends the header and the first n bytes of the body to the client.
func (a *answer) send(w http.ResponseWriter, n int) {
	for name, values := range a.header {
		w.Header()[name] = values
	}
	w.WriteHeader(a.code)
	_, _ = w.Write(a.body.Bytes()[:n]) // errors are ignored because the client may have gone
}

// interim reports whether code is the status of an informational response (1xx), which
// precedes the final response.
func interim(code int) bool { return code < http.StatusOK }

// endless reports whether the response to a request has no end: watches, followed logs, and
// upgraded connections, such as for exec.
func endless(r *http.Request, what Request) bool {
	follow := what.Query.Get("follow")
	return what.Verb == "watch" || follow == "true" || follow == "1" || r.Header.Get("Upgrade") != ""
}

// flush sends everything that was written until now to the client.
func flush(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }
