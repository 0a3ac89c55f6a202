// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package orderfile

import (
	"path"
	"slices"
	"time"
)

// Set is a set of order files that apply to one release. A nil Set contains no files.
type Set struct{ files []*File }

// NewSet returns the set of files, the strongest first: the one given with --order, that of the
// root chart, and then those of the charts below it.
func NewSet(files []*File) *Set { return &Set{files: files} }

// ChartNode is a chart of a release.
type ChartNode struct {
	// Path is the path of the chart, such as shop/kafka.
	Path string
	// Disabled contains the names or aliases of the chart's disabled dependencies.
	Disabled []string
}

// ChartOrder is what order files declare about a chart.
type ChartOrder struct {
	// Named reports whether a rule names the chart without *. The order that the chart itself
	// declares is then used, too.
	Named bool
	// DependsOn names siblings of the chart, OwnDependsOn subcharts of it, and External external
	// objects. The lists contain each name once, in the order of the files and rules.
	DependsOn, OwnDependsOn, External []Reference
	// HookScope is annotation.HookScopeChart or annotation.HookScopeRelease; nil if no rule sets it.
	HookScope *Setting[string]
	// ReadinessTimeout is a default for the chart's own resources; nil if no rule sets it.
	ReadinessTimeout *Setting[time.Duration]
}

// Evaluation applies order files to the charts and resources of a release. A nil Evaluation says
// nothing. It is not safe for concurrent use.
type Evaluation struct {
	charts, resources ruleIndex
	// aboutDisabled contains the rules that are about disabled subcharts.
	aboutDisabled map[*rule]bool
	// criteria finds the rules that can match a resource.
	criteria criteriaIndex
}

// Evaluate applies the files to the charts of a release, the root chart first.
func (s *Set) Evaluate(charts []ChartNode) *Evaluation {
	e := &Evaluation{aboutDisabled: map[*rule]bool{}}
	if s == nil {
		return e
	}
	for i, f := range s.files {
		for j := range f.Charts {
			r := &f.Charts[j]
			e.charts.add(&rule{file: f, strength: i, pattern: r.path, place: r.Rule, chart: r})
		}
		for j := range f.Resources {
			r := &f.Resources[j]
			e.resources.add(&rule{file: f, strength: i, pattern: r.chart, place: r.Rule, resource: r})
		}
	}
	e.criteria.add(e.resources.rules)
	for _, c := range charts {
		for _, r := range e.charts.find(c.Path) {
			r.matched = true
		}
		for _, name := range c.Disabled {
			e.addDisabled(path.Join(c.Path, name))
		}
	}
	return e
}

// addDisabled determines which rules are about a disabled subchart, or about a chart below it.
func (e *Evaluation) addDisabled(chart string) {
	for _, index := range []*ruleIndex{&e.charts, &e.resources} {
		eachInSubtree(index.rules, chart, func(r *rule, segments []string) {
			if r.pattern.matchesAbove(segments) {
				e.aboutDisabled[r] = true
			}
		})
	}
}

// Chart returns what the files declare about a chart of the release.
func (e *Evaluation) Chart(chart string) ChartOrder {
	if e == nil {
		return ChartOrder{}
	}
	rules := e.charts.find(chart)
	return ChartOrder{
		Named:            len(e.charts.exact[chart]) > 0 || len(e.resources.exact[chart]) > 0,
		DependsOn:        unite(rules, KeyDependsOn, func(r *rule) []string { return r.siblings(chart) }),
		OwnDependsOn:     unite(rules, KeyOwnDependsOn, func(r *rule) []string { return r.chart.OwnDependsOn }),
		External:         unite(rules, KeyExternal, func(r *rule) []string { return r.chart.External }),
		HookScope:        strongest(rules, KeyHookScope, func(r *rule) string { return r.chart.HookScope }),
		ReadinessTimeout: strongest(rules, KeyReadinessTimeout, func(r *rule) time.Duration { return r.chart.ReadinessTimeout }),
	}
}

// siblings returns the siblings on which chart, which matches the rule, depends. A path with * can
// match charts that cannot depend on these siblings: one of the siblings itself, and the chart that
// the file belongs to.
func (r *rule) siblings(chart string) []string {
	if chart == r.file.Chart {
		return nil
	}
	self := path.Base(chart)
	return slices.DeleteFunc(slices.Clone(r.chart.DependsOn), func(name string) bool { return name == self })
}

// Unmatched returns the places of the rules that matched nothing, except those about disabled
// subcharts. It must be called after Resource was called for all resources of the release.
func (e *Evaluation) Unmatched() []Rule {
	if e == nil {
		return nil
	}
	all := slices.Concat(e.charts.rules, e.resources.rules)
	slices.SortStableFunc(all, func(a, b *rule) int { return a.strength - b.strength })
	var places []Rule
	for _, r := range all {
		if !r.matched && !e.aboutDisabled[r] {
			places = append(places, r.place)
		}
	}
	return places
}
