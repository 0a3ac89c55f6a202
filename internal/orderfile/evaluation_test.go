// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package orderfile

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ordered-helm/helm/internal/annotation"
)

// testFile is an order file in a test: the path of its chart, and its text without the header.
type testFile struct{ chart, text string }

// newSet parses files, the strongest first. The name of each is that of its chart, and a number.
func newSet(t testing.TB, files ...testFile) *Set {
	t.Helper()
	var parsed []*File
	for i, f := range files {
		p, err := Parse(fmt.Sprintf("%s#%d", f.chart, i), f.chart, []byte(header+f.text))
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, p)
	}
	return NewSet(parsed)
}

// shop is a tree of charts. The subchart search is disabled.
var shop = []ChartNode{
	{Path: "shop", Disabled: []string{"search"}}, {Path: "shop/kafka"}, {Path: "shop/kafka/zookeeper"},
	{Path: "shop/kafka/exporter"}, {Path: "shop/web"}, {Path: "shop/kafka-ui"},
}

// names formats references as NAME@FILE:RULE.
func names(references []Reference) string {
	var all []string
	for _, r := range references {
		all = append(all, r.Name+"@"+r.Rule.File+":"+r.Rule.Path)
	}
	return strings.Join(all, " ")
}

// value formats a setting as VALUE@FILE:RULE.
func value[T any](s *Setting[T]) string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf("%v@%s:%s", s.Value, s.Rule.File, s.Rule.Path)
}

// TestChart checks what several files declare about charts.
//   - "path | the chart to which the rule applies"
//   - "relative to the chart that the file belongs to"
//   - "and kafka/zookeeper is a subchart of its subchart kafka"
//   - "This chart does not depend on itself, but on the other charts in the list"
//   - "Several rules can apply to a chart or a resource"
//   - "Their lists are combined, so a rule can add dependencies, but not remove them"
//   - "If several rules set hookScope, readinessTimeout, layer or readiness.timeout, one of them takes precedence"
//   - "An order file applies only to the subtree of its chart"
func TestChart(t *testing.T) {
	tests := []struct {
		name  string
		files []testFile
		// want maps the paths of charts to what formatChart returns. It is empty for all others.
		want map[string]string
	}{
		{"no files", nil, nil},
		{"paths are relative to the chart of the file", []testFile{
			{"shop", "charts: [{path: kafka, dependsOn: [web]}]"},
			{"shop/kafka", "charts: [{path: exporter, dependsOn: [zookeeper]}, {path: ., hookScope: chart}]"},
		}, map[string]string{
			"shop/kafka":          "named; dependsOn web@shop#0:charts[0]; hookScope chart@shop/kafka#1:charts[1]",
			"shop/kafka/exporter": "named; dependsOn zookeeper@shop/kafka#1:charts[0]",
		}},
		{"a resource rule names a chart", []testFile{{"shop", "resources: [{match: {chart: web}}, {match: {chart: 'k*'}}, {match: {}}]"}}, map[string]string{
			"shop/web": "named",
		}},
		{"a path with * does not name a chart", []testFile{{"shop", "charts: [{path: 'k*', hookScope: chart}]"}}, map[string]string{
			"shop/kafka": "hookScope chart@shop#0:charts[0]", "shop/kafka-ui": "hookScope chart@shop#0:charts[0]",
		}},
		{"no chart depends on itself", []testFile{{"shop", "charts: [{path: '**', dependsOn: [kafka, web, zookeeper]}]"}}, map[string]string{
			"shop/kafka":           "dependsOn web@shop#0:charts[0] zookeeper@shop#0:charts[0]",
			"shop/kafka/zookeeper": "dependsOn kafka@shop#0:charts[0] web@shop#0:charts[0]",
			"shop/kafka/exporter":  "dependsOn kafka@shop#0:charts[0] web@shop#0:charts[0] zookeeper@shop#0:charts[0]",
			"shop/web":             "dependsOn kafka@shop#0:charts[0] zookeeper@shop#0:charts[0]",
			"shop/kafka-ui":        "dependsOn kafka@shop#0:charts[0] web@shop#0:charts[0] zookeeper@shop#0:charts[0]",
		}},
		{"the later rule of a file wins", []testFile{{"shop", "charts: [{path: web, hookScope: chart, readinessTimeout: 1m}, {path: w*, hookScope: release}, {path: web}]"}}, map[string]string{
			"shop/web": "named; hookScope release@shop#0:charts[1]; readinessTimeout 1m0s@shop#0:charts[0]",
		}},
		{"the stronger file wins", []testFile{
			{"shop", "charts: [{path: kafka/exporter, readinessTimeout: 1m}]"},
			{"shop", "charts: [{path: kafka/exporter, readinessTimeout: 2m, hookScope: release}]"},
			{"shop/kafka", "charts: [{path: exporter, readinessTimeout: 3m, hookScope: chart}]"},
		}, map[string]string{
			"shop/kafka/exporter": "named; hookScope release@shop#1:charts[0]; readinessTimeout 1m0s@shop#0:charts[0]",
		}},
		{"lists are united", []testFile{
			{"shop", "charts: [{path: kafka, external: [Secret/b], ownDependsOn: [exporter]}, {path: kafka, external: [Secret/a, Secret/b]}]"},
			{"shop/kafka", "charts: [{path: ., external: [Secret/c, Secret/a], ownDependsOn: [zookeeper, exporter]}]"},
		}, map[string]string{
			"shop/kafka": "named; ownDependsOn exporter@shop#0:charts[0] zookeeper@shop/kafka#1:charts[0]; " +
				"external Secret/b@shop#0:charts[0] Secret/a@shop#0:charts[1] Secret/c@shop/kafka#1:charts[0]",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := newSet(t, tt.files...).Evaluate(shop)
			for _, c := range shop {
				if got := formatChart(e.Chart(c.Path)); got != tt.want[c.Path] {
					t.Errorf("%s:\ngot  %s\nwant %s", c.Path, got, tt.want[c.Path])
				}
			}
		})
	}
}

