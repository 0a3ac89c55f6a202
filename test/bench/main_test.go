// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package bench compares with other programs and with the cluster's own limit. It measures
// everything alternately in one run, so that only ratios matter.
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

// writeEnv contains the directory in which the results are stored and the page is written.
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

// collect stores a result for the end of the run.
func collect(b *testing.B, r report.Result) {
	b.Helper()
	b.ReportMetric(0, "ns/op")
	r.Machine, r.Date, r.Commit = report.ThisMachine(), time.Now().UTC().Format(time.DateOnly), commit(b)
	measured.mu.Lock()
	defer measured.mu.Unlock()
	measured.results = append(measured.results, r)
}

// publish prints the tables and the state of the aims according to this run, and writes
// the page if requested.
func publish() error {
	measured.mu.Lock()
	defer measured.mu.Unlock()
	results := report.Results{}
	for _, r := range measured.results {
		results[r.Name] = r
		fmt.Printf("\n%s", r.Text())
	}
	if len(results) > 0 {
		fmt.Printf("\nThe aims, by this run\n%s", results.Text())
	}
	if dir := os.Getenv(writeEnv); dir != "" {
		return report.Update(dir, measured.results)
	}
	return nil
}

// commit returns the git commit that is measured, with "+" if files differ from it.
func commit(b *testing.B) string {
	b.Helper()
	out, err := exec.CommandContext(b.Context(), "git", "describe", "--always", "--exclude=*", "--abbrev=9", "--dirty=+").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}
