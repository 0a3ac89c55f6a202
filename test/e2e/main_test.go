// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package e2e runs the helm binary against a real control plane, and proves
// from the API server's own record what it did there.
package e2e

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

func TestMain(m *testing.M) { cluster.Main(m) }

// helm is the binary with a home and a namespace of the test's own.
type helm struct {
	tb        testing.TB
	cluster   *cluster.Cluster
	namespace string
	client    dynamic.Interface
	env       []string
	// from is when the operation that is looked at began.
	from time.Time
}

func newHelm(tb testing.TB) *helm {
	tb.Helper()
	c := cluster.Shared(tb)
	client, err := dynamic.NewForConfig(c.Config())
	if err != nil {
		tb.Fatal(err)
	}
	home := tb.TempDir()
	return &helm{
		tb: tb, cluster: c, client: client, namespace: c.Namespace(tb),
		env: append(os.Environ(), "HOME="+home, "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home,
			"HELM_DATA_HOME="+home, "KUBECONFIG="+c.Kubeconfig(),
			"GOGC=400"), // most of what a run takes is its start
	}
}

func (h *helm) run(args ...string) result {
	h.tb.Helper()
	return h.runIn(h.namespace, args...)
}

func (h *helm) runIn(namespace string, args ...string) result {
	h.tb.Helper()
	return h.startBinary(h.tb, binaries.Get(h.tb).Helm, namespace, args...).wait(h.tb)
}

// ok runs the binary and fails the test if it fails.
func (h *helm) ok(args ...string) result {
	h.tb.Helper()
	r := h.run(args...)
	if r.code != 0 {
		h.tb.Fatalf("helm %s: exit code %d\n%s%s", strings.Join(args, " "), r.code, r.stdout, r.stderr)
	}
	return r
}

// example is the path of one of the repository's example charts.
func example(tb testing.TB, name string) string {
	tb.Helper()
	return filepath.Join(binaries.Root(tb), "examples", name)
}

// realChart is the path of a public chart; the test is skipped where it is not
// at hand.
func realChart(tb testing.TB, pattern string) string {
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