// formatChart formats what files declare about a chart.
func formatChart(o ChartOrder) string {
	named := ""
	if o.Named {
		named = "named"
	}
	return join(named, prefix("dependsOn ", names(o.DependsOn)), prefix("ownDependsOn ", names(o.OwnDependsOn)),
		prefix("external ", names(o.External)), prefix("hookScope ", value(o.HookScope)), prefix("readinessTimeout ", value(o.ReadinessTimeout)))
}

// formatResource formats what files declare about a resource.
func formatResource(o ResourceOrder) string {
	return join(prefix("layer ", value(o.Layer)), prefix("dependsOn ", names(o.DependsOn)), prefix("external ", names(o.External)),
		prefix("success ", expressions(o.Success)), prefix("failure ", expressions(o.Failure)), prefix("timeout ", value(o.Timeout)))
}

func expressions(list []annotation.ReadinessExpression) string {
	var all []string
	for _, e := range list {
		all = append(all, e.String())
	}
	return strings.Join(all, " | ")
}

func prefix(name, value string) string {
	if value == "" {
		return ""
	}
	return name + value
}

func join(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "; ")
}

// resources are resources of the charts in shop.
var resources = map[string]Resource{
	"db":     {Chart: "shop/kafka/zookeeper", Group: "apps", Kind: "StatefulSet", Name: "shop-zookeeper", Labels: map[string]string{"tier": "db", "app": "zk"}},
	"config": {Chart: "shop/kafka", Kind: "ConfigMap", Name: "shop-config"},
	"web":    {Chart: "shop/web", Group: "apps", Kind: "Deployment", Name: "shop-web", Labels: map[string]string{"tier": "web"}},
	"old":    {Chart: "shop/web", Group: "extensions", Kind: "Deployment", Name: "old"},
}

