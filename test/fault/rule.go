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

// Rule looks at a request before it is forwarded. If it answers the request, it returns
// true, and neither later rules nor the server see the request. It can also only look,
// delay the request until its context ends, drop its connection (see Drop), or let the
// server answer and change the answer (see Pass). It is called concurrently.
type Rule func(w http.ResponseWriter, r *http.Request, what Request) (answered bool)

// Only returns a rule that applies then to the requests that match.
func Only(match func(Request) bool, then Rule) Rule {
	return func(w http.ResponseWriter, r *http.Request, what Request) bool {
		return match(what) && then(w, r, what)
	}
}

// First returns a rule that lets then answer the first n requests that match.
func First(n int, match func(Request) bool, then Rule) Rule {
	left := atomic.Int64{}
	left.Store(int64(n))
	return func(w http.ResponseWriter, r *http.Request, what Request) bool {
		return match(what) && left.Add(-1) >= 0 && then(w, r, what)
	}
}

// Drop is a rule that closes the connection of every request without an answer.
func Drop(http.ResponseWriter, *http.Request, Request) bool { panic(http.ErrAbortHandler) }

// Answer returns a rule that answers every request with the same error of the API server,
// with this HTTP status and reason.
func Answer(code int, reason metav1.StatusReason) Rule {
	return func(w http.ResponseWriter, _ *http.Request, _ Request) bool {
		write(w, code, status(code, reason))
		return true
	}
}

// TooMany returns a rule for an overloaded server, which says after how many seconds a
// request may be repeated. Kubernetes clients then retry by themselves. A real server
// answers so if its priority and fairness rejects a request, with one line of text, and if
// a disruption budget forbids an eviction, in the form that this rule uses.
func TooMany(retryAfter int) Rule {
	return func(w http.ResponseWriter, _ *http.Request, _ Request) bool {
		w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
		s := status(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests)
		s.Details = &metav1.StatusDetails{RetryAfterSeconds: int32(retryAfter)} //nolint:gosec // seconds set by a test
		write(w, http.StatusTooManyRequests, s)
		return true
	}
}

// GoneAnswer returns a rule for a server that no longer has the requested resource version
// and says so in its answer.
func GoneAnswer() Rule { return Answer(http.StatusGone, metav1.StatusReasonExpired) }

// GoneEvent returns a rule for a watch that begins normally, and whose first event says
// that the server no longer has the requested resource version.
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

// write sends JSON. Errors are ignored because the client may have gone.
func write(w http.ResponseWriter, code int, what any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(what)
}
