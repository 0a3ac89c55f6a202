// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package harness runs helm against a cluster, and compares what it printed, stored and
// changed there with what a test expects.
package harness

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/dynamic"

	"github.com/ordered-helm/helm/test/binaries"
	"github.com/ordered-helm/helm/test/cluster"
)

// Helm runs the helm binaries with a home directory and a namespace for the test.
type Helm struct {
	TB        testing.TB
	Cluster   *cluster.Cluster
	Namespace string
	// Client is allowed to do everything.
	Client dynamic.Interface
	// Env is the environment of the binaries.
	Env []string
	// Started is when the operation under test started. Earlier writes to the cluster are
	// ignored.
	Started time.Time
}

// New returns a Helm with a new namespace in the cluster of the test process.
func New(tb testing.TB) *Helm {
	tb.Helper()
	c := cluster.Shared(tb)
	client, err := dynamic.NewForConfig(c.Config())
	NoError(tb, err)
	home := tb.TempDir()
	return &Helm{
		TB: tb, Cluster: c, Client: client, Namespace: c.Namespace(tb),
		Env: append(os.Environ(), "HOME="+home, "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home,
			"HELM_DATA_HOME="+home, "KUBECONFIG="+c.Kubeconfig(),
			"GOGC=400"), // starting the program takes most of the time of a run
	}
}

// RunCases runs named cases in parallel, each in its own namespace.
func RunCases(t *testing.T, cases map[string]func(*testing.T, *Helm)) {
	t.Helper()
	for name, run := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, New(t))
		})
	}
}

// Now returns the current time for comparisons with later times in the audit log. Both use
// the same clock, and the API server rounds down to microseconds.
func Now() time.Time { return time.Now().Truncate(time.Microsecond) }

// ExampleChart returns the path of one of the example charts of the repository.
func ExampleChart(tb testing.TB, name string) string {
	tb.Helper()
	return filepath.Join(binaries.Root(tb), "examples", name)
}

// PublicChart returns the path of a public chart. The test is skipped if the chart is not
// available.
func PublicChart(tb testing.TB, pattern string) string {
	tb.Helper()
	dir := filepath.Join(binaries.Root(tb), "..", "shared", "charts")
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	NoError(tb, err)
	if len(found) == 0 {
		tb.Skipf("no chart %s in ../shared/charts: skipped", pattern)
	}
	return found[0]
}
