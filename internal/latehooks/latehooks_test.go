// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package latehooks_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/latehooks"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// resources returns a resource of each of the charts.
func resources(charts ...string) []sequencer.Resource {
	var all []sequencer.Resource
	for i, c := range charts {
		object := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": fmt.Sprint("c", i)}}
		all = append(all, sequencer.Resource{Chart: c, File: c + ".yaml", Object: object})
	}
	return all
}

// hook returns a Job of the chart that is a hook of these events.
func hook(name, chart string, events ...release.HookEvent) latehooks.Hook {
	return latehooks.Hook{Chart: chart, File: chart + "/" + name, Kind: "Job", Name: name, Events: events}
}

// shop is a chart in which app depends on db.
func shop(change func(shop, db, app *sequencer.Chart)) *sequencer.Chart {
	db, app := &sequencer.Chart{Name: "db", Subcharts: []*sequencer.Chart{{Name: "backup"}}}, &sequencer.Chart{Name: "app"}
	root := &sequencer.Chart{
		Name: "shop", Sequenced: true, Subcharts: []*sequencer.Chart{db, app},
		Dependencies: []sequencer.Dependency{{Name: "db"}, {Name: "app", DependsOn: []string{"db"}}},
	}
	if change != nil {
		change(root, db, app)
	}
	return root
}

// TestFind checks which hooks run later than one may expect.
//   - "hooks of a subchart run only after all resources of the release"
//   - "hookScope: release says that it is intended"
func TestFind(t *testing.T) {
	all := []string{"shop", "shop/db", "shop/db/backup", "shop/app"}
	migrate := []latehooks.Hook{hook("migrate", "shop/db", release.HookPostInstall, release.HookPreInstall)}
	tests := []struct {
		name   string
		change func(shop, db, app *sequencer.Chart)
		with   []string // the charts with resources
		hooks  []latehooks.Hook
		want   []string
	}{
		{
			"a sibling depends on the chart", nil, all, migrate,
			[]string{"the hook Job/migrate (post-install) of chart shop/db runs only after all resources of the release, although chart shop/app depends on chart shop/db: " +
				"to run it before that, set hookScope: chart for chart shop/db; hookScope: release says that the order is intended"},
		},
		{
			"several hooks", nil, all,
			[]latehooks.Hook{hook("z", "shop/db", release.HookPostUpgrade, release.HookPostRollback), hook("a", "shop/db", release.HookPostInstall)},
			[]string{"the hooks Job/a (post-install), Job/z (post-upgrade, post-rollback) of chart shop/db run only after all resources of the release, although chart shop/app depends on chart shop/db: " +
				"to run them before that"},
		},
		{
			"the chart around it depends on the chart",
			func(shop, _, _ *sequencer.Chart) {
				shop.DependsOnSubcharts, shop.Dependencies = []string{"db"}, []sequencer.Dependency{{Name: "db"}, {Name: "app"}}
			},
			all, migrate, []string{"although chart shop depends on chart shop/db"},
		},
		{
			"several charts depend on the chart",
			func(shop, _, _ *sequencer.Chart) { shop.DependsOnSubcharts = []string{"db"} },
			all, migrate, []string{"although the charts shop, shop/app depend on chart shop/db"},
		},
		{
			"a hook of a subchart of the chart", nil, all, []latehooks.Hook{hook("dump", "shop/db/backup", release.HookPostInstall)},
			[]string{"the hook Job/dump (post-install) of chart shop/db runs"},
		},
		{
			"a hook of a subchart on which the chart depends itself",
			func(_, db, _ *sequencer.Chart) {
				db.Sequenced, db.DependsOnSubcharts, db.Dependencies = true, []string{"backup"}, []sequencer.Dependency{{Name: "backup"}}
			},
			all, []latehooks.Hook{hook("dump", "shop/db/backup", release.HookPostInstall)},
			[]string{"although chart shop/db depends on chart shop/db/backup"},
		},
		{"hookScope: chart", func(_, db, _ *sequencer.Chart) { db.Sequenced, db.HookScope = true, "chart" }, all, migrate, nil},
		{"hookScope: chart of the chart around it", func(shop, _, _ *sequencer.Chart) { shop.HookScope = "chart" }, all, migrate, nil},
		{"hookScope: release", func(shop, _, _ *sequencer.Chart) { shop.Dependencies[0].HookScope = "release" }, all, migrate, nil},
		{
			"hookScope: release of the chart around it", func(_, db, _ *sequencer.Chart) { db.Sequenced, db.HookScope = true, "release" }, all,
			[]latehooks.Hook{hook("dump", "shop/db/backup", release.HookPostInstall)}, nil,
		},
		{
			"other events", nil, all,
			[]latehooks.Hook{hook("a", "shop/db", release.HookPreInstall, release.HookPreUpgrade, release.HookTest, release.HookPostDelete, release.HookPreDelete)}, nil,
		},
		{"nothing depends on the chart", nil, all, []latehooks.Hook{hook("a", "shop/app", release.HookPostInstall), hook("b", "shop", release.HookPostInstall)}, nil},
		{"the dependent has no resources", nil, []string{"shop", "shop/db"}, migrate, nil},
		{"a chart that is not part of the release", nil, all, []latehooks.Hook{hook("a", "shop/other", release.HookPostInstall)}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			plan, err := sequencer.Build(sequencer.Input{Root: shop(tt.change), Resources: resources(tt.with...)})
			if err != nil {
				t.Fatal(err)
			}
			got := latehooks.Notes(plan, tt.hooks)
			if !slices.EqualFunc(got, tt.want, strings.Contains) {
				t.Errorf("got  %s\nwant %s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

// TestHooks checks that the chart of a hook is that of its template.
func TestHooks(t *testing.T) {
	got := latehooks.Hooks([]*release.Hook{{Kind: "Job", Name: "a", Path: "shop/x.yaml", Events: []release.HookEvent{release.HookPostInstall}}},
		func(file string) string { return strings.TrimSuffix(file, "/x.yaml") })
	if len(got) != 1 || got[0].String() != "Job/a (post-install)" || got[0].Chart != "shop" || got[0].File != "shop/x.yaml" {
		t.Errorf("got %+v", got)
	}
}
