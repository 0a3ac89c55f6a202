// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ordered-helm/helm/test/binaries"
	"github.com/ordered-helm/helm/test/cluster"
)

// scenario is what both programs go through.
type scenario struct {
	name string
	// steps are taken one after the other; what each shows is compared.
	steps []step
	// noCluster is for what needs none: helm then finds no kubeconfig.
	noCluster bool
	// env are variables for helm, beside the usual ones.
	env []string
	// unchecked spares installations and upgrades the check against the OpenAPI
	// schema, which takes most of their time.
	unchecked bool
	// rules normalise what is particular to this scenario. They come after the
	// usual rules.
	rules []rule
	// hookReasons keeps what is said of hooks that failed below Helm's own words.
	hookReasons bool
	// differs are the lines that differ on purpose, with "-" for stock's and
	// "+" for ours, as a failing test prints them: neither more nor fewer must
	// differ. The reason is in docs/differences.md.
	differs []string
}

// A step does something in a world and tells what was seen. An error means that
// the step itself could not be taken.
type step interface {
	run(ctx context.Context, w *world) (seen string, err error)
}

const (
	scenarioTimeout = 2 * time.Minute
	sideStock       = 's'
	sideOurs        = 'o'
)

// runScenarios runs a table of scenarios side by side.
func runScenarios(t *testing.T, table []scenario) {
	t.Helper()
	programs := binaries.Get(t)
	for _, sc := range table {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			compare(t, programs, sc, newRecording(t, programs.Stock))
		})
	}
}

// compare takes the steps of a scenario with both programs and compares what
// they showed and left behind. Stock is not run if its side was recorded and
// ours agrees with the recording.
func compare(t *testing.T, programs binaries.Set, sc scenario, r recording) {
	t.Helper()
	var c *cluster.Cluster
	if !sc.noCluster {
		c = cluster.Shared(t)
	}
	number := scenarioNumber.Add(1)
	recorded, found := r.load(t, sc)
	ours := newWorld(t, sc, worldOptions{program: programs.Helm, side: sideOurs, number: number, cluster: c})
	if found {
		takeSteps(t, sc.steps, ours)
		if ours.err == nil && slices.Equal(changedLines(differences(recorded, ours.seen)), sc.differs) {
			return
		}
		t.Log("ours does not agree with what stock showed earlier: stock is run again")
	}
	stock := newWorld(t, sc, worldOptions{program: programs.Stock, side: sideStock, number: number, cluster: c})
	if found {
		takeSteps(t, sc.steps, stock)
	} else {
		takeSteps(t, sc.steps, stock, ours)
	}
	report(t, sc, stock, ours)
	if !t.Failed() {
		r.save(t, stock.seen)
	}
}

// takeSteps takes the steps in several worlds side by side.
func takeSteps(t *testing.T, steps []step, worlds ...*world) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), scenarioTimeout)
	defer cancel()
	var all sync.WaitGroup
	for _, w := range worlds {
		all.Go(func() { w.takeSteps(ctx, steps) })
	}
	all.Wait()
}

// report fails the test where a side could not take a step, and where the sides
// differ otherwise than they should.
func report(t *testing.T, sc scenario, stock, ours *world) {
	t.Helper()
	for _, w := range []*world{stock, ours} {
		if w.err != nil {
			t.Errorf("%s: %v", w.title(), w.err)
		}
	}
	reportDifferences(t, differences(stock.seen, ours.seen), sc.differs)
}

// differences compares what both sides showed, step by step.
func differences(stock, ours []string) []string {
	var found []string
	for i := range min(len(stock), len(ours)) {
		if d := diff(stock[i], ours[i]); d != "" {
			found = append(found, d)
		}
	}
	return found
}

// changedLines returns the lines that only one of the sides has.
func changedLines(differences []string) []string {
	var changed []string
	for line := range strings.Lines(strings.Join(differences, "\n")) {
		if line[0] == '-' || line[0] == '+' {
			changed = append(changed, strings.TrimSuffix(line, "\n"))
		}
	}
	return changed
}

// reportDifferences fails the test unless exactly the lines that may differ do.
func reportDifferences(t *testing.T, differences, allowed []string) {
	t.Helper()
	switch {
	case slices.Equal(changedLines(differences), allowed):
	case len(allowed) == 0:
		t.Errorf("stock (-) and ours (+) differ:\n%s", strings.Join(differences, "\n"))
	default:
		t.Errorf("stock (-) and ours (+) differ otherwise than they should:\n%s\nnot:\n%s",
			strings.Join(differences, "\n"), strings.Join(allowed, "\n"))
	}
}

// scenarioNumber tells the namespaces of scenarios apart.
var scenarioNumber atomic.Int32

// takeSteps takes the steps and then looks at what they left behind.
func (w *world) takeSteps(ctx context.Context, steps []step) {
	for i, s := range slices.Concat(steps, []step{leftBehind{}}) {
		seen, err := s.run(ctx, w)
		if err != nil {
			w.err = fmt.Errorf("step %d: %w", i+1, err)
			return
		}
		w.seen = append(w.seen, w.normalize(seen))
		if os.Getenv("PARITY_SHOW") != "" {
			w.t.Logf("%s\n%s", w.title(), w.seen[len(w.seen)-1])
		}
	}
}
