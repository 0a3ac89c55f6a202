// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ordered-helm/helm/internal/graphview"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/testutil/chartgen"
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

// recorded returns a recorder whose nodes take random times. Many of the times are equal.
func recorded(r *rand.Rand, p *sequencer.Plan) *recorder {
	rec := newRecorder()
	takes := map[*sequencer.Node]time.Duration{}
	for _, n := range p.Nodes {
		takes[n] = time.Duration(r.IntN(4)) * time.Second
	}
	rec.takes = func(n *sequencer.Node) time.Duration { return takes[n] }
	return rec
}

// before checks that one node had ended when the other started.
func (d *deployment) before(t *testing.T, rec *recorder, first, then string) {
	t.Helper()
	a, b := d.nodeOf[first].ID(), d.nodeOf[then].ID()
	end, ended := rec.ended[a]
	if !ended || a == b || end > rec.started[b] {
		t.Fatalf("seed %d: %s (%s) started at %s, but %s (%s) ended at %s", d.seed, then, b, rec.started[b], first, a, end)
	}
}

// TestEveryOrderIsKept checks, for random charts, that no node starts before all
// dependencies of its resources have ended, and that each node is deployed once.
func TestEveryOrderIsKept(t *testing.T) {
	pairs := 0
	forRandomCharts(t, func(t *testing.T, d *deployment, r *rand.Rand) {
		rec := recorded(r, d.plan)
		if err := sequencer.Execute(t.Context(), d.plan, rec.deploy); err != nil {
			t.Fatal(err)
		}
		if len(rec.started) != len(d.plan.Nodes) || len(rec.startedTwice) > 0 {
			t.Fatalf("seed %d: started %d of %d nodes, %v twice", d.seed, len(rec.started), len(d.plan.Nodes), rec.startedTwice)
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
		if err := sequencer.Execute(t.Context(), d.plan, rec.deploy); err != nil {
			t.Fatal(err)
		}
		for _, n := range d.plan.Nodes {
			var ready time.Duration
			for _, res := range n.Resources {
				for _, first := range d.expected.Before(res.ID.Name) {
					ready = max(ready, rec.ended[d.nodeOf[first].ID()])
				}
			}
			if rec.started[n.ID()] != ready {
				t.Fatalf("seed %d: %s started at %s, but could at %s", d.seed, n.ID(), rec.started[n.ID()], ready)
			}
			if after := rec.after[n.ID()]; rec.ended[after] != ready {
				t.Fatalf("seed %d: %s is said to start after %q, which ended at %s, not at %s", d.seed, n.ID(), after, rec.ended[after], ready)
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
		rec.fails = func(n *sequencer.Node) error {
			if n == bad {
				return failed
			}
			return nil
		}
		err := sequencer.Execute(t.Context(), d.plan, rec.deploy)
		var failure *sequencer.ExecutionError
		if !errors.As(err, &failure) || len(failure.Failed) != 1 || failure.Failed[0].Node != bad || !errors.Is(err, failed) {
			t.Fatalf("seed %d: got %v", d.seed, err)
		}
		if rec.running != 0 || len(rec.ended) != len(rec.started) {
			t.Fatalf("seed %d: %d nodes are still running", d.seed, rec.running)
		}
		notStarted := map[string]bool{}
		for _, n := range failure.NotStarted {
			notStarted[n.ID()] = true
		}
		for _, n := range d.plan.Nodes {
			at, started := rec.started[n.ID()]
			if started == notStarted[n.ID()] {
				t.Fatalf("seed %d: %s started %v, and is said not to have: %v", d.seed, n.ID(), started, !started)
			}
			if started && at > rec.ended[bad.ID()] {
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
	b.WriteString(describe(p))
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
				shuffle(in, r)
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

func shuffle(in sequencer.Input, r *rand.Rand) {
	r.Shuffle(len(in.Resources), func(i, j int) { in.Resources[i], in.Resources[j] = in.Resources[j], in.Resources[i] })
	var subcharts func(c *sequencer.Chart)
	subcharts = func(c *sequencer.Chart) {
		r.Shuffle(len(c.Subcharts), func(i, j int) { c.Subcharts[i], c.Subcharts[j] = c.Subcharts[j], c.Subcharts[i] })
		r.Shuffle(len(c.Dependencies), func(i, j int) {
			c.Dependencies[i], c.Dependencies[j] = c.Dependencies[j], c.Dependencies[i]
		})
		for _, sub := range c.Subcharts {
			subcharts(sub)
		}
	}
	subcharts(in.Root)
}

// needy returns an input whose plan has warnings and unmet needs of each kind, and several
// of most kinds.
func needy(t *testing.T) sequencer.Input {
	binding := `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: %s}, subjects: [{kind: ServiceAccount, name: to}]}`
	return sequencer.Input{Namespace: "default", Root: v3("shop", v2("old"), v2("older")), Resources: append(
		all("shop Job/a layer=a after=gone", "shop Job/b layer=b after=gone,lost", "shop/old Job/c layer=x", "shop/older Job/d layer=x",
			"shop Job/e after=a ns=one", "shop Job/e after=a ns=two", "shop Namespace/one", "shop Namespace/two"),
		annotated(t, inPodWith("serviceAccountName: to, imagePullSecrets: [{name: to}], volumes: [{configMap: {name: to}}]"), "helm.sh/layer: first"),
		object(t, account), object(t, secret), object(t, configMap),
		object(t, strings.Replace(binding, "%s", "z", 1)), object(t, strings.Replace(binding, "%s", "y", 1)))}
}
