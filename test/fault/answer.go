// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"bytes"
	"net/http"
)

// answer is the response to a request, stored instead of sent.
type answer struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

// ask lets the rules after the calling rule and the server answer a request.
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

// send sends the header and the first n bytes of the body.
func (a *answer) send(w http.ResponseWriter, n int) {
	for name, values := range a.header {
		w.Header()[name] = values
	}
	w.WriteHeader(a.code)
	_, _ = w.Write(a.body.Bytes()[:n]) // errors are ignored because the client may have gone
}

// interim reports whether code is that of an informational response before the final one.
func interim(code int) bool { return code < http.StatusOK }

// endless reports whether the response to a request has no end that can be waited for:
// watches, logs that are followed, and upgraded connections, as for exec.
func endless(r *http.Request, what Request) bool {
	follow := what.Query.Get("follow")
	return what.Verb == "watch" || follow == "true" || follow == "1" || r.Header.Get("Upgrade") != ""
}

// flush sends what was written until now.
func flush(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }
