// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/binaries"
	"github.com/ordered-helm/helm/test/cluster"
)

// writeChart makes a chart of one template, that bears an order.
func writeChart(b *testing.B, template string) string {
	b.Helper()
	dir := b.TempDir()
	for file, content := range map[string]string{
		"Chart.yaml": "apiVersion: v3\nname: chain\nversion: 0.1.0\n", "templates/all.yaml": template,
	} {
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	return dir
}

// install installs a chart in order, and says what that took of the machine.
func install(ctx context.Context, b *testing.B, c *cluster.Cluster, chart, namespace string) (*os.ProcessState, error) {
	b.Helper()
	cmd := exec.CommandContext(ctx, binaries.Get(b).Helm, "install", "rel", chart, "--namespace", namespace,
		"--wait=ordered", "--readiness-timeout", "5m", "--timeout", "10m")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig())
	if out, err := cmd.CombinedOutput(); err != nil {
		const most = 2000 // its end says what is wrong
		return nil, fmt.Errorf("install: %w\n%s", err, out[max(0, len(out)-most):])
	}
	return cmd.ProcessState, nil
}

// requestsOf is what the server recorded of a client's requests in a namespace,
// each request once.
func requestsOf(b *testing.B, c *cluster.Cluster, agent, namespace string) []cluster.Event {
	b.Helper()
	var events []cluster.Event
	for _, e := range c.Audit(b) {
		endOfWatch := e.Verb == "watch" && e.Stage == cluster.StageComplete
		if e.Namespace == namespace && strings.HasPrefix(e.UserAgent, agent) && !endOfWatch {
			events = append(events, e)
		}
	}
	return events
}
