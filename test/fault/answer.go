// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"bytes"
	"net/http"
)

// answer is what was answered to a request, kept instead of sent.
type answer struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

// ask has a request answered by what comes after the rule that calls it.
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

// send sends the head, and the first bytes of the body.
func (a *answer) send(w http.ResponseWriter, n int) {
	for name, values := range a.header {
		w.Header()[name] = values
	}
	w.WriteHeader(a.code)
	_, _ = w.Write(a.body.Bytes()[:n]) // who is gone by then needs no answer
}

// interim tells what a server says before it answers.
func interim(code int) bool { return code < http.StatusOK }

// endless tells requests whose answer has no end that could be waited for:
// watches, logs that are followed, and what becomes a tunnel, as exec does.
func endless(r *http.Request, what Request) bool {
	follow := what.Query.Get("follow")
	return what.Verb == "watch" || follow == "true" || follow == "1" || r.Header.Get("Upgrade") != ""
}

// flush sends what was written so far.
func flush(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }
