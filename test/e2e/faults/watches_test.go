// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/fault"
	"github.com/ordered-helm/helm/test/harness"
)

// TestDroppedWatches checks that Helm resumes watches whose connections are dropped repeatedly
// while it waits for a slow pod.
func TestDroppedWatches(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	p := h.UseProxy(t)
	process := h.Start(t, "install", "rel", charts.Write(t, charts.Pod("slow", "first", "devcluster/after: 3s"), charts.Last("first")), "--wait=ordered")

	over := make(chan struct{})
	cut := 0
	var cutting sync.WaitGroup
	cutting.Go(func() {
		for tick := time.Tick(100 * time.Millisecond); ; {
			select {
			case <-tick:
				cut += p.CutWatches()
			case <-over:
				return
			}
		}
	})
	r := process.Wait(t)
	close(over)
	cutting.Wait()
	h.ExpectReadyBefore(t, r, "Pod/slow", "ConfigMap/last")
	if cut < 3 {
		t.Errorf("only %d watches were cut: the proof is empty", cut)
	}
	if lists := p.Counts()["list /api/v1/namespaces/"+h.Namespace+"/pods"]; lists > 0 {
		t.Errorf("%d lists, though the version to go on from was known", lists)
	}
}

// TestExpiredResourceVersion checks that Helm lists the objects again if the API server no
// longer has the resource version of a watch.
func TestExpiredResourceVersion(t *testing.T) {
	t.Parallel()
	for name, gone := range map[string]fault.Rule{"as an answer": fault.GoneAnswer(), "as an event": fault.GoneEvent()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const times = 3
			h := harness.New(t)
			p := h.UseProxy(t)
			p.Intercept(fault.First(times, fault.Resumed, gone))
			process := h.Start(t, "install", "rel", charts.Write(t, charts.Pod("slow", "first", "devcluster/after: 2s"), charts.Last("first")), "--wait=ordered")
			h.ExpectReadyBefore(t, process.Wait(t), "Pod/slow", "ConfigMap/last")
			counts, pods := p.Counts(), " /api/v1/namespaces/"+h.Namespace+"/pods"
			if counts["list"+pods] != times || counts["watch"+pods] != times+1 {
				t.Errorf("%d lists and %d watches, want %d and %d", counts["list"+pods], counts["watch"+pods], times, times+1)
			}
		})
	}
}

// outage makes the API server unavailable, and returns a function that ends the outage.
type outage func(tb testing.TB, p *fault.Proxy) (back func())

func outages() map[string]outage {
	ruled := func(rule fault.Rule) outage {
		return func(_ testing.TB, p *fault.Proxy) func() {
			remove := p.Intercept(rule)
			p.CutWatches()
			return remove
		}
	}
	return map[string]outage{
		"connections are refused": func(tb testing.TB, p *fault.Proxy) func() {
			p.Down()
			return func() {
				harness.NoError(tb, p.Up())
			}
		},
		"connections are dropped": ruled(fault.Drop),
		"errors are answered":     ruled(fault.Answer(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable)),
	}
}

// TestServerOutage checks that an outage of the API server does not count towards readiness
// timeouts, and that its start and its end are each printed once.
func TestServerOutage(t *testing.T) {
	t.Parallel()
	for name, away := range outages() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			p := h.UseProxy(t)
			watched := firstWatch(p, "pods")
			chart := charts.Write(t, charts.Pod("slow", "first", "devcluster/after: 1s", "helm.sh/readiness-timeout: 2s"), charts.Last("first"))
			process := h.Start(t, "install", "rel", chart, "--wait=ordered")
			harness.AwaitClosed(t, watched, "a watch of pods")
			back := away(t, p)
			time.Sleep(4 * time.Second) // the outage
			back()
			r := process.Wait(t)
			h.ExpectReadyBefore(t, r, "Pod/slow", "ConfigMap/last")
			for _, notice := range []string{"requests to the Kubernetes API server for", "the Kubernetes API server responds again"} {
				if n := strings.Count(r.Stderr, notice); n != 1 {
					t.Errorf("%q is said %d times, want once:\n%s", notice, n, r.Stderr)
				}
			}
		})
	}
}

// TestServerOutageUntilTimeout checks that an outage counts towards --timeout, so that the
// operation ends even if the API server stays unavailable.
func TestServerOutageUntilTimeout(t *testing.T) {
	t.Parallel()
	for name, away := range outages() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			p := h.UseProxy(t)
			watched := firstWatch(p, "pods")
			process := h.Start(t, "install", "rel", charts.Write(t, charts.Pod("slow", "first", "devcluster/after: 1s"), charts.Last("first")),
				"--wait=ordered", "--timeout", "10s")
			harness.AwaitClosed(t, watched, "a watch of pods")
			back := away(t, p)
			r := process.Wait(t)
			back()
			if r.ExitCode != 1 {
				t.Fatalf("exit code %d, want 1\n%s", r.ExitCode, r.Stderr)
			}
			harness.ExpectContains(t, r.Stderr, "the operation timed out after 10s", "increase --timeout", "requests to the Kubernetes API server for")
			if len(h.ReadTrace(t)["ConfigMap/last"]) > 0 {
				t.Error("a node was started, though the one before was not seen to be ready")
			}
		})
	}
}