// TestResource checks what several files declare about resources.
//   - "which means all resources"
//   - "match.chart | the chart of the resources"
//   - "match.kind | their kind"
//   - "match.name | their name"
//   - "match.labels | labels that must all have these values"
//   - "Several rules can apply to a chart or a resource"
//   - "Their lists are combined, so a rule can add dependencies, but not remove them"
//   - "If several rules set hookScope, readinessTimeout, layer or readiness.timeout, one of them takes precedence"
func TestResource(t *testing.T) {
	tests := []struct {
		name  string
		files []testFile
		// want maps the keys of resources to what formatResource returns.
		want map[string]string
	}{
		{"no files", nil, nil},
		{"a file without rules about resources", []testFile{{"shop", "charts: [{path: web}]"}}, nil},
		{"a kind", []testFile{{"shop", "resources: [{match: {kind: Deployment}, layer: a}]"}}, map[string]string{
			"web": "layer a@shop#0:resources[0]", "old": "layer a@shop#0:resources[0]",
		}},
		{"a kind and its group", []testFile{{"shop", "resources: [{match: {kind: Deployment.apps}, layer: a}]"}}, map[string]string{
			"web": "layer a@shop#0:resources[0]",
		}},
		{"a name", []testFile{{"shop", "resources: [{match: {name: shop-config}, layer: a}, {match: {name: 'shop-*k*'}, layer: b}]"}}, map[string]string{
			"config": "layer a@shop#0:resources[0]", "db": "layer b@shop#0:resources[1]",
		}},
		{"labels", []testFile{{"shop", "resources: [{match: {labels: {tier: db, app: zk}}, layer: a}, {match: {labels: {tier: web, app: ''}}, layer: b}]"}}, map[string]string{
			"db": "layer a@shop#0:resources[0]",
		}},
		{"charts", []testFile{{"shop", "resources: [{match: {chart: web, name: old}, layer: a}, {match: {chart: 'kafka/*'}, layer: b}, {match: {chart: .}, layer: c}]"}}, map[string]string{
			"old": "layer a@shop#0:resources[0]", "db": "layer b@shop#0:resources[1]",
		}},
		{"a file of a subchart applies to its subtree", []testFile{{"shop/kafka", "resources: [{match: {}, layer: a}]"}}, map[string]string{
			"config": "layer a@shop/kafka#0:resources[0]", "db": "layer a@shop/kafka#0:resources[0]",
		}},
		{"precedence", []testFile{
			{"shop", "resources: [{match: {chart: kafka}, layer: a}, {match: {name: 'shop-*'}, readiness: {timeout: 1s}}]"},
			{"shop", "resources: [{match: {name: shop-config}, layer: b, readiness: {timeout: 2s}}, {match: {name: shop-zookeeper}, layer: c}, {match: {kind: StatefulSet}, layer: d}]"},
		}, map[string]string{
			"config": "layer a@shop#0:resources[0]; timeout 1s@shop#0:resources[1]",
			"db":     "layer d@shop#1:resources[2]; timeout 1s@shop#0:resources[1]",
			"web":    "timeout 1s@shop#0:resources[1]",
		}},
		{"united lists", []testFile{
			{"shop", "resources: [{match: {name: old}, dependsOn: [b], external: [Secret/a], readiness: {success: ['{.a} == 1'], failure: ['{.f} == 1']}}]"},
			{"shop/web", "resources: [{match: {name: 'o*'}, dependsOn: [a, b], external: [Secret/b], readiness: {success: ['{.b} == 1', '{.a} == 1']}}]"},
		}, map[string]string{
			"old": "dependsOn b@shop#0:resources[0] a@shop/web#1:resources[0]; external Secret/a@shop#0:resources[0] Secret/b@shop/web#1:resources[0]; " +
				"success {.a} == 1 | {.b} == 1; failure {.f} == 1",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := newSet(t, tt.files...).Evaluate(shop)
			for key, r := range resources {
				order, err := e.Resource(r)
				if got := formatResource(order); err != nil || got != tt.want[key] {
					t.Errorf("%s: %v\ngot  %s\nwant %s", key, err, got, tt.want[key])
				}
			}
		})
	}
}

