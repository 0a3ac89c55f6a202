// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/removal"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/testutil/chartgen"
)

// scopedRelease is a random release with scopes of hooks, external dependencies and an order file.
type scopedRelease struct {
	*rand.Rand
	input  sequencer.Input
	charts map[string]*scopedChart // by path
	// chartRules and resourceRules are the rules of the order file.
	chartRules, resourceRules []string
}

// scopedChart is what a scopedRelease declares about a chart in addition to what chartgen does.
type scopedChart struct {
	parent   *scopedChart
	path     string
	scope    string // "chart", "release" or "", as far as it counts
	external int    // the number of external dependencies of the chart that count
	after    []string
	events   []release.HookEvent
}

// hookEvents are the events of the operations.
var hookEvents = map[sequencer.Operation][2]release.HookEvent{
	sequencer.Install: {release.HookPreInstall, release.HookPostInstall}, sequencer.Upgrade: {release.HookPreUpgrade, release.HookPostUpgrade},
	sequencer.Rollback: {release.HookPreRollback, release.HookPostRollback}, sequencer.Uninstall: {release.HookPreDelete, release.HookPostDelete},
}

func newScopedRelease(t *testing.T, seed uint64) *scopedRelease {
	t.Helper()
	s := &scopedRelease{Rand: rand.New(rand.NewPCG(seed, 4)), charts: map[string]*scopedChart{}}
	s.input = chartgen.Random(s.Rand).Input()
	s.chart(s.input.Root, nil, nil)
	for i := range s.input.Resources {
		s.resource(&s.input.Resources[i])
	}
	s.input.OrderFiles = orderFiles(t, s.input.Root.Name, "charts:\n"+strings.Join(s.chartRules, "")+"resources:\n"+strings.Join(s.resourceRules, ""))
	return s
}

// oneOf reports true in one of n cases.
func (s *scopedRelease) oneOf(n int) bool { return s.IntN(n) == 0 }

// chart adds declarations about a chart and its subcharts, half of them in the order file.
func (s *scopedRelease) chart(c *sequencer.Chart, parent *scopedChart, siblings []*sequencer.Chart) {
	sc := &scopedChart{parent: parent, path: c.Name}
	path := "."
	if parent != nil {
		sc.path = parent.path + "/" + c.Name
		_, path, _ = strings.Cut(sc.path, "/")
	}
	s.charts[sc.path] = sc
	var rule []string
	if s.oneOf(2) {
		scope := []string{"chart", "chart", "release"}[s.IntN(3)]
		if sc.scope = scope; s.oneOf(2) {
			rule = append(rule, "hookScope: "+scope)
		} else {
			c.HookScope = scope
		}
	}
	if s.oneOf(4) {
		rule = append(rule, "external: [Secret/of-rule]")
		sc.external++
	}
	if s.oneOf(4) {
		c.External, c.ExternalKey = []string{"Secret/of-chart", "release:other"}, "depends-on.helm.sh/external"
		sc.external += 2
	}
	if first := siblings; len(first) > 1 && s.oneOf(3) {
		if other := first[s.IntN(len(first))]; other != c {
			rule = append(rule, "dependsOn: ["+other.Name+"]")
			sc.after = append(sc.after, parent.path+"/"+other.Name)
		}
	}
	if len(c.Subcharts) > 0 && s.oneOf(4) {
		rule = append(rule, "ownDependsOn: ["+c.Subcharts[s.IntN(len(c.Subcharts))].Name+"]")
	}
	if len(rule) > 0 {
		s.chartRules = append(s.chartRules, "- {path: "+path+", "+strings.Join(rule, ", ")+"}\n")
	} else if !c.Sequenced { // what the chart declares does not count
		sc.scope, sc.external = "", 0
	}
	if s.oneOf(2) {
		for _, events := range hookEvents {
			for _, e := range events {
				if s.oneOf(2) {
					sc.events = append(sc.events, e)
				}
			}
		}
		s.input.Hooks = append(s.input.Hooks, sequencer.Hook{Chart: sc.path, Events: sc.events})
	}
	for _, sub := range c.Subcharts {
		s.chart(sub, sc, c.Subcharts)
	}
}

// resource adds declarations about a resource.
func (s *scopedRelease) resource(r *sequencer.Resource) {
	metadata := r.Object["metadata"].(map[string]any)
	annotations := metadata["annotations"].(map[string]any)
	var rule []string
	if annotations["helm.sh/layer"] == nil && s.oneOf(5) {
		rule = append(rule, "layer: own")
	} else if s.oneOf(5) {
		rule = append(rule, "dependsOn: [database, own]")
	}
	if s.oneOf(5) {
		rule = append(rule, "external: [Secret/of-resource-rule]")
	}
	if s.oneOf(5) {
		annotations["depends-on.helm.sh/external"] = "Secret/of-resource"
	}
	if len(rule) > 0 {
		s.resourceRules = append(s.resourceRules, fmt.Sprintf("- {match: {name: %s}, %s}\n", metadata["name"], strings.Join(rule, ", ")))
	}
}

