// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package fault

import "net/http"

// DropAfter is a rule that lets the server process a request, and closes the connection
// instead of sending the response. After a create request, for example, the object exists, but
// the client does not know it. The rule closes the connection when it has read the response,
// or for a watch, when the response begins.
func DropAfter(_ http.ResponseWriter, r *http.Request, what Request) bool {
	if endless(r, what) {
		Pass(&dropOnResponse{answer{header: http.Header{}}}, r)
	} else {
		ask(r)
	}
	panic(http.ErrAbortHandler)
}

// dropOnResponse is an http.ResponseWriter that drops the connection when the response begins.
type dropOnResponse struct{ answer }

func (u *dropOnResponse) WriteHeader(code int) {
	if !interim(code) {
		panic(http.ErrAbortHandler)
	}
}

// HalfAnswer is a rule that lets the server process a request, sends the header and the first
// half of the body of the response, and closes the connection. For a watch, it sends half of
// the first event. A response without a body is sent completely.
func HalfAnswer(w http.ResponseWriter, r *http.Request, what Request) bool {
	if endless(r, what) {
		Pass(dropAfterHalf{w}, r)
	} else {
		a := ask(r)
		a.send(w, a.body.Len()/2)
		flush(w)
	}
	panic(http.ErrAbortHandler)
}

// dropAfterHalf is an http.ResponseWriter that sends the first half of the data of the first
// Write, and then drops the connection.
type dropAfterHalf struct{ http.ResponseWriter }

func (h dropAfterHalf) Write(b []byte) (int, error) {
	_, _ = h.ResponseWriter.Write(b[:len(b)/2])
	flush(h.ResponseWriter)
	panic(http.ErrAbortHandler)
}

func (h dropAfterHalf) Unwrap() http.ResponseWriter { return h.ResponseWriter }
