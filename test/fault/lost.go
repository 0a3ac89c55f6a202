// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package fault

import "net/http"

// DropAfter is a rule that lets the server process a request, and closes the connection
// instead of sending the answer. After a create, the object exists, and the client does not
// know. The rule reads the server's answer to its end first; it drops a watch when the
// server accepts it.
func DropAfter(_ http.ResponseWriter, r *http.Request, what Request) bool {
	if endless(r, what) {
		Pass(&ungranted{answer{header: http.Header{}}}, r)
	} else {
		ask(r)
	}
	panic(http.ErrAbortHandler)
}

// ungranted drops the connection when the answer begins.
type ungranted struct{ answer }

func (u *ungranted) WriteHeader(code int) {
	if !interim(code) {
		panic(http.ErrAbortHandler)
	}
}

// HalfAnswer is a rule that lets the server process a request, sends the header of the
// answer and the first half of its body, and closes the connection. For a watch, it sends
// half of the first event. It sends an answer without a body completely.
func HalfAnswer(w http.ResponseWriter, r *http.Request, what Request) bool {
	if endless(r, what) {
		Pass(halved{w}, r)
	} else {
		a := ask(r)
		a.send(w, a.body.Len()/2)
		flush(w)
	}
	panic(http.ErrAbortHandler)
}

// halved sends the first half of the first write, and drops the connection.
type halved struct{ http.ResponseWriter }

func (h halved) Write(b []byte) (int, error) {
	_, _ = h.ResponseWriter.Write(b[:len(b)/2])
	flush(h.ResponseWriter)
	panic(http.ErrAbortHandler)
}

func (h halved) Unwrap() http.ResponseWriter { return h.ResponseWriter }
