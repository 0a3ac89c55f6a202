// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/ordered-helm/helm/test/bench/launch"
	"github.com/ordered-helm/helm/test/bench/report"
	"github.com/ordered-helm/helm/test/cluster"
)

// roundsEnv is the environment variable with the number of measured rounds. The default is
// usualRounds.
const (
	roundsEnv   = "BENCH_ROUNDS"
	usualRounds = 5
)

// workload is a task, and the tools that perform it for comparison.
type workload struct {
	name, title, about string
	// base contains the names of the tools with which all tools are compared; see
	// report.Result.Base.
	base  []string
	tools []tool
	// rounds is the number of rounds; 0 means the usual number.
	rounds int
	// cold is true if the first round is measured too.
	cold bool
	// size is the number of objects, if a result contains rows for several numbers.
	size int
	// binaries is as in report.Result.
	binaries map[string]float64
}

// tool is a program, or one way to use it, that performs the steps of a task.
type tool struct {
	name  string
	steps []step
	// agent is the prefix of the user agent of its requests. If it is empty, its requests are
	// not counted.
	agent string
}

// step is a part of a task. do performs it in a namespace. An uncounted step is performed, but
// not measured.
type step struct {
	name      string
	do        func(ctx context.Context, namespace string) (launch.Usage, error)
	uncounted bool
}

// key identifies the samples of a tool in a step.
type key struct{ step, tool string }

// measure runs the tools of a workload in alternation (A B C A B C), and stores the result. It
// ignores the first round unless w.cold is set.
func measure(b *testing.B, c *cluster.Cluster, w workload) {
	b.Helper()
	collect(b, report.Result{Name: w.name, Title: w.title, About: w.about, Base: w.base, Binaries: w.binaries, Rounds: w.counted(b), Rows: rows(b, c, w)})
}

// rows measures the tools of a workload, and returns a row for each tool and step.
func rows(b *testing.B, c *cluster.Cluster, w workload) []report.Row {
	b.Helper()
	samples := map[key][]report.Sample{}
	warmUp := 1
	if w.cold {
		warmUp = 0
	}
	for round := range w.counted(b) + warmUp {
		for _, t := range w.tools {
			for step, sample := range runOnce(b, c, t) {
				if round >= warmUp {
					samples[key{step, t.name}] = append(samples[key{step, t.name}], sample)
				}
			}
		}
	}
	var rows []report.Row
	for _, name := range w.steps() {
		for _, t := range w.tools {
			if of := samples[key{name, t.name}]; len(of) > 0 {
				row := report.NewRow(name, t.name, of)
				row.Size = w.size
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// runOnce makes a tool perform its steps once in a new namespace, deletes the namespace, and
// returns the samples by step. If c is nil, there is no namespace, and no requests are
// counted.
func runOnce(b *testing.B, c *cluster.Cluster, t tool) map[string]report.Sample {
	b.Helper()
	var namespace string
	var mark cluster.AuditMark
	if c != nil {
		namespace, mark = c.Namespace(b), c.AuditMark(b)
	}
	took := map[string]launch.Usage{}
	for _, step := range t.steps {
		used, err := step.do(b.Context(), namespace)
		if err != nil {
			b.Fatalf("%s, %s: %v", t.name, step.name, err)
		}
		if !step.uncounted {
			took[step.name] = used
		}
	}
	requests := map[string]map[string]int{}
	if c != nil {
		if t.agent != "" {
			requests = requestsIn(b, c, mark, t.agent, took)
		}
		removeAll(b, c, namespace)
	}
	samples := map[string]report.Sample{}
	for step, used := range took {
		samples[step] = report.Sample{Wall: used.End.Sub(used.Begin), CPU: used.CPU, Peak: used.PeakMiB, Requests: requests[step]}
	}
	return samples
}

// steps returns the names of the measured steps of all tools, in order.
func (w workload) steps() []string {
	var names []string
	seen := map[string]bool{}
	for _, t := range w.tools {
		for _, step := range t.steps {
			if !step.uncounted && !seen[step.name] {
				seen[step.name] = true
				names = append(names, step.name)
			}
		}
	}
	return names
}

// counted returns the number of measured rounds.
func (w workload) counted(b *testing.B) int {
	b.Helper()
	usual := usualRounds
	if text := os.Getenv(roundsEnv); text != "" {
		var err error
		if usual, err = strconv.Atoi(text); err != nil || usual < 1 {
			b.Fatalf("%s=%s is no number of rounds", roundsEnv, text)
		}
	}
	switch {
	case w.rounds > usualRounds: // short runs have more rounds
		return w.rounds * usual / usualRounds
	case w.rounds > 0:
		return min(w.rounds, usual)
	default:
		return usual
	}
}

// inProcess returns a step function that calls do in this process and measures its time.
func inProcess(do func(ctx context.Context, namespace string) error) func(context.Context, string) (launch.Usage, error) {
	return func(ctx context.Context, namespace string) (launch.Usage, error) {
		begin := time.Now()
		err := do(ctx, namespace)
		return launch.Usage{Begin: begin, End: time.Now()}, err
	}
}
