// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package harness is the basis of the end-to-end tests. It runs helm in a namespace of a dev
// cluster, and checks the output, the stored releases, and the objects in the cluster. It
// reads the order in which objects were changed from the audit log of the API server.
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

// Helm runs the binaries of Ordered Helm and stock Helm, with a home directory and a namespace
// that only the test uses.
type Helm struct {
	TB        testing.TB
	Cluster   *cluster.Cluster
	Namespace string
	// Client is a client with all permissions.
	Client dynamic.Interface
	// Env is the environment of the binaries. Tests may append to it.
	Env []string
	// Started is the time at which the operation under test started. Tests set it with Now.
	// Checks of the order ignore earlier writes to the cluster.
	Started time.Time
}

// New returns a Helm with a new namespace in the cluster that the test process shares.
func New(tb testing.TB) *Helm {
	tb.Helper()
	c := cluster.Shared(tb)
	client, err := dynamic.NewForConfig(c.Config())
	NoError(tb, err)
	home := tb.TempDir()
	installDefinitions(tb, c)
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

// Now returns the current time, truncated to microseconds like times in the audit log, so that
// it can be compared with these.
func Now() time.Time { return time.Now().Truncate(time.Microsecond) }

// ExampleChart returns the path of one of the example charts of the repository.
func ExampleChart(tb testing.TB, name string) string {
	tb.Helper()
	return filepath.Join(binaries.Root(tb), "examples", name)
}

// PublicChart returns the path of the public chart that matches a glob pattern, in the
// directory of public charts next to the repository. It skips the test if there is none.
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
