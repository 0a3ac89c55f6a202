// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package harness runs helm against a cluster, and compares what it printed, stored and did
// there with what a test expects.
package harness

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/dynamic"

	"github.com/ordered-helm/helm/test/binaries"
	"github.com/ordered-helm/helm/test/cluster"
)

// ExpectRefused checks that a run failed with a message that says all of want, and
// that it wrote nothing to the cluster.
func (h *Helm) ExpectRefused(tb testing.TB, r Result, want ...string) {
	tb.Helper()
	if r.ExitCode != 1 {
		tb.Errorf("exit code %d, want 1", r.ExitCode)
	}
	for _, w := range want {
		if !strings.Contains(r.Stderr, w) {
			tb.Errorf("the message does not say %q:\n%s", w, r.Stderr)
		}
	}
	if strings.Contains(r.Stdout, "NAME:") {
		tb.Errorf("a release was reported:\n%s", r.Stdout)
	}
	for _, e := range h.Cluster.Audit(tb) {
		written := e.Verb == "create" || e.Verb == "update" || e.Verb == "patch" || e.Verb == "delete"
		if written && e.Namespace == h.Namespace && strings.HasPrefix(e.UserAgent, "Helm/") ||
			written && e.Name == "things.ordered.example" {
			tb.Errorf("the cluster was changed: %s %s", e.Verb, e.URI)
		}
	}
}

// MustRunStock runs unmodified Helm, which must succeed.
func (h *Helm) MustRunStock(tb testing.TB, args ...string) string {
	tb.Helper()
	r := h.RunStock(tb, args...)
	if r.ExitCode != 0 {
		tb.Fatalf("stock helm %s: exit code %d\n%s%s", strings.Join(args, " "), r.ExitCode, r.Stdout, r.Stderr)
	}
	return r.Stdout
}

func (h *Helm) RunStock(tb testing.TB, args ...string) Result {
	tb.Helper()
	return h.StartStock(tb, args...).Wait(tb)
}

// ExpectFailure runs the binary, which must fail with a message that says all of want.
func (h *Helm) ExpectFailure(tb testing.TB, args []string, want ...string) Result {
	tb.Helper()
	r := h.Run(args...)
	if r.ExitCode != 1 {
		tb.Errorf("helm %s: exit code %d, want 1\n%s", strings.Join(args, " "), r.ExitCode, r.Stderr)
	}
	ExpectContains(tb, r.Stderr, want...)
	return r
}

func ExpectContains(tb testing.TB, text string, want ...string) {
	tb.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			tb.Errorf("it does not say %q:\n%s", w, text)
		}
	}
}

// Now is a time to compare with what the server records from now on: both are on
// one machine, and the server rounds down to microseconds.
func Now() time.Time { return time.Now().Truncate(time.Microsecond) }

// Helm is the binary with a home and a namespace of the test's own.
type Helm struct {
	TB        testing.TB
	Cluster   *cluster.Cluster
	Namespace string
	Client    dynamic.Interface
	Env       []string
	// from is when the operation that is looked at began.
	Started time.Time
}

func New(tb testing.TB) *Helm {
	tb.Helper()
	c := cluster.Shared(tb)
	client, err := dynamic.NewForConfig(c.Config())
	if err != nil {
		tb.Fatal(err)
	}
	home := tb.TempDir()
	return &Helm{
		TB: tb, Cluster: c, Client: client, Namespace: c.Namespace(tb),
		Env: append(os.Environ(), "HOME="+home, "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home,
			"HELM_DATA_HOME="+home, "KUBECONFIG="+c.Kubeconfig(),
			"GOGC=400"), // most of what a run takes is its start
	}
}

func (h *Helm) Run(args ...string) Result {
	h.TB.Helper()
	return h.RunIn(h.Namespace, args...)
}

func (h *Helm) RunIn(namespace string, args ...string) Result {
	h.TB.Helper()
	return h.StartBinary(h.TB, binaries.Get(h.TB).Helm, namespace, args...).Wait(h.TB)
}

// MustRun runs the binary and fails the test if it fails.
func (h *Helm) MustRun(args ...string) Result {
	h.TB.Helper()
	r := h.Run(args...)
	if r.ExitCode != 0 {
		h.TB.Fatalf("helm %s: exit code %d\n%s%s", strings.Join(args, " "), r.ExitCode, r.Stdout, r.Stderr)
	}
	return r
}

// ExampleChart is the path of one of the repository's example charts.
func ExampleChart(tb testing.TB, name string) string {
	tb.Helper()
	return filepath.Join(binaries.Root(tb), "examples", name)
}

// PublicChart is the path of a public chart; the test is skipped where it is not
// at hand.
func PublicChart(tb testing.TB, pattern string) string {
	tb.Helper()
	dir := filepath.Join(binaries.Root(tb), "..", "shared", "charts")
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		tb.Fatal(err)
	}
	if len(found) == 0 {
		tb.Skipf("no chart %s in ../shared/charts: skipped", pattern)
	}
	return found[0]
}

// Timeouts are the timeouts that a failing case is tried with. On a busy
// machine the first may be over before the state that the case is about is
// reached; so it is tried again with the next.
func Timeouts() []string { return []string{"2s", "5s", "9s"} }

// ErrorOf is the part of stderr that follows the progress.
func ErrorOf(stderr string) string {
	if at := strings.Index(stderr, "\nError: "); at >= 0 {
		return stderr[at+1:]
	}
	return stderr
}
