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

// scenario is a list of steps that both programs execute, with what may differ in their
// results.
type scenario struct {
	name string
	// steps are executed in order. Their results are compared.
	steps []step
	// noCluster is true if the scenario needs no cluster. helm then finds no kubeconfig.
	noCluster bool
	// env contains additional environment variables for helm.
	env []string
	// unchecked adds --disable-openapi-validation to installs and upgrades, because validation
	// takes most of their time.
	unchecked bool
	// rules are applied to the results of this scenario, after the default rules.
	rules []rule
	// hookReasons disables the rule hookReasons.
	hookReasons bool
	// differs contains the lines that differ intentionally, with "-" for stock Helm and "+"
	// for ours, as a failing test prints them. Exactly these lines must differ.
	// docs/differences.md explains them.
	differs []string
}

// A step does something in a sandbox, and returns the result as text, which is compared. It
// returns an error if the step itself is wrong, not if helm fails.
type step interface {
	run(ctx context.Context, w *sandbox) (seen string, err error)
}

const (
	scenarioTimeout = 2 * time.Minute
	sideStock       = 's'
	sideOurs        = 'o'
)

// runScenarios runs a table of scenarios as parallel subtests.
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

// compare executes the steps of a scenario with both programs, and compares the results. It
// does not run stock Helm if our results are the same as the recorded ones.
func compare(t *testing.T, programs binaries.Set, sc scenario, r recording) {
	t.Helper()
	var c *cluster.Cluster
	if !sc.noCluster {
		c = cluster.Shared(t)
	}
	number := scenarioNumber.Add(1)
	recorded, found := r.load(t, sc)
	ours := newSandbox(t, sc, sandboxOptions{program: programs.Helm, side: sideOurs, number: number, cluster: c})
	if found {
		runSteps(t, sc.steps, ours)
		if ours.err == nil && slices.Equal(changedLines(differences(recorded, ours.seen)), sc.differs) {
			return
		}
		t.Log("ours does not agree with what stock showed earlier: stock is run again")
	}
	stock := newSandbox(t, sc, sandboxOptions{program: programs.Stock, side: sideStock, number: number, cluster: c})
	if found {
		runSteps(t, sc.steps, stock)
	} else {
		runSteps(t, sc.steps, stock, ours)
	}
	report(t, sc, stock, ours)
	if !t.Failed() {
		r.save(t, stock.seen)
	}
}

// runSteps executes the steps in several sandboxes, in parallel.
func runSteps(t *testing.T, steps []step, sandboxes ...*sandbox) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), scenarioTimeout)
	defer cancel()
	var all sync.WaitGroup
	for _, w := range sandboxes {
		all.Go(func() { w.runSteps(ctx, steps) })
	}
	all.Wait()
}

// report fails the test if a step failed, or if there are unexpected differences.
func report(t *testing.T, sc scenario, stock, ours *sandbox) {
	t.Helper()
	for _, w := range []*sandbox{stock, ours} {
		if w.err != nil {
			t.Errorf("%s: %v", w.title(), w.err)
		}
	}
	reportDifferences(t, differences(stock.seen, ours.seen), sc.differs)
}

// differences returns the differences between the results of both programs, step by step.
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

// reportDifferences fails the test unless exactly the lines in allowed differ.
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

// runSteps executes the steps in the sandbox and stores their results, followed by a
// description of the files and objects that they have left.
func (w *sandbox) runSteps(ctx context.Context, steps []step) {
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
