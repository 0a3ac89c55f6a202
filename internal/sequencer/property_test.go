// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ordered-helm/helm/internal/execute"
	"github.com/ordered-helm/helm/internal/graphview"
	"github.com/ordered-helm/helm/internal/removal"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/testutil/chartgen"
	"github.com/ordered-helm/helm/internal/testutil/plans"
)

// randomCharts is the number of random charts for which the properties are checked.
const randomCharts = 1000

// deployment is a random chart with its plan and its expected order.
type deployment struct {
	seed     uint64
	plan     *sequencer.Plan
	expected *chartgen.ExpectedOrder
	// nodeOf maps the name of each resource to its node.
	nodeOf map[string]*sequencer.Node
}

func forRandomCharts(t *testing.T, check func(t *testing.T, d *deployment, r *rand.Rand)) {
	for seed := range uint64(randomCharts) {
		chart := chartgen.Random(rand.New(rand.NewPCG(seed, 1)))
		plan, err := sequencer.Build(chart.Input())
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		d := &deployment{seed: seed, plan: plan, expected: chart.ExpectedOrder(), nodeOf: map[string]*sequencer.Node{}}
		for _, n := range plan.Nodes {
			for _, res := range n.Resources {
				if d.nodeOf[res.ID.Name] != nil || n.Chart != d.expected.Charts[res.ID.Name] {
					t.Fatalf("seed %d: %s is in %s, and in another node or in the wrong chart", seed, res.ID, n.ID())
				}
				d.nodeOf[res.ID.Name] = n
			}
		}
		if len(d.nodeOf) != len(d.expected.Names) {
			t.Fatalf("seed %d: %d resources in nodes, want %d", seed, len(d.nodeOf), len(d.expected.Names))
		}
		synctest.Test(t, func(t *testing.T) { check(t, d, rand.New(rand.NewPCG(seed, 2))) })
	}
}

// recorded returns a Recorder whose nodes take random times. Many of the times are equal.
func recorded(r *rand.Rand, p *sequencer.Plan) *plans.Recorder {
	rec := plans.NewRecorder()
	takes := map[*sequencer.Node]time.Duration{}
	for _, n := range p.Nodes {
		takes[n] = time.Duration(r.IntN(4)) * time.Second
	}
	rec.Takes = func(n *sequencer.Node) time.Duration { return takes[n] }
	return rec
}

// before checks that one node had ended when the other started.
func (d *deployment) before(t *testing.T, rec *plans.Recorder, first, then string) {
	t.Helper()
	a, b := d.nodeOf[first].ID(), d.nodeOf[then].ID()
	end, ended := rec.Ended[a]
	if !ended || a == b || end > rec.Started[b] {
		t.Fatalf("seed %d: %s (%s) started at %s, but %s (%s) ended at %s", d.seed, then, b, rec.Started[b], first, a, end)
	}
}

// TestEveryOrderIsKept checks, for random charts, that no node starts before all
// dependencies of its resources have ended, and that each node is deployed once.
func TestEveryOrderIsKept(t *testing.T) {
	pairs := 0
	forRandomCharts(t, func(t *testing.T, d *deployment, r *rand.Rand) {
		rec := recorded(r, d.plan)
		if err := execute.Plan(t.Context(), d.plan, plans.OfNodes(rec.Deploy)); err != nil {
			t.Fatal(err)
		}
		if len(rec.Started) != len(d.plan.Nodes) || len(rec.StartedTwice) > 0 {
			t.Fatalf("seed %d: started %d of %d nodes, %v twice", d.seed, len(rec.Started), len(d.plan.Nodes), rec.StartedTwice)
		}
		for _, name := range d.expected.Names {
			for _, first := range d.expected.Before(name) {
				pairs++
				d.before(t, rec, first, name)
			}
		}
	})
	if pairs < 10*randomCharts {
		t.Errorf("only %d pairs were in order: the charts declare too little to tell", pairs)
	}
}

// TestNoOrderIsInvented checks that a node starts as soon as the last dependency of its
// resources has ended.
func TestNoOrderIsInvented(t *testing.T) {
	forRandomCharts(t, func(t *testing.T, d *deployment, r *rand.Rand) {
		rec := recorded(r, d.plan)
		if err := execute.Plan(t.Context(), d.plan, plans.OfNodes(rec.Deploy)); err != nil {
			t.Fatal(err)
		}
		for _, n := range d.plan.Nodes {
			var ready time.Duration
			for _, res := range n.Resources {
				for _, first := range d.expected.Before(res.ID.Name) {
					ready = max(ready, rec.Ended[d.nodeOf[first].ID()])
				}
			}
			if rec.Started[n.ID()] != ready {
				t.Fatalf("seed %d: %s started at %s, but could at %s", d.seed, n.ID(), rec.Started[n.ID()], ready)
			}
			if after := rec.After[n.ID()]; rec.Ended[after] != ready {
				t.Fatalf("seed %d: %s is said to start after %q, which ended at %s, not at %s", d.seed, n.ID(), after, rec.Ended[after], ready)
			}
		}
	})
}

