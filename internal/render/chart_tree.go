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

// ChartTree returns the charts of a release with their declarations, for sequencer.Build. d
// has the declarations as loaded from the chart. processed is the same chart after Helm has
// processed its dependencies: disabled subcharts are removed, and a subchart with several
// aliases is copied.
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

// removeSelfDependencies removes dependencies of a chart on itself. They arise if Helm
// merges several entries under "dependencies" into one chart.
func removeSelfDependencies(d *chartloader.Declaration, dependencies []sequencer.Dependency) {
	for i, s := range dependencies {
		if s.Disabled || s.Alias == d.Dependencies[i].Alias {
			continue // the entry has a chart of its own
		}
		s.DependsOn = slices.DeleteFunc(slices.Clone(s.DependsOn), func(name string) bool {
			return slices.ContainsFunc(d.Dependencies, func(other chartloader.Dependency) bool {
				return other.Name == s.Name && other.Title() == name
			})
		})
		dependencies[i] = s
	}
}

// matchDependency converts the entry e and sets Disabled if no chart in present belongs to
// it. present has the enabled subcharts by name.
//
// Helm ignores aliases in the second copy of a chart: if a chart has two aliases, its
// subcharts keep their own names in that copy. There, the alias of a subchart becomes a
// tag, so that depends-on can still use it.
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

// findDeclaration returns the declaration of the subchart sub, whose name can be an alias.
// It returns nil if there is none.
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
