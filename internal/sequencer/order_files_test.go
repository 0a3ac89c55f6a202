// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer_test

import (
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/orderfile"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/testutil/plans"
)

// orderFiles parses order files, given as pairs of a chart and the lines after apiVersion and kind.
func orderFiles(t *testing.T, texts ...string) *orderfile.Set {
	t.Helper()
	var files []*orderfile.File
	for i := 0; i < len(texts); i += 2 {
		f, err := orderfile.Parse(strings.ReplaceAll(texts[i], "/", "/charts/")+"/order.yaml", texts[i], []byte("apiVersion: helm.sh/v1alpha1\nkind: Order\n"+texts[i+1]))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return orderfile.NewSet(files)
}

// disabled disables the order that a chart declares.
func disabled(c *sequencer.Chart) *sequencer.Chart {
	c.OptedOut = true
	return c
}

// TestOrderFiles checks what rules of order files change in the graph.
//   - "dependsOn | siblings of the chart that must be ready before its subtree"
//   - "ownDependsOn | subcharts of the chart that must be ready before its own resources"
//   - "dependsOn | layers of the same chart that must be ready first"
//   - "A path that contains * can match a chart that dependsOn names"
//   - "unless this annotation is"
//   - "Names under dependsOn do not have this effect"
func TestOrderFiles(t *testing.T) {
	shop := func() *sequencer.Chart { return plans.V2("shop", plans.V2("db"), plans.V2("app")) }
	all := []string{"shop/db Job/a", "shop/app Job/b", "shop Job/c"}
	tests := []struct {
		name      string
		root      *sequencer.Chart
		resources []string
		files     []string
		want      []string
	}{
		{
			"charts that declare nothing", shop(), all, []string{"shop", "charts: [{path: app, dependsOn: [db]}, {path: ., ownDependsOn: [app]}]"},
			[]string{"shop < shop/app, shop/db", "shop/app < shop/db", "shop/db <"},
		},
		{
			"subtrees", plans.V2("shop", plans.V2("db", plans.V2("store")), plans.V2("app", plans.V2("worker"))), []string{"shop/db Job/a", "shop/db/store Job/b", "shop/app Job/c", "shop/app/worker Job/d"},
			[]string{"shop", "charts: [{path: app, dependsOn: [db]}, {path: db, ownDependsOn: [store]}]"},
			[]string{"shop/app < shop/db, shop/db/store", "shop/app/worker < shop/db, shop/db/store", "shop/db < shop/db/store", "shop/db/store <"},
		},
		{
			"charts that declare an order", plans.V3("shop", plans.V3("db"), plans.V3("app")), all, []string{"shop", "charts: [{path: app, dependsOn: [db]}, {path: ., ownDependsOn: [app]}]"},
			[]string{"shop < shop/app, shop/db", "shop/app < shop/db", "shop/db <"},
		},
		{
			"a path that matches the sibling, too", shop(), all, []string{"shop", "charts: [{path: '*', dependsOn: [db]}]"},
			[]string{"shop <", "shop/app < shop/db", "shop/db <"},
		},
		{
			"layers", shop(), []string{"shop/db Job/a", "shop/db Job/b", "shop/db Job/c"},
			[]string{"shop", "resources: [{match: {chart: db, name: a}, layer: first}, {match: {chart: db, name: b}, layer: second, dependsOn: [first]}]"},
			[]string{"shop/db < shop/db:first, shop/db:second", "shop/db:first <", "shop/db:second < shop/db:first"},
		},
		{
			"layers belong to their chart", shop(), []string{"shop/db Job/a", "shop/db Job/b", "shop/app Job/c"},
			[]string{"shop", "resources: [{match: {name: a}, layer: first}, {match: {}, dependsOn: [first]}]"},
			[]string{"shop/app:(Job/c) <", "shop/db:(Job/b) < shop/db:first", "shop/db:first <"},
		},
		{
			"resources of a layer that a rule makes depend on it", shop(), []string{"shop/db Job/a", "shop/db Job/b"},
			[]string{"shop", "resources: [{match: {chart: db, name: a}, layer: first}, {match: {chart: db}, dependsOn: [first]}]"},
			[]string{"shop/db:(Job/b) < shop/db:first", "shop/db:first <"},
		},
		{
			"a chart that is named declares its own order", shop(), []string{"shop/db Job/a layer=one", "shop/db Job/b layer=two after=one"},
			[]string{"shop", "charts: [{path: db}]"}, []string{"shop/db:one <", "shop/db:two < shop/db:one"},
		},
		{
			"a chart that a pattern matches does not", shop(), []string{"shop/db Job/a layer=one", "shop/db Job/b layer=two after=one"},
			[]string{"shop", "charts: [{path: '*'}]"}, []string{"shop/db <"},
		},
		{
			"nor does one that is named under dependsOn", shop(), []string{"shop/db Job/a layer=one", "shop/db Job/b layer=two after=one", "shop/app Job/c"},
			[]string{"shop", "charts: [{path: app, dependsOn: [db]}]"}, []string{"shop/app < shop/db", "shop/db <"},
		},
		{
			"nor does one that has disabled it", plans.V2("shop", disabled(plans.V2("db"))), []string{"shop/db Job/a layer=one", "shop/db Job/b layer=two after=one"},
			[]string{"shop", "charts: [{path: db}]"}, []string{"shop/db <"},
		},
		{
			"the outer file wins", shop(), []string{"shop/db Job/a", "shop/db Job/b"},
			[]string{"shop", "resources: [{match: {chart: db, name: a}, layer: outer}]", "shop/db", "resources: [{match: {name: a}, layer: inner}, {match: {name: b}, dependsOn: [outer]}]"},
			[]string{"shop/db:(Job/b) < shop/db:outer", "shop/db:outer <"},
		},
		{
			"a hook scope", shop(), all, []string{"shop", "charts: [{path: db, hookScope: chart}]"},
			[]string{"shop <", "shop/app <", "shop/db < shop/db:(pre-install hooks)", "shop/db:(pre-install hooks) <"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := sequencer.Build(sequencer.Input{
				Root: tt.root, Resources: plans.Resources(tt.resources...), Namespace: "default", OrderFiles: orderFiles(t, tt.files...),
				Operation: sequencer.Install, Hooks: []sequencer.Hook{{Chart: "shop/db", Events: []release.HookEvent{release.HookPreInstall}}},
			})
			if err != nil {
				t.Fatal(err)
			}
			if got, want := after(t, p), strings.Join(tt.want, "\n"); got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// TestOrderFileReadiness checks the readiness that order files declare.
//   - "readinessTimeout | how long each of the chart's own resources can take to become ready"
//   - "readinessTimeout is a default"
func TestOrderFileReadiness(t *testing.T) {
	files := orderFiles(t, "shop", `charts: [{path: ., readinessTimeout: 5m}]
resources: [{match: {name: a}, readiness: {success: ["{.ready} == 1"], failure: ["{.bad} == 1"], timeout: 1m}}]`)
	p, err := sequencer.Build(sequencer.Input{
		Root: plans.V2("shop", plans.V2("db")), Namespace: "default", OrderFiles: files,
		Resources: plans.Resources("shop Job/a", "shop Job/b", "shop Job/c helm.sh/readiness-timeout=2m", "shop/db Job/d"),
	})
	if err != nil {
		t.Fatal(err)
	}
	planned := map[string]*sequencer.PlannedResource{}
	for _, n := range p.Nodes {
		for _, r := range n.Resources {
			planned[r.ID.Name] = r
		}
	}
	for name, want := range map[string]time.Duration{"a": time.Minute, "b": 5 * time.Minute, "c": 2 * time.Minute, "d": 0} {
		if r := planned[name]; r.Timeout != want || len(r.Success) != len(r.Failure) || (len(r.Success) == 1) != (name == "a") {
			t.Errorf("got %+v", r)
		}
	}
}

// TestOrderFileErrors checks the errors about rules: they name the chart, the file and the rule.
//   - "If this value differs from that of an annotation or a field of Chart.yaml that is used, the error names both"
func TestOrderFileErrors(t *testing.T) {
	tests := []struct {
		name      string
		resources []string
		files     []string
		want      string
	}{
		{
			"unknown sibling", nil, []string{"shop", "charts: [{path: app, dependsOn: [dbb]}]"},
			`shop/order.yaml: charts[0].dependsOn refers to unknown subchart "dbb": did you mean "db"?`,
		},
		{
			"unknown subchart", nil, []string{"shop", "charts: [{path: ., ownDependsOn: [nothing]}]"},
			`shop/order.yaml: charts[0].ownDependsOn refers to unknown subchart "nothing"`,
		},
		{
			"cycle of charts", nil, []string{"shop", "charts: [{path: app, dependsOn: [db]}, {path: db, dependsOn: [app]}]"},
			"dependency cycle:\n  subchart app depends on subchart db (shop/order.yaml: charts[0].dependsOn, for chart shop/app)\n  subchart db depends on subchart app (shop/order.yaml: charts[1].dependsOn, for chart shop/db)\nremove one of these dependencies",
		},
		{
			"cycle of layers", []string{"shop/db Job/a", "shop/db Job/b"},
			[]string{"shop", "resources: [{match: {name: a}, layer: one, dependsOn: [two]}, {match: {name: b}, layer: two, dependsOn: [one]}]"},
			"layer \"one\" depends on layer \"two\" (shop/order.yaml: resources[0].dependsOn, for chart shop/db)",
		},
		{
			"another layer", []string{"shop/db Job/a layer=one"}, []string{"shop", "resources: [{match: {chart: db, name: a}, layer: two}]"},
			`shop/order.yaml: resources[0].layer: "two" conflicts with helm.sh/layer: "one" in shop/db/templates/a.yaml, for Job/a: remove one of them`,
		},
		{
			"another timeout", []string{"shop/db Job/a helm.sh/readiness-timeout=1m"}, []string{"shop", "resources: [{match: {chart: db, name: a}, readiness: {timeout: 2m}}]"},
			`shop/order.yaml: resources[0].readiness.timeout: "2m0s" conflicts with helm.sh/readiness-timeout: "1m0s" in shop/db/templates/a.yaml, for Job/a: remove one of them`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := sequencer.Build(sequencer.Input{
				Root: plans.V2("shop", plans.V2("db"), plans.V2("app")), Resources: plans.Resources(tt.resources...), Namespace: "default", OrderFiles: orderFiles(t, tt.files...),
			})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v\nwant %s", err, tt.want)
			}
		})
	}
}

// TestOrderFileWarnings checks the warnings about rules that match nothing.
//   - "A rule that matches nothing causes a warning, unless it is about a disabled subchart"
func TestOrderFileWarnings(t *testing.T) {
	root := plans.WithDependencies(plans.V2("shop", plans.V2("db")), plans.Disabled(plans.Dependency("cache")))
	p, err := sequencer.Build(sequencer.Input{Root: root, Namespace: "default", OrderFiles: orderFiles(t, "shop", `charts: [{path: cache}, {path: nothing}]
resources: [{match: {name: x}}, {match: {chart: db}, dependsOn: [none]}]`), Resources: plans.Resources("shop/db Job/a")})
	if err != nil {
		t.Fatal(err)
	}
	plans.ExpectWarnings(t, p, `shop/order.yaml: Job/a depends on the unknown layer "none" of chart shop/db`,
		"shop/order.yaml:3: charts[1] matches nothing in this release", "shop/order.yaml:4: resources[0] matches nothing in this release")
}