// TestNothingStartsThatDependsOnAFailure makes a random node fail.
func TestNothingStartsThatDependsOnAFailure(t *testing.T) {
	forRandomCharts(t, func(t *testing.T, d *deployment, r *rand.Rand) {
		if len(d.plan.Nodes) == 0 {
			return
		}
		bad := d.plan.Nodes[r.IntN(len(d.plan.Nodes))]
		rec := recorded(r, d.plan)
		failed := errors.New("failed")
		rec.Fails = func(n *sequencer.Node) error {
			if n == bad {
				return failed
			}
			return nil
		}
		err := execute.Plan(t.Context(), d.plan, plans.OfNodes(rec.Deploy))
		var failure *execute.Error
		if !errors.As(err, &failure) || len(failure.Failed) != 1 || failure.Failed[0].Vertex != bad || !errors.Is(err, failed) {
			t.Fatalf("seed %d: got %v", d.seed, err)
		}
		if rec.Running != 0 || len(rec.Ended) != len(rec.Started) {
			t.Fatalf("seed %d: %d nodes are still running", d.seed, rec.Running)
		}
		notStarted := map[string]bool{}
		for _, n := range failure.NotStarted {
			notStarted[n.ID()] = true
		}
		for _, n := range d.plan.Nodes {
			at, started := rec.Started[n.ID()]
			if started == notStarted[n.ID()] {
				t.Fatalf("seed %d: %s started %v, and is said not to have: %v", d.seed, n.ID(), started, !started)
			}
			if started && at > rec.Ended[bad.ID()] {
				t.Fatalf("seed %d: %s started at %s, after the failure", d.seed, n.ID(), at)
			}
		}
		for _, res := range bad.Resources {
			for after := range d.expected.After(res.ID.Name) {
				if !notStarted[d.nodeOf[after].ID()] {
					t.Fatalf("seed %d: %s started, though it depends on %s", d.seed, after, bad.ID())
				}
			}
		}
	})
}

// planText returns everything about a plan that is printed, as text.
func planText(t *testing.T, p *sequencer.Plan) string {
	t.Helper()
	var b strings.Builder
	if err := (&graphview.View{Plan: p}).Write(&b, graphview.FormatText); err != nil {
		t.Fatal(err)
	}
	b.WriteString(plans.Describe(p))
	for _, w := range p.Warnings {
		b.WriteString(w.String() + "\n")
	}
	for _, need := range p.Unmet {
		b.WriteString(need.String() + "\n")
	}
	return b.String()
}

// TestPlansAreTheSameOnEveryRun builds each plan many times, with resources and subcharts
// in different orders.
func TestPlansAreTheSameOnEveryRun(t *testing.T) {
	inputs := []sequencer.Input{needy(t)}
	for seed := range uint64(30) {
		inputs = append(inputs, chartgen.Random(rand.New(rand.NewPCG(seed, 1))).Input())
	}
	for i, in := range inputs {
		r := rand.New(rand.NewPCG(uint64(i), 3))
		first, err := sequencer.Build(in)
		if err != nil {
			t.Fatal(err)
		}
		want := planText(t, first)
		for run := range 100 {
			if run%2 == 1 {
				chartgen.Shuffle(in, r)
			}
			p, err := sequencer.Build(in)
			if err != nil {
				t.Fatal(err)
			}
			if got := planText(t, p); got != want {
				t.Fatalf("input %d, run %d: got:\n%s\nwant:\n%s", i, run, got, want)
			}
		}
	}
}

// needy returns an input whose plan has warnings and unmet needs of each kind, and several
// of most kinds.
func needy(t *testing.T) sequencer.Input {
	binding := `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: %s}, subjects: [{kind: ServiceAccount, name: to}]}`
	return sequencer.Input{Namespace: "default", Root: plans.V3("shop", plans.V2("old"), plans.V2("older")), Resources: append(
		plans.Resources("shop Job/a layer=a after=gone", "shop Job/b layer=b after=gone,lost", "shop/old Job/c layer=x", "shop/older Job/d layer=x",
			"shop Job/e after=a ns=one", "shop Job/e after=a ns=two", "shop Namespace/one", "shop Namespace/two"),
		annotated(t, inPodWith("serviceAccountName: to, imagePullSecrets: [{name: to}], volumes: [{configMap: {name: to}}]"), "helm.sh/layer: first"),
		plans.ParseResource(t, account), plans.ParseResource(t, secret), plans.ParseResource(t, configMap),
		plans.ParseResource(t, strings.Replace(binding, "%s", "z", 1)), plans.ParseResource(t, strings.Replace(binding, "%s", "y", 1)))}
}

// TestRemovalOfOnePlanIsItsReverse deletes everything in one plan: each node as a whole,
// once, and as soon as its dependents no longer exist.
func TestRemovalOfOnePlanIsItsReverse(t *testing.T) {
	forRandomCharts(t, func(t *testing.T, d *deployment, r *rand.Rand) {
		rec := recorded(r, d.plan)
		planned := removal.OrderOf([]*sequencer.Plan{d.plan}, func(r *sequencer.PlannedResource) (sequencer.ID, bool) { return r.ID, true })
		err := planned.Execute(t.Context(), func(ctx context.Context, g, after *removal.Group) error {
			if !slices.Equal(g.Resources, g.Node.Resources) {
				t.Errorf("seed %d: %s is removed in part", d.seed, g.Node.ID())
			}
			if after == nil {
				return rec.Deploy(ctx, g.Node, nil)
			}
			return rec.Deploy(ctx, g.Node, after.Node)
		})
		if err != nil || len(rec.Started) != len(d.plan.Nodes) || len(rec.StartedTwice) > 0 {
			t.Fatalf("seed %d: removed %d of %d nodes, %v twice, %v", d.seed, len(rec.Started), len(d.plan.Nodes), rec.StartedTwice, err)
		}
		free := map[string]time.Duration{} // when the dependents of a node no longer exist
		for _, n := range d.plan.Nodes {
			for _, res := range n.Resources {
				for _, first := range d.expected.Before(res.ID.Name) {
					id := d.nodeOf[first].ID()
					free[id] = max(free[id], rec.Ended[n.ID()])
				}
			}
		}
		for id, at := range rec.Started {
			if at != free[id] || rec.Ended[rec.After[id]] != at {
				t.Fatalf("seed %d: %s was removed at %s, after %q, but could be at %s", d.seed, id, at, rec.After[id], free[id])
			}
		}
	})
}
