// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"reflect"
	"testing"

	"github.com/ordered-helm/helm/internal/render"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// TestCharts checks that the declarations of charts, which are read before Helm processes
// the dependencies, are assigned to the right charts in the resulting tree.
func TestCharts(t *testing.T) {
	sub := func(name string) string { return "apiVersion: v2\nname: " + name + "\nversion: 1.2.3\n" }
	root := prepare(t, tree{
		"Chart.yaml": chartYAML("shop", `annotations:
  helm.sh/depends-on/subcharts: [data, extra]
dependencies:
- {name: redis, version: ~1.2.0, alias: cache, tags: [data]}
- {name: redis, version: 1.x, alias: sessions, depends-on: [cache]}
- {name: gone, version: 1.2.3, condition: gone.enabled, tags: [data], depends-on: [extra]}
- {name: missing, version: 9.9.9}
`),
		"values.yaml":             "gone: {enabled: false}\n",
		"charts/redis/Chart.yaml": sub("redis"),
		"charts/gone/Chart.yaml":  sub("gone"),
		"charts/extra/Chart.yaml": "apiVersion: v2\nname: extra\nversion: 0.0.1\nannotations: {helm.sh/sequencing: enabled, depends-on.helm.sh/subcharts: x}\n",
	}).root
	want := &sequencer.Chart{
		Name: "shop", Sequenced: true, Declares: true, DependsOnSubcharts: []string{"data", "extra"}, DependsOnKey: "helm.sh/depends-on/subcharts",
		Dependencies: []sequencer.Dependency{
			{Name: "redis", Alias: "cache", Tags: []string{"data"}},
			{Name: "redis", Alias: "sessions", DependsOn: []string{"cache"}},
			{Name: "gone", Tags: []string{"data"}, DependsOn: []string{"extra"}, Disabled: true},
			{Name: "missing", Disabled: true},
		},
	}
	subcharts := map[string]*sequencer.Chart{}
	for _, s := range root.Subcharts {
		subcharts[s.Name] = s
	}
	root.Subcharts = nil
	if !reflect.DeepEqual(root, want) {
		t.Errorf("got %+v\nwant %+v", root, want)
	}
	for name, want := range map[string]*sequencer.Chart{
		"cache": {Name: "cache"}, "sessions": {Name: "sessions"},
		"extra": {Name: "extra", Sequenced: true, Declares: true, DependsOnSubcharts: []string{"x"}, DependsOnKey: "depends-on.helm.sh/subcharts"},
	} {
		if !reflect.DeepEqual(subcharts[name], want) {
			t.Errorf("%s: got %+v", name, subcharts[name])
		}
	}
	if len(subcharts) != 3 {
		t.Errorf("subcharts %v", subcharts)
	}
}

// TestChartsOfTwoVersions checks that each alias gets the declaration of its own version.
func TestChartsOfTwoVersions(t *testing.T) {
	root := prepare(t, tree{
		"Chart.yaml":          chartYAML("shop", "dependencies: [{name: db, version: ^1.0.0, alias: old}, {name: db, version: ^2.0.0, alias: new}]\n"),
		"charts/a/Chart.yaml": "apiVersion: v2\nname: db\nversion: 1.5.0\n",
		"charts/b/Chart.yaml": "apiVersion: v3\nname: db\nversion: 2.5.0\n",
	}).root
	for _, sub := range root.Subcharts {
		if sub.Sequenced != (sub.Name == "new") {
			t.Errorf("%s: sequenced %v", sub.Name, sub.Sequenced)
		}
	}
	if len(root.Subcharts) != 2 {
		t.Errorf("subcharts %v", root.Subcharts)
	}
}

