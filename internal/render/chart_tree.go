// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"slices"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/ordered-helm/helm/internal/declaration"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// ChartTree returns the tree of charts from which sequencer.Build builds the graph: each
// chart with what it declares about order and hooks. d contains the declarations as loaded
// from the chart. processed is the same chart after Helm has processed its dependencies:
// disabled subcharts are removed, and a subchart with several aliases is present several
// times.
func ChartTree(d *declaration.Chart, processed *chart.Chart) *sequencer.Chart {
	c := &sequencer.Chart{
		Name: processed.Name(), Sequenced: d.Sequenced(), OptedOut: d.OptedOut, Declares: d.Declares(),
		DependsOnSubcharts: d.DependsOnSubcharts, DependsOnKey: d.DependsOnKey, ManagesHooks: d.ManagesHooks, HookScope: d.HookScope,
		External: d.External, ExternalKey: d.ExternalKey, ExternalTimeout: d.ExternalTimeout, Problem: d.Problem, Mistakes: d.Mistakes,
	}
	if d.Hooks.IsParallel() {
		c.HookMode = string(d.Hooks)
	}
	present := map[string]*chart.Chart{}
	for _, sub := range processed.Dependencies() {
		present[sub.Name()] = sub
		if declared := findDeclaration(d, sub); declared != nil {
			c.Subcharts = append(c.Subcharts, ChartTree(declared, sub))
		}
	}
	for _, e := range d.Dependencies {
		c.Dependencies = append(c.Dependencies, matchDependency(d, e, present))
	}
	removeSelfDependencies(d, c.Dependencies)
	return c
}

// removeSelfDependencies removes dependencies of a chart on itself. They arise if Helm
// merges several entries under "dependencies" into one chart. dependencies belongs to the
// chart that d describes.
func removeSelfDependencies(d *declaration.Chart, dependencies []sequencer.Dependency) {
	for i, s := range dependencies {
		if s.Disabled || s.Alias == d.Dependencies[i].Alias {
			continue // the entry is not merged with another one
		}
		s.DependsOn = slices.DeleteFunc(slices.Clone(s.DependsOn), func(name string) bool {
			return slices.ContainsFunc(d.Dependencies, func(other declaration.Dependency) bool {
				return other.Name == s.Name && other.NameInTree() == name
			})
		})
		dependencies[i] = s
	}
}

// matchDependency returns the Dependency of e, an entry under "dependencies" of the chart
// that d describes. It sets Disabled if no chart in present belongs to the entry. present
// contains the enabled subcharts by name.
//
// If a chart is included under two aliases, Helm ignores the aliases of its subcharts in
// the second copy: there, they have their own names. matchDependency adds the ignored alias
// to the tags, so that depends-on can still refer to it.
func matchDependency(d *declaration.Chart, e declaration.Dependency, present map[string]*chart.Chart) sequencer.Dependency {
	s := sequencer.Dependency{Name: e.Name, Alias: e.Alias, Tags: e.Tags, DependsOn: e.DependsOn, HookScope: e.HookScope}
	if present[e.NameInTree()] != nil {
		return s
	}
	isItsName := func(other declaration.Dependency) bool { return other.NameInTree() == e.Name }
	unaliased := present[e.Name]
	if unaliased == nil || slices.ContainsFunc(d.Dependencies, isItsName) ||
		!chartutil.IsCompatibleRange(e.Version, unaliased.Metadata.Version) {
		s.Disabled = true
		return s
	}
	s.Alias, s.Tags = "", append(slices.Clone(e.Tags), e.Alias)
	return s
}

// findDeclaration returns the declarations of sub, a subchart of the chart that parent
// describes; nil if there are none. The name of sub can be an alias.
func findDeclaration(parent *declaration.Chart, sub *chart.Chart) *declaration.Chart {
	for _, e := range parent.Dependencies {
		if e.NameInTree() != sub.Name() {
			continue
		}
		for _, s := range parent.Subcharts {
			if s.Name == e.Name && s.Version == sub.Metadata.Version &&
				chartutil.IsCompatibleRange(e.Version, s.Version) {
				return s
			}
		}
	}
	for _, s := range parent.Subcharts {
		if s.Name == sub.Name() {
			return s
		}
	}
	return nil
}
