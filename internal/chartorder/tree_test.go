// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartorder_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ordered-helm/helm/internal/chartorder"
	"github.com/ordered-helm/helm/internal/orderfile"
)

// chart returns a chart whose declarations apply.
func chart(name string, subcharts ...*chartorder.Chart) *chartorder.Chart {
	return &chartorder.Chart{Name: name, Sequenced: true, Subcharts: subcharts}
}

// with changes a chart.
func with(c *chartorder.Chart, change func(*chartorder.Chart)) *chartorder.Chart {
	change(c)
	return c
}

// files parses an order file of the chart shop.
func files(t *testing.T, text string) *orderfile.Set {
	t.Helper()
	if text == "" {
		return nil
	}
	f, err := orderfile.Parse("shop/order.yaml", "shop", []byte("apiVersion: helm.sh/v1alpha1\nkind: Order\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	return orderfile.NewSet([]*orderfile.File{f})
}

// describe returns a line for each chart, which contains the fields that are set.
func describe(tree *chartorder.Tree) []string {
	var lines []string
	for _, c := range tree.Charts {
		line := []string{c.Path}
		add := func(name string, charts ...int) {
			for _, i := range charts {
				line = append(line, name+" "+tree.Charts[i].Path)
			}
		}
		if c.Parent >= 0 && !slices.Contains(tree.Charts[c.Parent].Subcharts, c.Index) {
			line = append(line, "unknown to its parent")
		}
		if !c.Sequenced {
			line = append(line, "not sequenced")
		}
		if c.Ignored {
			line = append(line, "ignored")
		}
		add("after", c.After...)
		add("own after", c.OwnAfter...)
		if c.HookScope >= 0 {
			add("hooks of", c.HookScope)
		}
		for _, e := range c.External {
			line = append(line, fmt.Sprintf("external %s %s (%s: %s)", e.Need, e.Timeout, e.Reason.File, e.Reason.Key))
		}
		lines = append(lines, strings.Join(line, ", "))
	}
	for _, d := range tree.Declarations {
		lines = append(lines, fmt.Sprintf("%s: %s %s: %d < %d %t", d.Reason.File, d.Reason.Key, d.Reason.Value, d.First, d.Then, d.Own))
	}
	return lines
}

func TestResolve(t *testing.T) {
	tests := []struct {
		name  string
		root  *chartorder.Chart
		files string
		want  []string
	}{
		{"subcharts are sorted by name", chart("shop", chart("web", chart("cache")), chart("db")), "", []string{"shop", "shop/db", "shop/web", "shop/web/cache"}},
		{"two versions of a subchart", chart("shop", chart("db"), chart("db", chart("x"))), "", []string{"shop", "shop/db"}},
		{
			"names, aliases and tags",
			with(chart("shop", chart("db"), chart("front"), chart("cache")), func(c *chartorder.Chart) {
				c.DependsOnSubcharts, c.DependsOnKey = []string{"data"}, "key"
				c.Dependencies = []chartorder.Dependency{
					{Name: "db", Tags: []string{"data"}}, {Name: "cache", Tags: []string{"data"}, DependsOn: []string{"data"}},
					{Name: "web", Alias: "front", DependsOn: []string{"cache", "off"}}, {Name: "off", Disabled: true, DependsOn: []string{"web"}},
				}
			}), "",
			[]string{
				"shop, own after shop/cache, own after shop/db", "shop/cache, after shop/db", "shop/db", "shop/front, after shop/cache",
				"shop/Chart.yaml: key data: 1 < 0 true", "shop/Chart.yaml: key data: 2 < 0 true",
				"shop/Chart.yaml: depends-on of dependency cache data: 2 < 1 false", "shop/Chart.yaml: depends-on of dependency front cache: 1 < 3 false",
			},
		},
		{
			"declarations of a chart that is not sequenced",
			with(chart("shop", chart("db")), func(c *chartorder.Chart) {
				c.Sequenced, c.Declares, c.DependsOnSubcharts, c.External = false, true, []string{"db"}, []string{"Secret/a"}
			}), "", []string{"shop, not sequenced, ignored", "shop/db"},
		},
		{
			"order files",
			chart("shop", with(chart("db"), func(c *chartorder.Chart) { c.Sequenced = false }), chart("web")),
			"charts: [{path: db, hookScope: chart, external: [Secret/a]}, {path: web, dependsOn: [db]}, {path: ., ownDependsOn: [web]}]",
			[]string{
				"shop, own after shop/web", "shop/db, hooks of shop/db, external Secret/a 0s (shop/order.yaml: charts[0].external)", "shop/web, after shop/db",
				"shop/order.yaml: charts[2].ownDependsOn web: 2 < 0 true", "shop/order.yaml: charts[1].dependsOn db: 1 < 2 false",
			},
		},
		{
			"hook scopes and external dependencies",
			chart("shop", with(chart("db", chart("x"), with(chart("y"), func(c *chartorder.Chart) { c.HookScope = "release" })), func(c *chartorder.Chart) {
				c.HookScope, c.External, c.ExternalKey, c.ExternalTimeout = "chart", []string{"Secret/a"}, "key", time.Minute
			})), "",
			[]string{"shop", "shop/db, hooks of shop/db, external Secret/a 1m0s (shop/charts/db/Chart.yaml: key)", "shop/db/x, hooks of shop/db", "shop/db/y"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tree := chartorder.NewTree(tt.root, files(t, tt.files))
			var count chartorder.DependencyCounter
			if err := tree.Resolve(&count); err != nil {
				t.Fatal(err)
			}
			if got := describe(tree); !slices.Equal(got, tt.want) {
				t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

// TestErrors checks that the errors about all charts are found, and that the valid declarations remain.
func TestErrors(t *testing.T) {
	root := with(chart("shop", with(chart("db"), func(c *chartorder.Chart) { c.HookScope = "chart" }), chart("web")), func(c *chartorder.Chart) {
		c.DependsOnSubcharts = []string{"dbb", "db"}
		c.Dependencies = []chartorder.Dependency{{Name: "db", HookScope: "release"}, {Name: "web", DependsOn: []string{"nothing"}}}
	})
	tree := chartorder.NewTree(root, files(t, "charts: [{path: web, dependsOn: [d, db]}]"))
	var count chartorder.DependencyCounter
	err := tree.Resolve(&count)
	want := `shop/Chart.yaml: helm.sh/depends-on/subcharts refers to unknown subchart "dbb": did you mean "db"?
shop/Chart.yaml: depends-on of dependency web refers to unknown subchart "nothing"; known subcharts: db, web
shop/order.yaml: charts[0].dependsOn refers to unknown subchart "d": did you mean "db"?
shop/charts/db/Chart.yaml: hookScope: "chart" conflicts with hookScope of dependency db: "release" in shop/Chart.yaml, for chart shop/db: remove one of them`
	if err == nil || err.Error() != want {
		t.Errorf("got:\n%v\nwant:\n%s", err, want)
	}
	if got := tree.Charts; !slices.Equal(got[0].OwnAfter, []int{1}) || !slices.Equal(got[2].After, []int{1}) || got[1].HookScope != 1 {
		t.Errorf("got %q", describe(tree))
	}
}
