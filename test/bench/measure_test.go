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

// roundsEnv sets the number of measured rounds, instead of usualRounds.
const (
	roundsEnv   = "BENCH_ROUNDS"
	usualRounds = 5
)

// workload is a task, and the contestants that perform it.
type workload struct {
	name, title, about string
	// base contains the contestants with whose sum the others are compared.
	base        []string
	contestants []contestant
	// rounds is the number of rounds; 0 means the usual number.
	rounds int
	// cold is whether the first round is measured too.
	cold bool
	// size is the number of objects, if one result contains several.
	size int
}

// contestant is one way to perform the task, step by step.
type contestant struct {
	name  string
	steps []step
	// agent is the beginning of the user agent of its requests; empty if they are not
	// counted.
	agent string
}

// step performs a part of the task in a namespace. An uncounted step is performed but not
// measured.
type step struct {
	name      string
	do        func(ctx context.Context, namespace string) (launch.Usage, error)
	uncounted bool
}

// key identifies the samples of a step and a contestant.
type key struct{ step, contestant string }

// measure runs the contestants of a workload alternately (A B C A B C), ignores the first
// round, and stores the result.
func measure(b *testing.B, c *cluster.Cluster, w workload) {
	b.Helper()
	collect(b, report.Result{Name: w.name, Title: w.title, About: w.about, Base: w.base, Rounds: w.counted(b), Rows: rows(b, c, w)})
}

// rows measures the contestants of a workload.
func rows(b *testing.B, c *cluster.Cluster, w workload) []report.Row {
	b.Helper()
	samples := map[key][]report.Sample{}
	warmUp := 1
	if w.cold {
		warmUp = 0
	}
	for round := range w.counted(b) + warmUp {
		for _, con := range w.contestants {
			for step, sample := range turn(b, c, con) {
				if round >= warmUp {
					samples[key{step, con.name}] = append(samples[key{step, con.name}], sample)
				}
			}
		}
	}
	var rows []report.Row
	for _, name := range w.steps() {
		for _, con := range w.contestants {
			if of := samples[key{name, con.name}]; len(of) > 0 {
				row := report.NewRow(name, con.name, of)
				row.Size = w.size
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// turn makes a contestant perform its steps once, and cleans up. Without a cluster there is
// no namespace, and there are no requests.
func turn(b *testing.B, c *cluster.Cluster, con contestant) map[string]report.Sample {
	b.Helper()
	var namespace string
	var mark cluster.AuditMark
	if c != nil {
		namespace, mark = c.Namespace(b), c.AuditMark(b)
	}
	took := map[string]launch.Usage{}
	for _, step := range con.steps {
		used, err := step.do(b.Context(), namespace)
		if err != nil {
			b.Fatalf("%s, %s: %v", con.name, step.name, err)
		}
		if !step.uncounted {
			took[step.name] = used
		}
	}
	requests := map[string]map[string]int{}
	if c != nil {
		if con.agent != "" {
			requests = requestsIn(b, c, mark, con.agent, took)
		}
		removeAll(b, c, namespace)
	}
	samples := map[string]report.Sample{}
	for step, used := range took {
		samples[step] = report.Sample{Wall: used.End.Sub(used.Begin), CPU: used.CPU, Peak: used.PeakMiB, Requests: requests[step]}
	}
	return samples
}

// steps returns the names of all measured steps, in order.
func (w workload) steps() []string {
	var names []string
	seen := map[string]bool{}
	for _, con := range w.contestants {
		for _, step := range con.steps {
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

// inProcess measures the time of a function of this process.
func inProcess(do func(ctx context.Context, namespace string) error) func(context.Context, string) (launch.Usage, error) {
	return func(ctx context.Context, namespace string) (launch.Usage, error) {
		begin := time.Now()
		err := do(ctx, namespace)
		return launch.Usage{Begin: begin, End: time.Now()}, err
	}
}
