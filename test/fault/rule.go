// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"encoding/json"
	"net/http"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Rule looks at a request before it is passed on. If it answers the request
// itself it reports true, and nobody else sees it. It may also only look, hold
// the request up until its context ends, or drop its connection (see Drop). It
// is called by several goroutines.
type Rule func(w http.ResponseWriter, r *http.Request, what Request) (answered bool)

// First is a rule that has then answer the first n requests that match.
func First(n int, match func(Request) bool, then Rule) Rule {
	left := atomic.Int64{}
	left.Store(int64(n))
	return func(w http.ResponseWriter, r *http.Request, what Request) bool {
		return match(what) && left.Add(-1) >= 0 && then(w, r, what)
	}
}

// Resumed matches watches that name the version to go on from.
func Resumed(what Request) bool {
	return what.Verb == "watch" && what.Query.Get("resourceVersion") != ""
}

// Drop is a rule that closes the connection of every request without an answer.
func Drop(http.ResponseWriter, *http.Request, Request) bool { panic(http.ErrAbortHandler) }

// Answer is a rule that gives every request the same answer of the API server,
// which failed: its HTTP status and its reason.
func Answer(code int, reason metav1.StatusReason) Rule {
	return func(w http.ResponseWriter, _ *http.Request, _ Request) bool {
		write(w, code, status(code, reason))
		return true
	}
}

// GoneAnswer is a rule by which the server no longer has the version asked for,
// and says so at once.
func GoneAnswer() Rule { return Answer(http.StatusGone, metav1.StatusReasonExpired) }

// GoneEvent is a rule by which a watch begins well, and the server says in its
// first event that it no longer has the version asked for.
func GoneEvent() Rule {
	return func(w http.ResponseWriter, _ *http.Request, _ Request) bool {
		write(w, http.StatusOK, map[string]any{"type": "ERROR", "object": status(http.StatusGone, metav1.StatusReasonExpired)})
		return true
	}
}

func status(code int, reason metav1.StatusReason) *metav1.Status {
	return &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, //nolint:gosec // an HTTP status
		Message: "answered by the proxy of the test: " + http.StatusText(code),
	}
}

// write sends JSON. Who is gone by then needs no answer.
func write(w http.ResponseWriter, code int, what any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(what)
}

// Hang is a rule that never answers: the request is over when its client gives
// up.
func Hang(_ http.ResponseWriter, r *http.Request, _ Request) bool {
	<-r.Context().Done()
	return true
}

// Silent is a rule by which a watch is granted and tells nothing, as behind a
// proxy that keeps back what it is sent.
func Silent(w http.ResponseWriter, r *http.Request, what Request) bool {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	if flusher, ok := w.(http.Flusher); ok {
		flusher.Flush()
	}
	return Hang(w, r, what)
}
