// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package removal_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ordered-helm/helm/internal/execute"
	"github.com/ordered-helm/helm/internal/removal"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/testutil/plans"
)

// everything chooses all resources, identified only by name.
func everything(r *sequencer.PlannedResource) (sequencer.ID, bool) {
	return sequencer.ID{Name: r.ID.Name}, true
}

// only chooses the resources with the given names.
func only(names ...string) func(*sequencer.PlannedResource) (sequencer.ID, bool) {
	return func(r *sequencer.PlannedResource) (sequencer.ID, bool) {
		return sequencer.ID{Name: r.ID.Name}, slices.Contains(names, r.ID.Name)
	}
}

// removed executes a removal in which each group takes a second. It returns each group as
// "start node [resources]", with "!" if the group is awaited.
func removed(t *testing.T, r *removal.Order) string {
	t.Helper()
	started := map[*removal.Group]time.Duration{}
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		begin := time.Now()
		err := r.Execute(t.Context(), func(_ context.Context, g, _ *removal.Group) error {
			mu.Lock()
			if _, twice := started[g]; twice {
				t.Errorf("%s is removed twice", g.Node.ID())
			}
			started[g] = time.Since(begin)
			mu.Unlock()
			time.Sleep(time.Second)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	var b strings.Builder
	for _, g := range r.Groups {
		var names []string
		for _, res := range g.Resources {
			names = append(names, res.ID.String())
		}
		awaited := ""
		if g.Awaited {
			awaited = "!"
		}
		fmt.Fprintf(&b, "%s %s [%s]%s\n", started[g], g.Node.ID(), strings.Join(names, " "), awaited)
	}
	return b.String()
}

func TestPlanRemoval(t *testing.T) {
	abc := plans.Resources("shop Job/a layer=a", "shop Job/b layer=b after=a", "shop Job/c layer=c after=b", "shop Job/d")
	planOf := func(resources ...string) *sequencer.Plan {
		return plans.Build(t, plans.V3("shop"), plans.Resources(resources...))
	}
	tests := []struct {
		name   string
		plans  []*sequencer.Plan
		choose func(*sequencer.PlannedResource) (sequencer.ID, bool)
		want   []string
	}{
		{"no plan", nil, everything, nil},
		{"nothing chosen", []*sequencer.Plan{plans.Build(t, plans.V3("shop"), abc)}, only(), nil},
		{"no resources", []*sequencer.Plan{sequencer.SingleNode("shop")}, everything, nil},
		{
			"everything of one plan", []*sequencer.Plan{plans.Build(t, plans.V3("shop"), abc)}, everything,
			[]string{"0s shop [Job/d]!", "1s shop:c [Job/c]!", "2s shop:b [Job/b]!", "3s shop:a [Job/a]"},
		},
		{
			"over nodes in which nothing is chosen", []*sequencer.Plan{plans.Build(t, plans.V3("shop"), abc)}, only("a", "c"),
			[]string{"0s shop:c [Job/c]!", "1s shop:a [Job/a]"},
		},
		{
			"what has no order among it", []*sequencer.Plan{planOf("shop Job/a layer=a", "shop Job/b layer=b", "shop Job/c after=a,b")}, only("b", "a"),
			[]string{"0s shop:a [Job/a]", "0s shop:b [Job/b]"},
		},
		{
			"over charts in which nothing is chosen",
			[]*sequencer.Plan{plans.Build(t,
				plans.OwnAfter(plans.WithDependencies(plans.V3("shop", plans.V3("db"), plans.V3("app"), plans.V3("none")), plans.Dependency("db"), plans.Dependency("none", "db"), plans.Dependency("app", "none")), "app"),
				plans.Resources("shop/db Job/a", "shop/app Job/b", "shop/app Job/skipped", "shop Job/c"))},
			only("a", "b", "c"),
			[]string{"0s shop [Job/c]!", "1s shop/app [Job/b]!", "2s shop/db [Job/a]"},
		},
		{
			"part of a node, in the order of the node",
			[]*sequencer.Plan{planOf("shop Job/b layer=l", "shop Secret/c layer=l", "shop Job/a layer=l", "shop Job/left layer=l")}, only("a", "b", "c"),
			[]string{"0s shop:l [Secret/c Job/a Job/b]"},
		},
		{
			"the orders of two plans for what both have",
			[]*sequencer.Plan{
				planOf("shop Job/a layer=a", "shop Job/b layer=b after=a"),
				planOf("shop Job/b layer=a", "shop Job/c layer=b after=a"),
			}, everything,
			[]string{"0s shop:b [Job/c]!", "1s shop:b [Job/b]!", "2s shop:a [Job/a]"},
		},
		{
			"an order only in the second plan",
			[]*sequencer.Plan{planOf("shop Job/a layer=a", "shop Job/b layer=b"), planOf("shop Job/a layer=b after=a", "shop Job/b layer=a")}, everything,
			[]string{"0s shop:a [Job/a]!", "1s shop:b [Job/b]"},
		},
		{
			"the same twice", []*sequencer.Plan{plans.Build(t, plans.V3("shop"), abc), plans.Build(t, plans.V3("shop"), abc)}, everything,
			[]string{"0s shop [Job/d]!", "1s shop:c [Job/c]!", "2s shop:b [Job/b]!", "3s shop:a [Job/a]"},
		},
		{
			"a layer that another plan has in two, and in part",
			[]*sequencer.Plan{
				planOf("shop Job/a layer=l", "shop Job/b layer=l", "shop Job/c layer=l", "shop Job/d layer=l"),
				planOf("shop Job/a layer=l", "shop Job/b layer=l", "shop Job/c layer=m after=l"),
			}, everything,
			[]string{"0s shop:l [Job/d]", "0s shop:l [Job/c]!", "1s shop:l [Job/a Job/b]"},
		},
		{
			"a plan that contradicts the one before it orders only what it alone has",
			[]*sequencer.Plan{
				planOf("shop Job/a layer=a", "shop Job/b layer=b after=a"),
				planOf("shop Job/b layer=b", "shop Job/a layer=a after=b", "shop Job/new layer=new after=a", "shop Job/newer after=new"),
			}, everything,
			[]string{"0s shop:b [Job/b]!", "0s shop:(Job/newer) [Job/newer]!", "1s shop:a [Job/a]", "1s shop:new [Job/new]"},
		},
		{
			"a plan after one that contradicts is obeyed again",
			[]*sequencer.Plan{
				planOf("shop Job/a layer=a", "shop Job/b layer=b after=a"),
				planOf("shop Job/b layer=b", "shop Job/a layer=a after=b", "shop Job/c layer=c after=a"),
				planOf("shop Job/a layer=a", "shop Job/c layer=c after=a"),
			}, everything,
			[]string{"0s shop:b [Job/b]!", "0s shop:c [Job/c]!", "1s shop:a [Job/a]"},
		},
		{
			"beside a plan without an order",
			[]*sequencer.Plan{
				sequencer.Unordered("shop", plans.Resources("shop Job/a layer=a", "shop Job/b layer=b after=a", "shop Job/x"), "default"),
				planOf("shop Job/a layer=a", "shop Job/b layer=b after=a", "shop Job/c"),
			}, everything,
			[]string{"0s shop [Job/x]", "0s shop [Job/c]!", "1s shop [Job/b]!", "2s shop [Job/a]"},
		},
		{
			"an object that one plan has twice counts where it is deployed first",
			[]*sequencer.Plan{planOf("shop Job/a layer=a", "shop Job/b layer=b after=a", "shop CronJob/a layer=c after=b", "shop Job/d after=c")}, everything,
			[]string{"0s shop:(Job/d) [Job/d]!", "1s shop:b [Job/b]!", "2s shop:a [Job/a]"},
		},
		{
			"and there alone",
			[]*sequencer.Plan{planOf("shop Job/a layer=a", "shop CronJob/a layer=c after=x", "shop Job/d after=c")}, everything,
			[]string{"0s shop:a [Job/a]", "0s shop:(Job/d) [Job/d]"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := removal.OrderOf(tt.plans, tt.choose)
			want := ""
			if tt.want != nil {
				want = plans.Lines(tt.want...)
			}
			if got := removed(t, r); got != want {
				t.Errorf("got:\n%swant:\n%s", got, want)
			}
		})
	}
}

// TestRemovalGroupsThatGoTogether checks that such groups are in the order of the plan.
func TestRemovalGroupsThatGoTogether(t *testing.T) {
	var resources, first, second, third []string
	for i := range 40 {
		layer := fmt.Sprintf("%02d", i*7%40)
		resources = append(resources, fmt.Sprintf("shop Job/%s layer=%s", layer, layer))
		if i%2 == 0 {
			resources = append(resources, fmt.Sprintf("shop Job/after-%s after=%s", layer, layer))
		}
	}
	for i := range 40 {
		if layer := fmt.Sprintf("%02d", i); i%2 == 1 {
			first = append(first, "shop:"+layer)
		} else {
			second = append(second, "shop:(Job/after-"+layer+")")
			third = append(third, "shop:"+layer)
		}
	}
	var got []string
	for _, g := range removal.OrderOf([]*sequencer.Plan{plans.Build(t, plans.V3("shop"), plans.Resources(resources...))}, everything).Groups {
		got = append(got, g.Node.ID())
	}
	if want := slices.Concat(first, second, third); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// TestPlanRemovalAsksOnceForEachResource uses a choose function with side effects.
func TestPlanRemovalAsksOnceForEachResource(t *testing.T) {
	asked := map[*sequencer.PlannedResource]int{}
	plan := plans.Build(t, plans.V3("shop"), plans.Resources("shop Job/a layer=a", "shop Job/b after=a", "shop Job/c"))
	removal.OrderOf([]*sequencer.Plan{plan, plans.Build(t, plans.V3("shop"), plans.Resources("shop Job/a"))}, func(r *sequencer.PlannedResource) (sequencer.ID, bool) {
		asked[r]++
		return r.ID, asked[r] == 1
	})
	if len(asked) != 4 {
		t.Errorf("asked for %d resources, want 4", len(asked))
	}
	for r, times := range asked {
		if times != 1 {
			t.Errorf("%s: asked %d times", r.ID, times)
		}
	}
}

// TestRemovalThatFails checks that the error contains every node once, in the order of
// deletion.
func TestRemovalThatFails(t *testing.T) {
	bad, worse := errors.New("bad"), errors.New("worse")
	// The layer "l" is split into four groups, because in the second plan two of its
	// objects are in other layers and one does not exist.
	plans := []*sequencer.Plan{
		plans.Build(t, plans.V3("shop"), plans.Resources("shop Job/base layer=base", "shop Job/a layer=l after=base", "shop Job/b layer=l", "shop Job/c layer=l", "shop Job/d layer=l", "shop Job/top after=l")),
		plans.Build(t, plans.V3("shop"), plans.Resources("shop Job/a layer=a", "shop Job/b layer=b", "shop Job/d layer=l after=a,b")),
	}
	remove := func(fail map[string]error) error {
		return removal.OrderOf(plans, everything).Execute(t.Context(), func(_ context.Context, g, _ *removal.Group) error {
			return fail[g.Resources[0].ID.Name]
		})
	}
	tests := []struct {
		name string
		fail map[string]error
		want string
	}{
		{"nothing", nil, ""},
		{"a part of a node", map[string]error{"d": bad}, "layer \"l\" of chart shop: bad\nskipped (blocked by this failure): shop:base"},
		{"the first of all", map[string]error{"top": bad}, "Job/top of chart shop: bad\nskipped (blocked by this failure): shop:l, shop:base"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				err := remove(tt.fail)
				if got := fmt.Sprint(err); got != tt.want && (err != nil || tt.want != "") {
					t.Errorf("got:\n%v\nwant:\n%s", got, tt.want)
				}
			})
		})
	}
	t.Run("two parts of a node", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			err := removal.OrderOf(plans, everything).Execute(t.Context(), func(_ context.Context, g, _ *removal.Group) error {
				time.Sleep(time.Second)
				return map[string]error{"a": bad, "b": worse}[g.Resources[0].ID.Name]
			})
			var failure *execute.Error
			if !errors.As(err, &failure) || !errors.Is(err, bad) || !errors.Is(err, worse) || len(failure.Failed) != 1 || failure.Failed[0].Vertex.(*sequencer.Node).Layer != "l" {
				t.Errorf("got %v", err)
			}
		})
	})
}

