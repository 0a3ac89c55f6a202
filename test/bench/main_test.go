// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package bench measures Ordered Helm in comparison with stock Helm, with other tools, and
// with the minimum time that the cluster needs. All of them run in alternation in one run, so
// that other load on the machine affects them equally. Only the ratios are meaningful.
package bench

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ordered-helm/helm/test/bench/report"
	"github.com/ordered-helm/helm/test/cluster"
)

// writeEnv is the environment variable with the directory to which the results and the page
// are written. If it is not set, they are only printed.
const writeEnv = "BENCH_WRITE"

// measured contains the results of this process. It is a variable because a testing.M
// cannot pass them from the benchmarks.
var measured struct {
	mu      sync.Mutex
	results []report.Result
}

func TestMain(m *testing.M) {
	cluster.Main(m, publish)
}

// collect adds a result to the results that publish prints and writes.
func collect(b *testing.B, r report.Result) {
	b.Helper()
	b.ReportMetric(0, "ns/op")
	r.Machine, r.Date, r.Commit = report.ThisMachine(), time.Now().UTC().Format(time.DateOnly), commit(b)
	measured.mu.Lock()
	defer measured.mu.Unlock()
	measured.results = append(measured.results, r)
}

// publish prints the results of this run and their comparison with the goals. It writes the
// page if writeEnv is set.
func publish() error {
	measured.mu.Lock()
	defer measured.mu.Unlock()
	results := report.Results{}
	for _, r := range measured.results {
		results[r.Name] = r
		fmt.Printf("\n%s", r.Text())
	}
	if len(results) > 0 {
		fmt.Printf("\nGoals, with the results of this run\n%s", results.Text())
	}
	if dir := os.Getenv(writeEnv); dir != "" {
		return report.Update(dir, measured.results)
	}
	return nil
}

// commit returns the measured git commit, followed by "+" if files were changed since.
func commit(b *testing.B) string {
	b.Helper()
	out, err := exec.CommandContext(b.Context(), "git", "describe", "--always", "--exclude=*", "--abbrev=9", "--dirty=+").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}
