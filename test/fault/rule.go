// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"encoding/json"
	"net/http"
	"strconv"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Rule looks at a request before it is passed on. If it answers the request
// itself it reports true, and nobody else sees it. It may also only look, hold
// the request up until its context ends, drop its connection (see Drop), or have
// it answered and change that (see Pass). It is called by several goroutines.
type Rule func(w http.ResponseWriter, r *http.Request, what Request) (answered bool)

// Only is a rule that has then see the requests that match.
func Only(match func(Request) bool, then Rule) Rule {
	return func(w http.ResponseWriter, r *http.Request, what Request) bool {
		return match(what) && then(w, r, what)
	}
}

// First is a rule that has then answer the first n requests that match.
func First(n int, match func(Request) bool, then Rule) Rule {
	left := atomic.Int64{}
	left.Store(int64(n))
	return func(w http.ResponseWriter, r *http.Request, what Request) bool {
		return match(what) && left.Add(-1) >= 0 && then(w, r, what)
	}
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

// TooMany is a rule by which the server has too much to do, and says after how
// many seconds a request may come again: clients of Kubernetes then ask again by
// themselves. A real server says so when its priority and fairness turns a request
// away, in one line of text, and when a disruption budget forbids an eviction, in
// the form that this rule uses.
func TooMany(retryAfter int) Rule {
	return func(w http.ResponseWriter, _ *http.Request, _ Request) bool {
		w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
		s := status(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests)
		s.Details = &metav1.StatusDetails{RetryAfterSeconds: int32(retryAfter)} //nolint:gosec // seconds that a test gives
		write(w, http.StatusTooManyRequests, s)
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
