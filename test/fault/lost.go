// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package fault

import "net/http"

// DropAfter is a rule that has a request answered, and closes the connection
// instead of sending the answer: a create has happened, and its client does not
// know. The server's answer is read to its end before; a watch is dropped as soon
// as it is granted.
func DropAfter(_ http.ResponseWriter, r *http.Request, what Request) bool {
	if endless(r, what) {
		Pass(&ungranted{answer{header: http.Header{}}}, r)
	} else {
		ask(r)
	}
	panic(http.ErrAbortHandler)
}

// ungranted drops the connection where the answer begins.
type ungranted struct{ answer }

func (u *ungranted) WriteHeader(code int) {
	if !interim(code) {
		panic(http.ErrAbortHandler)
	}
}

// HalfAnswer is a rule that has a request answered, sends the head of the answer
// and the first half of its body, and closes the connection. Of a watch that is
// half of its first event. An answer without a body is sent whole.
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

// halved sends the first half of what is written first, and drops the connection.
type halved struct{ http.ResponseWriter }

func (h halved) Write(b []byte) (int, error) {
	_, _ = h.ResponseWriter.Write(b[:len(b)/2])
	flush(h.ResponseWriter)
	panic(http.ErrAbortHandler)
}

func (h halved) Unwrap() http.ResponseWriter { return h.ResponseWriter }
