// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestMatchFunctions(t *testing.T) {
	matches := []struct {
		name  string
		match func(Request) bool
	}{{"any", Any}, {"reads", Reads}, {"writes", Writes}, {"watches", Watches}, {"resumed", Resumed}, {"old", AnyVersion}}
	for _, tt := range []struct{ method, target, want string }{
		{"GET", "/version", "[any]"},
		{"GET", podsPath, "[any reads]"},
		{"GET", podsPath + "/a", "[any reads]"},
		{"GET", podsPath + "?resourceVersion=0", "[any reads old]"},
		{"GET", podsPath + "?resourceVersion=7", "[any reads]"},
		{"GET", podsPath + "?watch=1", "[any watches]"},
		{"GET", podsPath + "?watch=1&resourceVersion=0", "[any watches resumed]"},
		{"POST", podsPath, "[any writes]"},
		{"POST", podsPath + "/a/eviction", "[any writes]"},
		{"PUT", podsPath + "/a", "[any writes]"},
		{"PATCH", podsPath + "/a", "[any writes]"},
		{"DELETE", podsPath + "/a", "[any writes]"},
		{"DELETE", podsPath, "[any writes]"},
		{"POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "[any]"},
		{"POST", "/elsewhere", "[any]"},
	} {
		what := describe(httptest.NewRequestWithContext(t.Context(), tt.method, tt.target, nil))
		var got []string
		for _, m := range matches {
			if m.match(what) {
				got = append(got, m.name)
			}
		}
		if fmt.Sprint(got) != tt.want {
			t.Errorf("%s %s is %v, want %s", tt.method, tt.target, got, tt.want)
		}
	}
}

func TestTooMany(t *testing.T) {
	w, answered, _ := call(t.Context(), TooMany(12), nil, "GET", podsPath)
	if !answered || w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "12" {
		t.Errorf("answered %d, %v", w.Code, w.Header())
	}
}

// TestClientsRetryAfterTooMany checks that Kubernetes clients retry up to ten times after a
// response of TooMany.
func TestClientsRetryAfterTooMany(t *testing.T) {
	for _, tt := range []struct {
		times, asked int
		refused      bool
	}{{1, 2, false}, {10, 11, false}, {99, 11, true}} {
		t.Run(fmt.Sprint(tt.times, " times"), func(t *testing.T) {
			noLeaks(t)
			p, _ := newProxy(t)
			p.Intercept(First(tt.times, Any, TooMany(0)))
			_, err := podsOf(t, p).List(t.Context(), metav1.ListOptions{})
			if apierrors.IsTooManyRequests(err) != tt.refused || !tt.refused && err != nil {
				t.Errorf("got %v", err)
			}
			if n := p.Counts()["list "+podsPath]; n != tt.asked {
				t.Errorf("asked %d times, want %d", n, tt.asked)
			}
		})
	}
}

func TestAnswer(t *testing.T) {
	for name, tt := range map[string]struct {
		rule Rule
		is   func(error) bool
	}{
		"500": {Answer(http.StatusInternalServerError, metav1.StatusReasonInternalError), apierrors.IsInternalError},
		"503": {Answer(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable), apierrors.IsServiceUnavailable},
		"504": {Answer(http.StatusGatewayTimeout, metav1.StatusReasonTimeout), apierrors.IsTimeout},
		"409": {Answer(http.StatusConflict, metav1.StatusReasonConflict), apierrors.IsConflict},
	} {
		t.Run(name, func(t *testing.T) {
			noLeaks(t)
			p, _ := newProxy(t)
			p.Intercept(tt.rule)
			if _, err := podsOf(t, p).List(t.Context(), metav1.ListOptions{}); !tt.is(err) {
				t.Errorf("got %v", err)
			}
		})
	}
}
