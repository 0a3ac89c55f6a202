// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/execute"
	"github.com/ordered-helm/helm/internal/ordererror"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/testutil/plans"
)

// scoped sets the hook scope of a chart.
func scoped(c *sequencer.Chart, scope string) *sequencer.Chart {
	c.HookScope = scope
	return c
}

// hooksOf returns a hook of a chart with these events.
func hooksOf(chart string, events ...release.HookEvent) sequencer.Hook {
	return sequencer.Hook{Chart: chart, Events: events}
}

// installHooks are a hook before and one after an installation.
var installHooks = []release.HookEvent{release.HookPreInstall, release.HookPostInstall}

// after returns, for each vertex of a plan, everything on which it depends, in the order of the plan, as
// "ID < ID ID".
func after(t *testing.T, p *sequencer.Plan) string {
	t.Helper()
	var mu sync.Mutex
	done := map[string][]string{}
	var order []string
	err := execute.Plan(t.Context(), p, func(_ context.Context, v, _ sequencer.Vertex) error {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, v.ID())
		done[v.ID()] = nil
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	graph, all := sequencer.Graph(p), p.Vertices()
	var lines []string
	for i, v := range all {
		var before []string
		for j, reachable := range graph.Reachable(i)[:len(all)] {
			if reachable {
				before = append(before, all[j].ID())
			}
		}
		slices.Sort(before)
		lines = append(lines, strings.TrimSpace(v.ID()+" < "+strings.Join(before, ", ")))
	}
	if len(order) != len(all) {
		t.Errorf("%d of %d were visited", len(order), len(all))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// TestHookScope checks between which nodes the hooks of charts run.
//   - "the hooks of a chart and its subcharts run in the place of the chart in the order"
//   - "A chart that sets hookScope decides for its subcharts, too, unless they set it themselves"
//   - "A chart without resources runs its hooks where its nodes would be"
func TestHookScope(t *testing.T) {
	chain := func(c *sequencer.Chart) *sequencer.Chart { // app depends on db
		return plans.WithDependencies(c, plans.Dependency("db"), plans.Dependency("app", "db"))
	}
	all := plans.Resources("shop/db Job/a", "shop/app Job/b", "shop Job/c")
	tests := []struct {
		name      string
		root      *sequencer.Chart
		resources []sequencer.Resource
		hooks     []sequencer.Hook
		operation sequencer.Operation
		want      []string
	}{
		{
			"no scope", chain(plans.V3("shop", plans.V3("db"), plans.V3("app"))), all,
			[]sequencer.Hook{hooksOf("shop/db", installHooks...)}, sequencer.Install,
			[]string{"shop <", "shop/app < shop/db", "shop/db <"},
		},
		{
			"hooks before and after a chart", chain(plans.V3("shop", scoped(plans.V3("db"), "chart"), plans.V3("app"))), all,
			[]sequencer.Hook{hooksOf("shop/db", installHooks...)}, sequencer.Install,
			[]string{
				"shop <", "shop/app < shop/db, shop/db:(post-install hooks), shop/db:(pre-install hooks)",
				"shop/db < shop/db:(pre-install hooks)",
				"shop/db:(post-install hooks) < shop/db, shop/db:(pre-install hooks)", "shop/db:(pre-install hooks) <",
			},
		},
		{
			"hooks of a chart that depends on another", chain(plans.V3("shop", plans.V3("db"), scoped(plans.V3("app"), "chart"))), all,
			[]sequencer.Hook{hooksOf("shop/app", installHooks...)}, sequencer.Install,
			[]string{
				"shop <", "shop/app < shop/app:(pre-install hooks), shop/db",
				"shop/app:(post-install hooks) < shop/app, shop/app:(pre-install hooks), shop/db", "shop/app:(pre-install hooks) < shop/db", "shop/db <",
			},
		},
		{
			"hooks of other operations", chain(plans.V3("shop", scoped(plans.V3("db"), "chart"), plans.V3("app"))), all,
			[]sequencer.Hook{hooksOf("shop/db", release.HookPreUpgrade, release.HookTest, release.HookPreDelete)}, sequencer.Install,
			[]string{"shop <", "shop/app < shop/db", "shop/db <"},
		},
		{
			"only shown", chain(plans.V3("shop", scoped(plans.V3("db"), "chart"), plans.V3("app"))), all,
			[]sequencer.Hook{hooksOf("shop/db", installHooks...)}, "",
			[]string{"shop <", "shop/app < shop/db", "shop/db <"},
		},
		{
			"a chart without nodes", chain(plans.V3("shop", scoped(plans.V3("db"), "chart"), plans.V3("app"))), plans.Resources("shop/app Job/b"),
			[]sequencer.Hook{hooksOf("shop/db", installHooks...)}, sequencer.Install,
			[]string{
				"shop/app < shop/db:(post-install hooks), shop/db:(pre-install hooks)",
				"shop/db:(post-install hooks) < shop/db:(pre-install hooks)", "shop/db:(pre-install hooks) <",
			},
		},
		{
			"the hooks of subcharts run with those of the chart", plans.V3("shop", scoped(plans.V3("db", plans.V3("store")), "chart")), plans.Resources("shop/db Job/a", "shop/db/store Job/b"),
			[]sequencer.Hook{hooksOf("shop/db/store", release.HookPreInstall)}, sequencer.Install,
			[]string{"shop/db < shop/db:(pre-install hooks)", "shop/db/store < shop/db:(pre-install hooks)", "shop/db:(pre-install hooks) <"},
		},
		{
			"the scope of an inner chart wins", plans.V3("shop", scoped(plans.V3("db", scoped(plans.V3("store"), "chart")), "chart")), plans.Resources("shop/db Job/a", "shop/db/store Job/b"),
			[]sequencer.Hook{hooksOf("shop/db/store", release.HookPreInstall), hooksOf("shop/db", release.HookPreInstall)}, sequencer.Install,
			[]string{
				"shop/db < shop/db:(pre-install hooks)", "shop/db/store < shop/db/store:(pre-install hooks), shop/db:(pre-install hooks)",
				"shop/db/store:(pre-install hooks) < shop/db:(pre-install hooks)", "shop/db:(pre-install hooks) <",
			},
		},
		{
			"an inner chart returns to the scope of the release", plans.V3("shop", scoped(plans.V3("db", scoped(plans.V3("store"), "release")), "chart")), plans.Resources("shop/db Job/a", "shop/db/store Job/b"),
			[]sequencer.Hook{hooksOf("shop/db/store", release.HookPreInstall)}, sequencer.Install,
			[]string{"shop/db <", "shop/db/store <"},
		},
		{
			"declared by the parent, for a chart that declares nothing", plans.WithDependencies(plans.V3("shop", plans.V2("db")), sequencer.Dependency{Name: "db", HookScope: "chart"}),
			plans.Resources("shop/db Job/a"), []sequencer.Hook{hooksOf("shop/db", release.HookPreInstall)}, sequencer.Install,
			[]string{"shop/db < shop/db:(pre-install hooks)", "shop/db:(pre-install hooks) <"},
		},
		{
			"declared by a chart that is not ordered", plans.V3("shop", scoped(plans.V2("db"), "chart")),
			plans.Resources("shop/db Job/a"), []sequencer.Hook{hooksOf("shop/db", release.HookPreInstall)}, sequencer.Install,
			[]string{"shop/db <"},
		},
		{
			"an upgrade", scoped(plans.V3("shop"), "chart"), plans.Resources("shop Job/a"), []sequencer.Hook{hooksOf("shop", release.HookPreUpgrade)}, sequencer.Upgrade,
			[]string{"shop < shop:(pre-upgrade hooks)", "shop:(pre-upgrade hooks) <"},
		},
		{
			"a rollback", scoped(plans.V3("shop"), "chart"), plans.Resources("shop Job/a"), []sequencer.Hook{hooksOf("shop", release.HookPostRollback)}, sequencer.Rollback,
			[]string{"shop <", "shop:(post-rollback hooks) < shop"},
		},
		{
			"an uninstall follows the plan in reverse", scoped(plans.V3("shop"), "chart"), plans.Resources("shop Job/a"),
			[]sequencer.Hook{hooksOf("shop", release.HookPreDelete, release.HookPostDelete)}, sequencer.Uninstall,
			[]string{"shop < shop:(post-delete hooks)", "shop:(post-delete hooks) <", "shop:(pre-delete hooks) < shop, shop:(post-delete hooks)"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := sequencer.Build(sequencer.Input{Root: tt.root, Resources: tt.resources, Namespace: "default", Hooks: tt.hooks, Operation: tt.operation})
			if err != nil {
				t.Fatal(err)
			}
			if got, want := after(t, p), strings.Join(tt.want, "\n"); got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// TestHookScopeOfLeaves checks which nodes are waited for because hooks come after them.
func TestHookScopeOfLeaves(t *testing.T) {
	root := scoped(plans.V3("shop"), "chart")
	p, err := sequencer.Build(sequencer.Input{
		Root: root, Resources: plans.Resources("shop Job/a layer=a", "shop Job/b layer=b after=a", "shop Job/c layer=c"), Namespace: "default",
		Hooks: []sequencer.Hook{hooksOf("shop", installHooks...)}, Operation: sequencer.Install,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range p.Nodes {
		if isLeaf := n.Layer != "a"; n.Awaited == isLeaf || n.AwaitedByStep != isLeaf {
			t.Errorf("%s: awaited %t, by a step %t", n.ID(), n.Awaited, n.AwaitedByStep)
		}
	}
	without := plans.Build(t, plans.V3("shop"), plans.Resources("shop Job/a"))
	if n := without.Nodes[0]; n.Awaited || n.AwaitedByStep || len(without.Steps) > 0 {
		t.Errorf("got %+v", n)
	}
}

// TestConflictingHookScopes checks that two declarations for one chart must agree.
//   - "Values for one chart that differ are an error that names both"
func TestConflictingHookScopes(t *testing.T) {
	root := plans.WithDependencies(plans.V3("shop", scoped(plans.V3("db"), "release")), sequencer.Dependency{Name: "db", HookScope: "chart"})
	_, err := sequencer.Build(sequencer.Input{Root: root, Namespace: "default"})
	want := `shop/charts/db/Chart.yaml: hookScope: "release" conflicts with hookScope of dependency db: "chart" in shop/Chart.yaml, for chart shop/db: remove one of them`
	if _, is := errors.AsType[*ordererror.ConflictError](err); !is || err.Error() != want {
		t.Errorf("got %v", err)
	}
	root.Subcharts[0].HookScope = "chart"
	if _, err := sequencer.Build(sequencer.Input{Root: root, Namespace: "default"}); err != nil {
		t.Error(err)
	}
}
