// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package latehooks finds hooks that run only when the whole release is deployed, although other charts
// depend on the chart of the hooks (docs/reference.md, "Hooks of a chart in its place in the order").
package latehooks

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/text"
)

// Hook is a hook of a release.
type Hook struct {
	// Chart is the path of its chart, as in sequencer.Resource.Chart, and File the path of its template.
	Chart, File string
	Kind, Name  string
	Events      []release.HookEvent
}

// HookID identifies a Hook. Several hooks can have the same.
type HookID struct{ File, Kind, Name string }

// ID returns what identifies the hook.
func (h Hook) ID() HookID { return HookID{h.File, h.Kind, h.Name} }

// Hooks returns the hooks of a release in the form that Find needs. chartOf returns the path of the chart
// that contains a template.
func Hooks(all []*release.Hook, chartOf func(file string) string) []Hook {
	hooks := make([]Hook, len(all))
	for i, h := range all {
		hooks[i] = Hook{Chart: chartOf(h.Path), File: h.Path, Kind: h.Kind, Name: h.Name, Events: h.Events}
	}
	return hooks
}

// Group contains the late hooks of one chart.
type Group struct {
	// Chart is the path of the chart. Dependents are the paths of the charts that depend on it, sorted.
	Chart      string
	Dependents []string
	// Hooks are the late hooks of the chart and its subcharts, sorted by file and name. Their Events are
	// only those that are late.
	Hooks []Hook
}

// maxListed is how many hooks and charts a message lists.
const maxListed = 5

// String says which hooks run late, and how to change that.
func (g Group) String() string {
	subject, runs, pronoun := "the hooks ", " run", "them"
	if len(g.Hooks) == 1 {
		subject, runs, pronoun = "the hook ", " runs", "it"
	}
	names := make([]string, len(g.Hooks))
	for i, h := range g.Hooks {
		names[i] = h.String()
	}
	dependents := "chart " + g.Dependents[0] + " depends"
	if len(g.Dependents) > 1 {
		dependents = "the charts " + text.List(g.Dependents, maxListed) + " depend"
	}
	return fmt.Sprintf("%s%s of chart %s%s only after all resources of the release, although %s on chart %s: "+
		"to run %s before that, set hookScope: chart for chart %s; hookScope: release says that the order is intended",
		subject, text.List(names, maxListed), g.Chart, runs, dependents, g.Chart, pronoun, g.Chart)
}

// String returns the kind, the name and the events of the hook.
func (h Hook) String() string {
	events := make([]string, len(h.Events))
	for i, e := range h.Events {
		events[i] = e.String()
	}
	return fmt.Sprintf("%s/%s (%s)", h.Kind, h.Name, strings.Join(events, ", "))
}

// Notes returns the messages about the late hooks of a release.
func Notes(plan *sequencer.Plan, hooks []Hook) []string {
	var notes []string
	for _, g := range Find(plan, hooks) {
		notes = append(notes, g.String())
	}
	return notes
}

// Find returns the hooks that run only after all resources of the release, although other charts depend on
// the chart of the hook or on a chart around it. Hooks whose scope is declared are not late. The result is sorted
// by chart.
func Find(plan *sequencer.Plan, hooks []Hook) []Group {
	f := finder{plan: plan, charts: map[string]*sequencer.PlannedChart{}, groups: map[string]*Group{}}
	for _, c := range plan.Charts {
		f.charts[c.Path] = c
	}
	for _, h := range hooks {
		f.add(h)
	}
	var groups []Group
	for _, g := range f.groups {
		if len(g.Hooks) > 0 {
			slices.SortStableFunc(g.Hooks, func(a, b Hook) int {
				return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
			})
			groups = append(groups, *g)
		}
	}
	slices.SortFunc(groups, func(a, b Group) int { return cmp.Compare(a.Chart, b.Chart) })
	return groups
}

type finder struct {
	plan   *sequencer.Plan
	charts map[string]*sequencer.PlannedChart
	// groups has a group, which can be without hooks, for each chart that was looked at.
	groups map[string]*Group
}

// add adds h to the group of the innermost chart around it on which others depend, if h is late.
func (f *finder) add(h Hook) {
	c := f.charts[h.Chart]
	h.Events = slices.DeleteFunc(slices.Clone(h.Events), func(e release.HookEvent) bool {
		return e != release.HookPostInstall && e != release.HookPostUpgrade && e != release.HookPostRollback
	})
	if c == nil || c.HookScope != "" || c.ReleaseScope || len(h.Events) == 0 {
		return
	}
	for chart := h.Chart; f.charts[chart] != nil; chart = path.Dir(chart) {
		if g := f.group(chart); len(g.Dependents) > 0 {
			g.Hooks = append(g.Hooks, h)
			return
		}
	}
}

// group returns the group of a chart, with its dependents.
func (f *finder) group(chart string) *Group {
	if g := f.groups[chart]; g != nil {
		return g
	}
	g := &Group{Chart: chart}
	f.groups[chart] = g
	for _, c := range f.plan.Charts {
		// Without resources, nothing of the dependent is deployed too early.
		if slices.Contains(c.After, chart) && f.hasNodes(c.Path, true) || slices.Contains(c.OwnAfter, chart) && f.hasNodes(c.Path, false) {
			g.Dependents = append(g.Dependents, c.Path)
		}
	}
	slices.Sort(g.Dependents)
	return g
}

// hasNodes reports whether a chart or, if subtree is set, one of its subcharts has nodes.
func (f *finder) hasNodes(chart string, subtree bool) bool {
	return slices.ContainsFunc(f.plan.Nodes, func(n *sequencer.Node) bool {
		return n.Chart == chart || subtree && strings.HasPrefix(n.Chart, chart+"/")
	})
}