// TestRemovalWhenTheContextEnds checks that no further group starts, and that the error has
// the reason.
func TestRemovalWhenTheContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the user said so")
	var got []string
	chain := plans.Build(t, plans.V3("shop"), plans.Resources("shop Job/a layer=a", "shop Job/b layer=b after=a", "shop Job/c layer=c after=b"))
	err := removal.OrderOf([]*sequencer.Plan{chain}, only("a", "b", "c")).Execute(ctx, func(_ context.Context, g, _ *removal.Group) error {
		got = append(got, g.Node.ID())
		cancel(why)
		return nil
	})
	var failure *execute.Error
	if !errors.Is(err, why) || !errors.As(err, &failure) || len(failure.NotStarted) != 2 || !slices.Equal(got, []string{"shop:c"}) {
		t.Errorf("removed %q, %v", got, err)
	}
	if err := removal.OrderOf(nil, everything).Execute(ctx, nil); err != nil {
		t.Errorf("there was nothing to do, but got %v", err)
	}
}

// TestUnordered checks that all resources are in one node, whatever they declare.
func TestUnordered(t *testing.T) {
	resources := append(plans.Resources(
		"shop Job/b layer=b after=a", "shop/sub Job/a layer=a", "elsewhere ConfigMap/c helm.sh/readiness-timeout=never", "shop Job/b ns=other", "shop/sub Job/b", "shop Widget/made"),
		plans.ParseResource(t, `{apiVersion: v1, kind: List, metadata: {annotations: {helm.sh/resource-policy: keep}}, items: [
			{apiVersion: v1, kind: Secret, metadata: {name: s, runHooksInParallel: true}},
			{kind: ConfigMapList, items: [{metadata: {name: l}}]},
			{apiVersion: v1, kind: Secret, metadata: {name: s, annotations: {helm.sh/resource-policy: delete}}}]}`),
		plans.ParseResource(t, `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: d}, spec: {group: "", scope: Cluster, names: {kind: Widget}}}`),
		plans.ParseResource(t, `{apiVersion: v1, kind: Pod, metadata: {generateName: p-}}`), plans.ParseResource(t, `{apiVersion: v1, kind: Pod, metadata: {generateName: p-}}`))
	p := sequencer.Unordered("shop", resources, "default")
	plans.ExpectPlan(t, p, plans.Lines("0 shop [Secret/s ConfigMap/c ConfigMap/l CustomResourceDefinition/d Pod/ Pod/ Job/a Job/b Job/b Widget/made]"))
	plans.ExpectWarnings(t, p)
	if len(p.Charts) != 1 || p.Charts[0].Path != "shop" || !p.Nodes[0].Unsequenced || p.Nodes[0].Awaited {
		t.Errorf("got %+v, charts %+v", p.Nodes[0], p.Charts)
	}
	got := map[string]*sequencer.PlannedResource{}
	for _, r := range p.Nodes[0].Resources {
		got[r.ID.String()+" "+r.ID.Namespace] = r
	}
	if r := got["Secret/s default"]; r == nil || r.Policy != "keep" || r.File != "shop/templates/all.yaml" || r.Object()["kind"] != "Secret" {
		t.Errorf("the first of two documents: %+v", r)
	}
	if r := got["Job/b default"]; r == nil || r.File != "shop/templates/b.yaml" {
		t.Errorf("the first of two documents: %+v", r)
	}
	if r := got["Widget/made "]; r == nil || !r.SelfDefined {
		t.Errorf("what the release defines itself: %+v", r)
	}
	if got["Job/b other"] == nil || got["ConfigMap/l default"] == nil {
		t.Errorf("got %v", got)
	}
}
