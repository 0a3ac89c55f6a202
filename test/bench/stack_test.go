// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ordered-helm/helm/test/bench/report"
	"github.com/ordered-helm/helm/test/binaries"
	"github.com/ordered-helm/helm/test/cluster"
)

// stackChart returns the archive of kube-prometheus-stack in the directory of public charts
// next to the repository, and the flags that it needs. archive is empty if the archive is
// not available.
func stackChart(b *testing.B) (archive string, flags []string) {
	b.Helper()
	found, err := filepath.Glob(filepath.Join(binaries.Root(b), "..", "shared", "charts", "kube-prometheus-stack-*.tgz"))
	if err != nil {
		b.Fatal(err)
	}
	if len(found) == 0 {
		return "", nil
	}
	return found[0], []string{"--set", "grafana.enabled=false"} // the archive does not contain it
}

// BenchmarkStack installs kube-prometheus-stack. Its CRDs are created before, because only the
// server determines how long they take to be established.
func BenchmarkStack(b *testing.B) {
	archive, flags := stackChart(b)
	if archive == "" {
		b.Skip("no chart kube-prometheus-stack in ../shared/charts: skipped")
	}
	c := cluster.Shared(b)
	define(b, c, archive)
	client := unthrottled(b, c)
	tools := []tool{{name: report.Hand, steps: []step{{name: report.Install, do: inProcess(func(ctx context.Context, namespace string) error {
		return errors.Join(jobsWithoutHelm{prefix: "first-", n: 1}.run(ctx, client, namespace), jobsWithoutHelm{prefix: "second-", n: 1}.run(ctx, client, namespace))
	})}}}}
	for _, t := range versionsOfHelm(b, c) {
		tools = append(tools, helmLifecycle(t.name, t.program, lifecycle{chart: archive, flags: flags}).without(report.Changed))
	}
	measure(b, c, workload{
		name: report.StackName, title: "kube-prometheus-stack",
		about: "The public chart, with hooks, without grafana, and without an order. Its CRDs are already in the cluster. " +
			"By hand are only two Jobs, one after the other, as long as those of its hooks.",
		base: []string{report.Stock}, tools: tools,
	})
}

// define creates the CRDs of a chart for the duration of the benchmark.
func define(b *testing.B, c *cluster.Cluster, chart string) {
	b.Helper()
	took, err := stock(b, nil).run(b.Context(), "show", "crds", chart)
	if err != nil {
		b.Fatal(err)
	}
	file := filepath.Join(b.TempDir(), "crds.yaml")
	if err := os.WriteFile(file, took.Output, 0o600); err != nil {
		b.Fatal(err)
	}
	kubectl := func(args ...string) {
		b.Helper()
		cmd := exec.Command(c.Kubectl(), append(args, "--kubeconfig", c.Kubeconfig(), "--filename", file)...) //nolint:noctx // it cleans up after the context has ended
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%s: %v\n%s", cmd, err, out)
		}
	}
	b.Cleanup(func() { kubectl("delete", "--ignore-not-found") })
	kubectl("apply", "--server-side")
	kubectl("wait", "--for=condition=Established")
}