// scopeOf returns the path of the chart before and after whose nodes the hooks of c run; "" if these are all of the release.
func (*scopedRelease) scopeOf(c *scopedChart) string {
	for ; c != nil; c = c.parent {
		switch c.scope {
		case "chart":
			return c.path
		case "release":
			return ""
		}
	}
	return ""
}

// hookSteps returns the IDs of the steps that run hooks.
func (s *scopedRelease) hookSteps(operation sequencer.Operation) []string {
	var ids []string
	for _, c := range s.charts {
		scope := s.scopeOf(c)
		for _, e := range hookEvents[operation] {
			if scope != "" && slices.Contains(c.events, e) {
				ids = append(ids, fmt.Sprintf("%s:(%s hooks)", scope, e))
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// scopedPlan is a plan of a scopedRelease.
type scopedPlan struct {
	*sequencer.Plan
	all []sequencer.Vertex
	// before says, for each vertex and each other one, whether the other comes before it.
	before [][]bool
	charts map[string]*sequencer.PlannedChart
}

func newScopedPlan(p *sequencer.Plan) *scopedPlan {
	sp := &scopedPlan{Plan: p, all: p.Vertices(), charts: map[string]*sequencer.PlannedChart{}}
	graph := sequencer.Graph(p)
	for i := range sp.all {
		sp.before = append(sp.before, graph.Reachable(i)[:len(sp.all)])
	}
	for _, c := range p.Charts {
		sp.charts[c.Path] = c
	}
	return sp
}

// step returns the index of the step with an ID, or -1.
func (p *scopedPlan) step(id string) int {
	return slices.IndexFunc(p.all, func(v sequencer.Vertex) bool { return v.ID() == id })
}

// chartOf returns the path of the chart of a vertex.
func chartOf(v sequencer.Vertex) string {
	if s, is := v.(*sequencer.Step); is {
		return s.Chart
	}
	return v.(*sequencer.Node).Chart
}

// within returns the indexes of all that belongs to the chart and its subcharts.
func (p *scopedPlan) within(chart string) []int {
	var list []int
	for i, v := range p.all {
		if path := chartOf(v); path == chart || strings.HasPrefix(path, chart+"/") {
			list = append(list, i)
		}
	}
	return list
}

// dependencies returns the indexes of all that belongs to charts on which the chart as a whole depends, and dependents of all
// that belongs to charts that depend on it, and of the own nodes of a parent that does.
func (p *scopedPlan) dependencies(chart string) (dependencies, dependents []int) {
	for path := chart; path != ""; path = path[:max(0, strings.LastIndexByte(path, '/'))] {
		for _, first := range p.charts[path].After {
			dependencies = append(dependencies, p.within(first)...)
		}
		for _, c := range p.Charts {
			if slices.Contains(c.After, path) {
				dependents = append(dependents, p.within(c.Path)...)
			}
			if slices.Contains(c.OwnAfter, path) {
				for i, v := range p.all {
					if n, is := v.(*sequencer.Node); is && n.Chart == c.Path {
						dependents = append(dependents, i)
					}
				}
			}
		}
	}
	return dependencies, dependents
}

// checkSteps checks the places of all steps. uninstall says that the plan is followed in reverse.
func (p *scopedPlan) checkSteps(t *testing.T, operation sequencer.Operation) (pairs int) {
	t.Helper()
	expect := func(what string, first, then int) {
		pairs++
		if !p.before[then][first] {
			t.Errorf("%s: %s does not come after %s", what, p.all[then].ID(), p.all[first].ID())
		}
	}
	events := hookEvents[operation]
	if operation == sequencer.Uninstall {
		slices.Reverse(events[:])
	}
	for path := range p.charts {
		pre, post := p.step(fmt.Sprintf("%s:(%s hooks)", path, events[0])), p.step(fmt.Sprintf("%s:(%s hooks)", path, events[1]))
		dependencies, dependents := p.dependencies(path)
		for i, v := range p.all {
			s, is := v.(*sequencer.Step)
			switch {
			case !is || len(s.External) == 0:
				continue
			case s.Node != nil:
				expect("external dependencies of a node", i, slices.Index(p.all, sequencer.Vertex(s.Node)))
			case s.Chart == path:
				for _, first := range dependencies {
					expect("external dependencies of a chart", first, i)
				}
				for _, then := range p.within(path) {
					if other, is := p.all[then].(*sequencer.Step); !is || other.Node != nil || len(other.External) == 0 || other.Chart != path {
						expect("external dependencies of a chart", i, then)
					}
				}
			}
		}
		for _, i := range p.within(path) {
			if s, is := p.all[i].(*sequencer.Step); i == pre || i == post || is && s.Chart == path && s.Node == nil {
				continue
			}
			if pre >= 0 {
				expect("hooks before a chart", pre, i)
			}
			if post >= 0 {
				expect("hooks after a chart", i, post)
			}
		}
		if pre >= 0 && post >= 0 {
			expect("hooks before and after a chart", pre, post)
		}
		for _, i := range dependencies {
			if pre >= 0 {
				expect("what a chart depends on", i, pre)
			}
		}
		for _, i := range dependents {
			if post >= 0 {
				expect("what depends on a chart", post, i)
			}
		}
	}
	return pairs
}

// checkRemoval follows the plan in reverse, and checks that everything begins after all that depends on it has ended.
func (p *scopedPlan) checkRemoval(t *testing.T) {
	t.Helper()
	var mu sync.Mutex
	ended := map[string]bool{}
	order := removal.OrderOf([]*sequencer.Plan{p.Plan}, func(r *sequencer.PlannedResource) (sequencer.ID, bool) { return r.ID, true })
	err := order.Execute(t.Context(), func(_ context.Context, g, _ *removal.Group) error {
		mu.Lock()
		defer mu.Unlock()
		at := p.step(g.Vertex().ID())
		for i, v := range p.all {
			if p.before[i][at] && !ended[v.ID()] {
				t.Errorf("%s is removed before %s", g.Vertex().ID(), v.ID())
			}
		}
		ended[g.Vertex().ID()] = true
		return nil
	})
	if err != nil || len(ended) != len(p.all) {
		t.Errorf("removed %d of %d, %v", len(ended), len(p.all), err)
	}
}

// checkCycle checks that the error is about a cycle, and lists the dependencies in it.
func checkCycle(t *testing.T, err error) {
	t.Helper()
	cycle, is := errors.AsType[*sequencer.CycleError](err)
	if !is || len(cycle.Edges) == 0 {
		t.Fatalf("got %v", err)
	}
	for i, e := range cycle.Edges {
		if next := cycle.Edges[(i+1)%len(cycle.Edges)]; e.To != next.From || e.File == "" || e.Key == "" || e.Chart == "" {
			t.Errorf("the dependency %+v is not followed by %+v", e, next)
		}
	}
}

// TestStepsOfRandomReleases checks the plans of random releases with scopes of hooks, external dependencies and rules of order
// files: there is an error about a cycle, or all steps have their place.
func TestStepsOfRandomReleases(t *testing.T) {
	const releases = 1000
	cycles, pairs := 0, 0
	for seed := range uint64(releases) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			s := newScopedRelease(t, seed)
			for _, operation := range []sequencer.Operation{sequencer.Install, sequencer.Upgrade, sequencer.Rollback, sequencer.Uninstall} {
				s.input.Operation = operation
				plan, err := sequencer.Build(s.input)
				if err != nil {
					cycles++
					checkCycle(t, err)
					continue
				}
				p := newScopedPlan(plan)
				var steps []string
				external := map[string]int{}
				for _, step := range plan.Steps {
					if len(step.External) == 0 {
						steps = append(steps, step.ID())
					} else if step.Node == nil {
						external[step.Chart] += len(step.External)
					}
				}
				if slices.Sort(steps); !slices.Equal(steps, s.hookSteps(operation)) {
					t.Errorf("%s: got the steps %q, want %q", operation, steps, s.hookSteps(operation))
				}
				for path, c := range s.charts {
					want := c.external
					if operation == sequencer.Uninstall {
						want = 0
					}
					if external[path] != want {
						t.Errorf("%s: %s waits for %d external dependencies, want %d", operation, path, external[path], want)
					}
					for _, first := range c.after {
						if !slices.Contains(p.charts[path].After, first) {
							t.Errorf("%s: %s does not depend on %s", operation, path, first)
						}
					}
				}
				for i := range p.all {
					if p.before[i][i] {
						t.Errorf("%s: %s comes after itself", operation, p.all[i].ID())
					}
				}
				pairs += p.checkSteps(t, operation)
				if operation == sequencer.Uninstall {
					p.checkRemoval(t)
				}
			}
		})
	}
	t.Logf("%d cycles, %d pairs in %d releases", cycles, pairs, releases)
	if cycles < releases/20 || cycles > 2*releases || pairs < 10*releases {
		t.Error("the releases declare too little, or contradict themselves too often, to tell")
	}
}