// TestChartsOfVersionsThatBothFit checks that the declaration is that of the version that
// Helm selected, which can be any matching version.
func TestChartsOfVersionsThatBothFit(t *testing.T) {
	for range 20 {
		p := prepare(t, tree{
			"Chart.yaml":          chartYAML("shop", "dependencies: [{name: db, version: '>=1.0.0', alias: any}]\n"),
			"charts/a/Chart.yaml": "apiVersion: v2\nname: db\nversion: 1.5.0\n",
			"charts/b/Chart.yaml": "apiVersion: v3\nname: db\nversion: 2.5.0\n",
		})
		took := p.chart.Dependencies()[0].Metadata.APIVersion
		if sub := p.root.Subcharts[0]; len(p.root.Subcharts) != 1 || sub.Sequenced != (took == "v3") {
			t.Fatalf("Helm took the one of %s, which is sequenced: %v", took, sub.Sequenced)
		}
	}
}

// TestChartsThatHelmLeavesUnaliased includes a chart twice. In the second copy, Helm drops
// the aliases of subcharts. The order in both copies must be the same.
func TestChartsThatHelmLeavesUnaliased(t *testing.T) {
	p := prepare(t, tree{
		"Chart.yaml": chartYAML("shop", "dependencies: [{name: app, version: 1.0.0, alias: one}, {name: app, version: 1.0.0, alias: two}]\n"),
		"charts/app/Chart.yaml": chartYAML("app", `annotations: {helm.sh/depends-on/subcharts: store}
dependencies: [{name: db, version: 1.0.0, alias: store}, {name: web, version: 1.0.0, depends-on: store}]
`),
		"charts/app/templates/x.yaml":            "kind: A\nmetadata: {name: '{{ .Chart.Name }}'}\n",
		"charts/app/charts/db/Chart.yaml":        chartYAML("db", ""),
		"charts/app/charts/db/templates/x.yaml":  "kind: A\nmetadata: {name: '{{ .Template.BasePath }}'}\n",
		"charts/app/charts/web/Chart.yaml":       chartYAML("web", ""),
		"charts/app/charts/web/templates/x.yaml": "kind: A\nmetadata: {name: '{{ .Template.BasePath }}'}\n",
	})
	r, err := p.render()
	if err != nil {
		t.Fatal(err)
	}
	resources, err := render.Resources(r.Manifest, nil, p.root, false)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := sequencer.Build(sequencer.Input{Root: p.root, Resources: resources})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, n := range plan.Nodes {
		got[n.Chart] = n.Level
	}
	want := map[string]int{"shop/one/store": 0, "shop/one/web": 1, "shop/one": 1, "shop/two/db": 0, "shop/two/web": 1, "shop/two": 1}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestChartsInsideAnAliasedOne checks undeclared charts inside an aliased chart. Their
// files have the original name of the chart in their paths, but not in the tree.
func TestChartsInsideAnAliasedOne(t *testing.T) {
	p := prepare(t, tree{
		"Chart.yaml":                            chartYAML("shop", "dependencies: [{name: app, version: 1.0.0, alias: one}]\n"),
		"charts/app/Chart.yaml":                 chartYAML("app", ""),
		"charts/app/charts/db/Chart.yaml":       chartYAML("db", ""),
		"charts/app/charts/db/templates/x.yaml": "kind: A\nmetadata: {name: a}\n",
	})
	r, err := p.render()
	if err != nil {
		t.Fatal(err)
	}
	resources, err := render.Resources(r.Manifest, nil, p.root, false)
	if err != nil || len(resources) != 1 || resources[0].Chart != "shop/one/db" {
		t.Errorf("got %+v, %v", resources, err)
	}
}

// TestAChartThatIsRenderedTwice checks a chart to which Helm has already applied the
// aliases, because a program renders it for the second time.
func TestAChartThatIsRenderedTwice(t *testing.T) {
	files := tree{
		"Chart.yaml":              chartYAML("shop", "dependencies: [{name: redis, version: 1.0.0, alias: cache}, {name: web, version: 1.0.0, depends-on: redis}]\n"),
		"charts/redis/Chart.yaml": chartYAML("redis", ""),
		"charts/web/Chart.yaml":   chartYAML("web", ""),
	}
	first := prepare(t, files)
	again := prepareChart(t, first.chart)
	if !reflect.DeepEqual(again.root, first.root) {
		t.Errorf("got %+v\nwant %+v", again.root, first.root)
	}
}
