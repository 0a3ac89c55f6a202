// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package execute_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ordered-helm/helm/internal/execute"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/testutil/plans"
)

// chain returns a plan with a slow layer and an independent chain of fast layers.
func chain(t *testing.T) *sequencer.Plan {
	return plans.Build(t, plans.V3("shop"), plans.Resources("shop Job/slow layer=slow",
		"shop Job/a layer=a", "shop Job/b layer=b after=a", "shop Job/c layer=c after=b", "shop Job/end after=slow,c"))
}

func slowly(n *sequencer.Node) time.Duration {
	if n.Layer == "slow" {
		return time.Hour
	}
	return time.Second
}

// TestASlowBranchDoesNotDelayAnIndependentOne checks that each node starts as soon as its
// own dependencies are ready, not when a level is ready.
func TestASlowBranchDoesNotDelayAnIndependentOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := plans.NewRecorder()
		r.Takes = slowly
		if err := execute.Plan(t.Context(), chain(t), plans.OfNodes(r.Deploy)); err != nil {
			t.Fatal(err)
		}
		for id, want := range map[string]time.Duration{
			"shop:slow": 0, "shop:a": 0, "shop:b": time.Second, "shop:c": 2 * time.Second, "shop:(Job/end)": time.Hour,
		} {
			if r.Started[id] != want {
				t.Errorf("%s started after %s, want %s", id, r.Started[id], want)
			}
		}
	})
}

// TestAfterAFailureNothingNewStarts checks that running nodes finish, and that all failures
// are reported.
func TestAfterAFailureNothingNewStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := plans.Build(t, plans.V3("shop"), plans.Resources(
			"shop Job/bad layer=bad", "shop Job/worse layer=worse", "shop Job/long layer=long", "shop Job/next after=long", "shop Job/last after=bad", "shop ConfigMap/rest"))
		r := plans.NewRecorder()
		bad, worse := errors.New("bad"), errors.New("worse")
		r.Takes = func(n *sequencer.Node) time.Duration {
			return map[string]time.Duration{"bad": time.Second, "worse": 2 * time.Second, "long": time.Minute}[n.Layer]
		}
		r.Fails = func(n *sequencer.Node) error { return map[string]error{"bad": bad, "worse": worse}[n.Layer] }
		err := execute.Plan(t.Context(), p, plans.OfNodes(r.Deploy))
		if since := time.Since(r.Begin); since != time.Minute {
			t.Errorf("returned after %s: what was started must end, after 1m", since)
		}
		var failure *execute.Error
		if !errors.As(err, &failure) || !errors.Is(err, bad) || !errors.Is(err, worse) {
			t.Fatalf("got %v", err)
		}
		if len(failure.Failed) != 2 || plans.Node(failure.Failed[0].Vertex).Layer != "bad" || plans.Node(failure.Failed[1].Vertex).Layer != "worse" {
			t.Errorf("failed: %v", failure.Failed)
		}
		want := "layer \"bad\" of chart shop: bad\nlayer \"worse\" of chart shop: worse\nskipped (blocked by this failure): shop:(Job/last), shop:(Job/next), shop"
		if err.Error() != want {
			t.Errorf("got:\n%v\nwant:\n%s", err, want)
		}
		if len(r.Started) != 3 || r.Running != 0 {
			t.Errorf("started %v, still running %d", r.Order, r.Running)
		}
	})
}

func TestPlanWhenTheContextEnds(t *testing.T) {
	t.Run("before", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("the user said so")
		cancel(why)
		r := plans.NewRecorder()
		err := execute.Plan(ctx, chain(t), plans.OfNodes(r.Deploy))
		var failure *execute.Error
		if !errors.Is(err, why) || !errors.As(err, &failure) || len(failure.NotStarted) != 5 || len(r.Order) > 0 {
			t.Errorf("got %v, started %v", err, r.Order)
		}
	})
	t.Run("meanwhile", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
			defer cancel()
			r := plans.NewRecorder()
			r.Takes = slowly
			err := execute.Plan(ctx, chain(t), plans.OfNodes(r.Deploy))
			var failure *execute.Error
			if !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &failure) || len(failure.Failed) > 0 {
				t.Fatalf("got %v", err)
			}
			if got := strings.Join(r.Order, " "); len(r.Order) != 3 || r.Running != 0 || len(failure.NotStarted) != 2 || strings.Contains(got, "shop:c") {
				t.Errorf("started %s, not started %d", got, len(failure.NotStarted))
			}
		})
	})
	t.Run("with the last node", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		p := plans.Build(t, plans.V3("shop"), plans.Resources("shop ConfigMap/a"))
		err := execute.Plan(ctx, p, func(context.Context, sequencer.Vertex, sequencer.Vertex) error {
			cancel()
			return nil
		})
		if err != nil {
			t.Errorf("everything was done, but got %v", err)
		}
	})
}

func TestPlanOfNothing(t *testing.T) {
	if err := execute.Plan(t.Context(), plans.Build(t, plans.V3("shop"), nil), nil); err != nil {
		t.Error(err)
	}
	visited := 0
	err := execute.Plan(t.Context(), sequencer.SingleNode("shop"), func(context.Context, sequencer.Vertex, sequencer.Vertex) error {
		visited++
		return nil
	})
	if visited != 1 || err != nil {
		t.Errorf("visited %d times, %v", visited, err)
	}
}
