// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package bench measures against other programs and against the cluster's own
// limit, everything in one run and in turn, so that only ratios count.
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

// writeEnv names the folder in which the results are kept and the page is written.
const writeEnv = "BENCH_WRITE"

// measured has the results of this process. A testing.M cannot carry them from
// the benchmarks, so a variable does.
var measured struct {
	mu      sync.Mutex
	results []report.Result
}

func TestMain(m *testing.M) {
	cluster.Main(m, publish)
}

// collect keeps a result for the end of the run.
func collect(b *testing.B, r report.Result) {
	b.Helper()
	b.ReportMetric(0, "ns/op")
	r.Machine, r.Date, r.Commit = report.ThisMachine(), time.Now().UTC().Format(time.DateOnly), commit(b)
	measured.mu.Lock()
	defer measured.mu.Unlock()
	measured.results = append(measured.results, r)
}

// publish prints the tables and what this run says about the aims, and writes the
// page where that is asked for.
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

// commit is what is measured, by git: with "+" where files differ from it.
func commit(b *testing.B) string {
	b.Helper()
	out, err := exec.CommandContext(b.Context(), "git", "describe", "--always", "--exclude=*", "--abbrev=9", "--dirty=+").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}
