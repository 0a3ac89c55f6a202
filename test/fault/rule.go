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

// Rule is called for each request before it is forwarded to the server. If it answers the
// request itself, it returns true, and neither later rules nor the server receive the request.
// A rule can also observe or delay a request, drop its connection (see Drop), or change the
// server's response (see Pass). It is called concurrently.
type Rule func(w http.ResponseWriter, r *http.Request, what Request) (answered bool)

// Only returns a rule that applies the rule then to the requests for which match returns true.
func Only(match func(Request) bool, then Rule) Rule {
	return func(w http.ResponseWriter, r *http.Request, what Request) bool {
		return match(what) && then(w, r, what)
	}
}

// First returns a rule that applies the rule then to the first n requests for which match
// returns true.
func First(n int, match func(Request) bool, then Rule) Rule {
	left := atomic.Int64{}
	left.Store(int64(n))
	return func(w http.ResponseWriter, r *http.Request, what Request) bool {
		return match(what) && left.Add(-1) >= 0 && then(w, r, what)
	}
}

// Drop is a rule that closes the connection of a request instead of answering it.
func Drop(http.ResponseWriter, *http.Request, Request) bool { panic(http.ErrAbortHandler) }

// Answer returns a rule that answers requests with an error of the API server, with the given
// HTTP status and reason.
func Answer(code int, reason metav1.StatusReason) Rule {
	return func(w http.ResponseWriter, _ *http.Request, _ Request) bool {
		write(w, code, status(code, reason))
		return true
	}
}

// TooMany returns a rule that answers requests like an overloaded server: with status 429, and
// with the number of seconds after which the client may retry. Kubernetes clients then retry
// automatically. An API server sends 429 if API Priority and Fairness rejects a request, with
// plain text as the body, and if a PodDisruptionBudget forbids an eviction, with the body of
// this rule.
func TooMany(retryAfter int) Rule {
	return func(w http.ResponseWriter, _ *http.Request, _ Request) bool {
		w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
		s := status(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests)
		s.Details = &metav1.StatusDetails{RetryAfterSeconds: int32(retryAfter)} //nolint:gosec // seconds set by a test
		write(w, http.StatusTooManyRequests, s)
		return true
	}
}

// GoneAnswer returns a rule that answers requests like a server that no longer has the
// requested resource version: with status 410.
func GoneAnswer() Rule { return Answer(http.StatusGone, metav1.StatusReasonExpired) }

// GoneEvent returns a rule that answers watches like a server that no longer has the requested
// resource version: with status 200 and an error event with status 410.
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

// write sends a value as JSON. It ignores errors, because the client may have closed the
// connection.
func write(w http.ResponseWriter, code int, what any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(what)
}