func TestTooManyExpressions(t *testing.T) {
	list := func(name string) string {
		var all []string
		for i := range annotation.MaxExpressions {
			all = append(all, fmt.Sprintf(`"{.%s%d} == 1"`, name, i))
		}
		return strings.Join(all, ", ")
	}
	for _, key := range []string{"success", "failure"} {
		e := newSet(t, testFile{"shop", fmt.Sprintf(`resources:
- match: {kind: Deployment}
  readiness: {%[1]s: [%[2]s]}
- match: {name: shop-web}
  readiness: {%[1]s: ["{.b} == 1"]}`, key, list("a"))}).Evaluate(shop)
		if _, err := e.Resource(resources["old"]); err != nil {
			t.Error(err)
		}
		_, err := e.Resource(resources["web"])
		if got, is := errors.AsType[*Error](err); !is || got.Path != "resources[1].readiness."+key || got.Line != 6 {
			t.Errorf("got %v", err)
		}
	}
}

// TestUnmatched checks which rules match nothing.
//   - "A rule that matches nothing causes a warning, unless it is about a disabled subchart"
func TestUnmatched(t *testing.T) {
	tests := []struct {
		name  string
		files []testFile
		want  string
	}{
		{"no files", nil, ""},
		{"rules that match", []testFile{{"shop", "charts: [{path: web}, {path: '*'}, {path: '**'}]\nresources: [{match: {}}, {match: {name: old}}]"}}, ""},
		{"charts", []testFile{{"shop", "charts: [{path: wbe}, {path: kafka/*/x}, {path: '**/exporter'}]"}}, "shop#0:3: charts[0], shop#0:3: charts[1]"},
		{"resources", []testFile{{"shop", "resources: [{match: {kind: Job}}, {match: {chart: wbe}}, {match: {chart: web, name: shop-config}}]"}},
			"shop#0:3: resources[0], shop#0:3: resources[1], shop#0:3: resources[2]"},
		{"disabled subcharts", []testFile{{"shop", "charts: [{path: search}, {path: search/db}, {path: '**/search'}, {path: 'se*'}]\nresources: [{match: {chart: search, kind: Job}}]"}}, ""},
		{"only one rule is about the disabled subchart", []testFile{{"shop", "charts: [{path: search}, {path: kafka/search}, {path: searc}]"}},
			"shop#0:3: charts[1], shop#0:3: charts[2]"},
		{"the chart of another file with the same beginning", []testFile{{"shop/kafka", "charts: [{path: '*'}]"}, {"shop/web", "charts: [{path: '*'}]"}},
			"shop/web#1:3: charts[0]"},
		{"the order of the files", []testFile{{"shop", "charts: [{path: a}]\nresources: [{match: {chart: a}}]"}, {"shop/web", "charts: [{path: b}]"}},
			"shop#0:3: charts[0], shop#0:4: resources[0], shop/web#1:3: charts[0]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := newSet(t, tt.files...).Evaluate(shop)
			for _, r := range resources {
				if _, err := e.Resource(r); err != nil {
					t.Fatal(err)
				}
			}
			var got []string
			for _, r := range e.Unmatched() {
				got = append(got, r.String())
			}
			if all := strings.Join(got, ", "); all != tt.want {
				t.Errorf("got  %s\nwant %s", all, tt.want)
			}
		})
	}
}

// TestNothing checks that sets and evaluations that are nil or empty can be used.
func TestNothing(t *testing.T) {
	var none *Set
	for _, e := range []*Evaluation{nil, none.Evaluate(shop), NewSet(nil).Evaluate(nil)} {
		order, err := e.Resource(resources["web"])
		if got := formatChart(e.Chart("shop")) + formatResource(order); got != "" || err != nil || e.Unmatched() != nil {
			t.Errorf("got %q, %v", got, err)
		}
	}
}

func TestSettingOfDuration(t *testing.T) {
	e := newSet(t, testFile{"shop", "charts: [{path: web, readinessTimeout: 90s}]"}).Evaluate(shop)
	want := Setting[time.Duration]{Value: 90 * time.Second, Rule: Rule{"shop#0", "charts[0]", 3}, Key: "readinessTimeout"}
	if got := e.Chart("shop/web").ReadinessTimeout; got == nil || *got != want {
		t.Errorf("got %+v", got)
	}
}
