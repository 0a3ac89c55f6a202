// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package orderfile

import (
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ordered-helm/helm/internal/annotation"
)

// treeCharts are the paths of the charts in random tests.
var treeCharts = []string{"r", "r/a", "r/b", "r/a/a", "r/a/b", "r/b/b", "r/a/b/c"}

// pick returns one of values at random.
func pick[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

// randomFile returns the text of an order file.
func randomFile(r *rand.Rand) string {
	var b strings.Builder
	b.WriteString("charts:\n")
	for range r.IntN(5) {
		fmt.Fprintf(&b, "- {path: %q", pick(r, ".", "a", "b", "a/b", "*", "**", "a/*", "**/b", "a/**", "c"))
		fmt.Fprintf(&b, ", ownDependsOn: [%s], external: [%s]", pick(r, "", "a", "b", "b, c"), pick(r, "", "Secret/a", "Secret/b"))
		fmt.Fprintf(&b, ", hookScope: %q, readinessTimeout: %q}\n", pick(r, "", "chart", "release"), pick(r, "", "1s", "2s"))
	}
	for range r.IntN(3) {
		fmt.Fprintf(&b, "- {path: %q, dependsOn: [%s]}\n", pick(r, "*", "**", "**/*", "a/*", "*/b"), pick(r, "a", "b", "a, b, c"))
	}
	b.WriteString("resources:\n")
	for range r.IntN(6) {
		var match []string
		for _, criterion := range []string{
			"chart: " + fmt.Sprintf("%q", pick(r, ".", "a", "*", "**", "a/*", "**/b")), "kind: " + pick(r, "Job", "Job.batch", "Job.other", "Pod"),
			"name: " + fmt.Sprintf("%q", pick(r, "x", "y", "x*", "*-y", "*")), "labels: " + pick(r, "{l: v}", "{l: w}", "{l: v, m: v}"),
		} {
			if r.IntN(3) == 0 {
				match = append(match, criterion)
			}
		}
		fmt.Fprintf(&b, "- {match: {%s}, layer: %q, dependsOn: [%s]", strings.Join(match, ", "), pick(r, "", "l1", "l2"), pick(r, "", "l3", "l4, l3"))
		fmt.Fprintf(&b, ", external: [%s], readiness: {success: [%s], failure: [%s], timeout: %q}}\n", pick(r, "", "Secret/a", "Secret/b, Secret/a"),
			pick(r, "", "a == 1", "b == 1, a == 1"), pick(r, "", "c == 1", "d == 1"), pick(r, "", "1s", "2s"))
	}
	return b.String()
}

// reference is a simple implementation of the evaluation: it looks at each rule of each file.
type reference struct{ files []*File }

// matchesPath reports whether a path in a file matches a chart.
func (reference) matchesPath(f *File, pattern, chart string) bool {
	if chart != f.Chart && !strings.HasPrefix(chart, f.Chart+"/") {
		return false
	}
	relative := strings.TrimPrefix(strings.TrimPrefix(chart, f.Chart), "/")
	if relative == "" {
		relative = ownChart
	}
	return simpleMatchSegments(segmentsOf(pattern), segmentsOf(relative))
}

func (n reference) chart(chart string) ChartOrder {
	var o ChartOrder
	for _, f := range n.files {
		hookScope, timeout := (*Setting[string])(nil), (*Setting[time.Duration])(nil)
		for _, r := range f.Charts {
			if !n.matchesPath(f, r.Path, chart) {
				continue
			}
			o.Named = o.Named || !strings.Contains(r.Path, "*")
			for _, name := range r.DependsOn {
				if chart != f.Chart && name != path.Base(chart) {
					o.DependsOn = addReference(o.DependsOn, Reference{name, r.Rule, KeyDependsOn})
				}
			}
			for _, name := range r.OwnDependsOn {
				o.OwnDependsOn = addReference(o.OwnDependsOn, Reference{name, r.Rule, KeyOwnDependsOn})
			}
			for _, name := range r.External {
				o.External = addReference(o.External, Reference{name, r.Rule, KeyExternal})
			}
			if r.HookScope != "" {
				hookScope = &Setting[string]{r.HookScope, r.Rule, KeyHookScope}
			}
			if r.ReadinessTimeout != 0 {
				timeout = &Setting[time.Duration]{r.ReadinessTimeout, r.Rule, KeyReadinessTimeout}
			}
		}
		for _, r := range f.Resources {
			c := r.Match.Chart
			o.Named = o.Named || c != "" && !strings.Contains(c, "*") && n.matchesPath(f, c, chart)
		}
		o.HookScope, o.ReadinessTimeout = either(o.HookScope, hookScope), either(o.ReadinessTimeout, timeout)
	}
	return o
}

func (n reference) resource(resource Resource) ResourceOrder {
	var o ResourceOrder
	for _, f := range n.files {
		layer, timeout := (*Setting[string])(nil), (*Setting[time.Duration])(nil)
		for _, r := range f.Resources {
			if !n.matches(f, r.Match, resource) {
				continue
			}
			for _, name := range r.DependsOn {
				o.DependsOn = addReference(o.DependsOn, Reference{name, r.Rule, KeyDependsOn})
			}
			for _, name := range r.External {
				o.External = addReference(o.External, Reference{name, r.Rule, KeyExternal})
			}
			o.Success, o.Failure = addExpressions(o.Success, r.Success), addExpressions(o.Failure, r.Failure)
			if r.Layer != "" {
				layer = &Setting[string]{r.Layer, r.Rule, KeyLayer}
			}
			if r.Timeout != 0 {
				timeout = &Setting[time.Duration]{r.Timeout, r.Rule, KeyTimeout}
			}
		}
		o.Layer, o.Timeout = either(o.Layer, layer), either(o.Timeout, timeout)
	}
	return o
}

func (n reference) matches(f *File, m Match, r Resource) bool {
	pattern := m.Chart
	if pattern == "" {
		pattern = anySegments
	}
	if !n.matchesPath(f, pattern, r.Chart) || m.Kind != "" && m.Kind != r.Kind || m.Group != "" && m.Group != r.Group {
		return false
	}
	for key := range m.Labels {
		if _, found := r.Labels[key]; !found || r.Labels[key] != m.Labels[key] {
			return false
		}
	}
	return m.Name == "" || simpleMatchName(m.Name, r.Name)
}

// unmatched returns the places of the rules that match no chart, or no resource.
func (n reference) unmatched(all []Resource) []Rule {
	var places []Rule
	for _, f := range n.files {
		for _, r := range f.Charts {
			if !slices.ContainsFunc(treeCharts, func(c string) bool { return n.matchesPath(f, r.Path, c) }) {
				places = append(places, r.Rule)
			}
		}
		for _, r := range f.Resources {
			if !slices.ContainsFunc(all, func(resource Resource) bool { return n.matches(f, r.Match, resource) }) {
				places = append(places, r.Rule)
			}
		}
	}
	return places
}

func addReference(list []Reference, r Reference) []Reference {
	if slices.ContainsFunc(list, func(other Reference) bool { return other.Name == r.Name }) {
		return list
	}
	return append(list, r)
}

func addExpressions(list, more []annotation.ReadinessExpression) []annotation.ReadinessExpression {
	for _, e := range more {
		if !slices.ContainsFunc(list, func(other annotation.ReadinessExpression) bool { return other.String() == e.String() }) {
			list = append(list, e)
		}
	}
	return list
}

func either[T any](a, b *T) *T {
	if a != nil {
		return a
	}
	return b
}

// TestEvaluationOfRandomFiles compares the evaluation with a simple implementation.
func TestEvaluationOfRandomFiles(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 0))
		files := []testFile{{"r", randomFile(r)}, {"r", randomFile(r)}, {"r/a", randomFile(r)}, {"r/a/b", randomFile(r)}}
		set := newSet(t, files...)
		checkEvaluation(t, set, randomResources(r))
		if t.Failed() {
			t.Fatalf("seed %d, files: %v", seed, files)
		}
	}
}

