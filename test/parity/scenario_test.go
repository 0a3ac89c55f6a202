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

// scenario is a list of steps for both programs.
type scenario struct {
	name string
	// steps are executed one after the other. Their results are compared.
	steps []step
	// noCluster is for scenarios that need no cluster. helm then finds no kubeconfig.
	noCluster bool
	// env contains variables for helm, in addition to the usual ones.
	env []string
	// unchecked disables validation against the OpenAPI schema in installs and upgrades,
	// because it takes most of their time.
	unchecked bool
	// rules normalise the results of this scenario. They are applied after the usual rules.
	rules []rule
	// hookReasons keeps what is printed about failed hooks below Helm's own message.
	hookReasons bool
	// differs contains the lines that differ intentionally, with "-" for stock Helm and "+"
	// for ours, as a failing test prints them. Exactly these lines must differ. The reason
	// is in docs/differences.md.
	differs []string
}

// A step does something in a world and returns what it observed. An error means that the
// step itself failed.
type step interface {
	run(ctx context.Context, w *world) (seen string, err error)
}

const (
	scenarioTimeout = 2 * time.Minute
	sideStock       = 's'
	sideOurs        = 'o'
)

// runScenarios runs a table of scenarios in parallel.
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

// compare executes the steps of a scenario with both programs, and compares what they
// printed and left. Stock Helm is not run if its results were recorded and ours agree with
// them.
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

// takeSteps executes the steps in several worlds in parallel.
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

// report fails the test if a step failed, or if there are unexpected differences.
func report(t *testing.T, sc scenario, stock, ours *world) {
	t.Helper()
	for _, w := range []*world{stock, ours} {
		if w.err != nil {
			t.Errorf("%s: %v", w.title(), w.err)
		}
	}
	reportDifferences(t, differences(stock.seen, ours.seen), sc.differs)
}

// differences compares the results of both programs, step by step.
func differences(stock, ours []string) []string {
	var found []string
	for i := range min(len(stock), len(ours)) {
		if d := diff(stock[i], ours[i]); d != "" {
			found = append(found, d)
		}
	}
	return found
}

// changedLines returns the lines that only one of the programs has.
func changedLines(differences []string) []string {
	var changed []string
	for line := range strings.Lines(strings.Join(differences, "\n")) {
		if line[0] == '-' || line[0] == '+' {
			changed = append(changed, strings.TrimSuffix(line, "\n"))
		}
	}
	return changed
}

// reportDifferences fails the test unless exactly the allowed lines differ.
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

// scenarioNumber makes the namespaces of scenarios unique.
var scenarioNumber atomic.Int32

// takeSteps executes the steps and then describes what they left.
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
