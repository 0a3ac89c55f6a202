// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartorder

import (
	"cmp"
	"errors"
	"slices"

	"github.com/ordered-helm/helm/internal/orderfile"
)

// Tree holds the charts of a release, and what they declare about each other. Charts refer to other charts
// by their indexes in Charts.
type Tree struct {
	// Charts lists each chart before its subcharts, which are sorted by name.
	Charts []*TreeChart
	// Rules evaluates the order files. It is nil if none apply to the release.
	Rules *orderfile.Evaluation
	// Declarations lists the dependencies between charts in the order in which they were found. Resolve
	// sets it.
	Declarations []Declaration

	paths map[string]bool
}

// TreeChart is a chart with its place in the tree of charts.
type TreeChart struct {
	Chart *Chart
	// Path contains the names of the charts from the root down, joined with "/". Directory is the directory
	// of the chart, for messages.
	Path, Directory string
	Index           int
	// Parent is -1 for the root chart.
	Parent    int
	Subcharts []int
	// Sequenced reports whether what the chart itself declares applies: because of Chart.Sequenced, or because
	// an order file names the chart.
	Sequenced bool
	// Ignored reports whether the Chart.yaml declares an order that is ignored (see Chart.Sequenced).
	Ignored bool
	// Rules is what order files say about the chart.
	Rules orderfile.ChartOrder
	// External lists the declarations of external dependencies of the chart.
	External []External

	// After lists the siblings that must be ready before the chart and its subcharts. OwnAfter
	// lists the subcharts that must be ready before the own resources of the chart. Both are sorted. Resolve
	// sets them.
	After, OwnAfter []int
	// HookScope is the chart before and after whose resources the hooks of this chart run; -1 if they run
	// before and after everything in the release. Resolve sets it.
	HookScope int
	// ReleaseScope reports whether a declaration says that they run before and after everything in the
	// release. Resolve sets it.
	ReleaseScope bool
}

// Declaration is a single declaration of a dependency between two charts: Then is deployed only when First and its
// subcharts are ready.
type Declaration struct {
	First, Then int
	// Own reports whether the declaration is only about the own resources of Then, not about its subcharts.
	Own    bool
	Reason Reason
}

// NewTree returns the tree of charts with this root. files are the order files that apply to the release;
// they can be nil.
func NewTree(root *Chart, files *orderfile.Set) *Tree {
	t := &Tree{paths: map[string]bool{}}
	t.add(root, -1)
	t.evaluate(files)
	return t
}

// Resolve finds the charts to which the declarations of all charts refer, and determines the scopes of
// hooks. It adds the dependencies to count. The error joins those of all charts. After an error, the
// tree contains the valid declarations.
func (t *Tree) Resolve(count *DependencyCounter) error {
	r := resolver{Tree: t, dependencies: count}
	return errors.Join(r.resolveSubcharts(), r.resolveRules(), t.resolveHookScopes())
}

// add adds the chart c and then its subcharts, sorted by name. parent is -1 for the root chart.
func (t *Tree) add(c *Chart, parent int) {
	added := &TreeChart{Chart: c, Path: c.Name, Directory: c.Name, Index: len(t.Charts), Parent: parent, HookScope: -1}
	if parent >= 0 {
		added.Path = t.Charts[parent].Path + "/" + c.Name
		added.Directory = t.Charts[parent].Directory + "/charts/" + c.Name
	}
	if t.paths[added.Path] {
		return // a second version of the same subchart: Helm also merges their templates
	}
	t.Charts = append(t.Charts, added)
	t.paths[added.Path] = true
	if parent >= 0 {
		t.Charts[parent].Subcharts = append(t.Charts[parent].Subcharts, added.Index)
	}
	subcharts := slices.Clone(c.Subcharts)
	slices.SortStableFunc(subcharts, func(x, y *Chart) int { return cmp.Compare(x.Name, y.Name) })
	for _, sub := range subcharts {
		t.add(sub, added.Index)
	}
}

// evaluate sets what order files say about the charts, which charts are sequenced, and their external dependencies.
func (t *Tree) evaluate(files *orderfile.Set) {
	if files != nil {
		nodes := make([]orderfile.ChartNode, len(t.Charts))
		for i, c := range t.Charts {
			nodes[i].Path = c.Path
			for _, d := range c.Chart.Dependencies {
				if d.Disabled {
					nodes[i].Disabled = append(nodes[i].Disabled, d.nameInTree())
				}
			}
		}
		t.Rules = files.Evaluate(nodes)
	}
	for _, c := range t.Charts {
		c.Rules = t.Rules.Chart(c.Path)
		c.Sequenced = c.Chart.Sequenced || c.Rules.Named && !c.Chart.OptedOut
		c.Ignored = c.Chart.Declares && !c.Sequenced && !c.Chart.OptedOut
		if c.Sequenced {
			for _, need := range c.Chart.External {
				reason := Reason{File: c.chartFile(), Key: c.Chart.ExternalKey, Value: need}
				c.External = append(c.External, External{need, c.Chart.ExternalTimeout, reason})
			}
		}
		c.External = append(c.External, ExternalOfRules(c.Rules.External, "")...)
	}
}

// chartFile returns the path of the Chart.yaml, for messages.
func (c *TreeChart) chartFile() string { return c.Directory + "/Chart.yaml" }
