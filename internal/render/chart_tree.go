// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"slices"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/ordered-helm/helm/internal/chartloader"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// ChartTree combines the declarations of charts with the tree of charts after Helm has
// processed the dependencies: with aliased copies and without disabled charts.
func ChartTree(d *chartloader.Declaration, processed *chart.Chart) *sequencer.Chart {
	c := &sequencer.Chart{
		Name: processed.Name(), Sequenced: d.Sequenced(), Declares: d.Declares(),
		DependsOnSubcharts: d.DependsOnSubcharts, DependsOnKey: d.DependsOnKey, Problem: d.Problem,
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

// removeSelfDependencies removes dependencies between entries that have become the same
// chart.
func removeSelfDependencies(d *chartloader.Declaration, dependencies []sequencer.Dependency) {
	for i, s := range dependencies {
		if s.Disabled || s.Alias == d.Dependencies[i].Alias {
			continue // it is a separate chart
		}
		s.DependsOn = slices.DeleteFunc(slices.Clone(s.DependsOn), func(name string) bool {
			return slices.ContainsFunc(d.Dependencies, func(other chartloader.Dependency) bool {
				return other.Name == s.Name && other.Title() == name
			})
		})
		dependencies[i] = s
	}
}

// matchDependency matches an entry of the dependencies with the enabled subcharts. In the
// second copy of a chart with two aliases, Helm ignores the aliases of its subcharts. In
// that copy, the alias is an additional name for the subchart.
func matchDependency(d *chartloader.Declaration, e chartloader.Dependency, present map[string]*chart.Chart) sequencer.Dependency {
	s := sequencer.Dependency{Name: e.Name, Alias: e.Alias, Tags: e.Tags, DependsOn: e.DependsOn}
	if present[e.Title()] != nil {
		return s
	}
	isItsName := func(other chartloader.Dependency) bool { return other.Title() == e.Name }
	unaliased := present[e.Name]
	if unaliased == nil || slices.ContainsFunc(d.Dependencies, isItsName) ||
		!chartutil.IsCompatibleRange(e.Version, unaliased.Metadata.Version) {
		s.Disabled = true
		return s
	}
	s.Alias, s.Tags = "", append(slices.Clone(e.Tags), e.Alias)
	return s
}

// findDeclaration returns the declaration of a subchart, whose name may be an alias.
func findDeclaration(parent *chartloader.Declaration, sub *chart.Chart) *chartloader.Declaration {
	for _, e := range parent.Dependencies {
		if e.Title() != sub.Name() {
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