func randomResources(r *rand.Rand) []Resource {
	var all []Resource
	for range 20 {
		all = append(all, Resource{
			Chart: pick(r, treeCharts...), Group: pick(r, "", "batch", "other"), Kind: pick(r, "Job", "Pod", "Service"),
			Name: pick(r, "x", "y", "xy", "x-y"), Labels: pick(r, nil, map[string]string{"l": "v"}, map[string]string{"l": "v", "m": "v"}),
		})
	}
	return all
}

func checkEvaluation(t *testing.T, set *Set, all []Resource) {
	t.Helper()
	var nodes []ChartNode
	for _, c := range treeCharts {
		nodes = append(nodes, ChartNode{Path: c})
	}
	e, want := set.Evaluate(nodes), reference{set.files}
	for _, c := range treeCharts {
		if got, want := formatChart(e.Chart(c)), formatChart(want.chart(c)); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", c, got, want)
		}
	}
	for _, resource := range all {
		order, err := e.Resource(resource)
		if got, want := formatResource(order), formatResource(want.resource(resource)); got != want || err != nil {
			t.Errorf("%+v: %v\ngot  %s\nwant %s", resource, err, got, want)
		}
	}
	if got, want := e.Unmatched(), want.unmatched(all); !slices.Equal(got, want) {
		t.Errorf("unmatched:\ngot  %v\nwant %v", got, want)
	}
}
