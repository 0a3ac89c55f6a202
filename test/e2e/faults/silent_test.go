// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/fault"
	"github.com/ordered-helm/helm/test/harness"
)

func podVerb(verbs ...string) func(fault.Request) bool {
	return func(what fault.Request) bool {
		if what.Resource != "pods" || what.Subresource != "" {
			return false
		}
		for _, verb := range verbs {
			if what.Verb == verb {
				return true
			}
		}
		return false
	}
}

// TestSilentWatches checks that Helm polls resources whose watches send no events, and detects
// in time that the resources are ready.
func TestSilentWatches(t *testing.T) {
	t.Parallel()
	for name, rule := range map[string]fault.Rule{
		"a watch that is granted and silent":     fault.Only(podVerb("watch"), fault.Silent),
		"a watch that is never answered":         fault.Only(podVerb("watch"), fault.Hang),
		"watches and lists that fail, not reads": fault.Only(podVerb("watch", "list"), fault.Answer(http.StatusInternalServerError, metav1.StatusReasonInternalError)),
	} {
		for _, wait := range []string{"--wait=ordered", "--wait"} {
			t.Run(name+", "+wait, func(t *testing.T) {
				t.Parallel()
				h := harness.New(t)
				h.UseProxy(t).Intercept(rule)
				chart := charts.Write(t, charts.Pod("slow", "first", "devcluster/after: 1s", "helm.sh/readiness-timeout: 8s"), charts.Last("first"))
				r := h.Run("install", "rel", chart, wait, "--timeout", "20s")
				if wait == "--wait=ordered" {
					h.ExpectReadyBefore(t, r, "Pod/slow", "ConfigMap/last")
				} else if r.ExitCode != 0 {
					t.Errorf("exit code %d\n%s", r.ExitCode, r.Stderr)
				}
			})
		}
	}
}

// TestHangingRequestEndsAtTimeout checks that a write without a response is canceled when the
// timeout of the operation expires.
func TestHangingRequestEndsAtTimeout(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	h.UseProxy(t).Intercept(fault.Only(podVerb("create"), fault.Hang))
	r := h.Run("install", "rel", charts.Write(t, charts.Pod("slow", "first"), charts.Last("first")), "--wait=ordered", "--timeout", "8s")
	for _, want := range []string{`layer "first" of chart app was interrupted while being applied`, "timed out after 8s", "skipped (blocked by this failure): app:last\n"} {
		if r.ExitCode != 1 || !strings.Contains(r.Stderr, want) {
			t.Errorf("exit code %d, want 1 and %q\n%s", r.ExitCode, want, r.Stderr)
		}
	}
	if status := h.MustRun("status", "rel").Stdout; !strings.Contains(status, "STATUS: failed") {
		t.Errorf("the release is left as\n%s", status)
	}
}
