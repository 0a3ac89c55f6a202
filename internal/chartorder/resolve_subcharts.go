// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartorder

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/ordererror"
	"github.com/ordered-helm/helm/internal/similar"
)

// resolver finds the charts to which the charts of a tree refer. unknownSubcharts counts the references
// to subcharts that do not exist.
type resolver struct {
	*Tree
	dependencies     *DependencyCounter
	unknownSubcharts int
}

// dependent is what a declaration makes depend on other charts: a chart or, if own is set, only its own
// resources. chart is -1 for a disabled dependency.
type dependent struct {
	chart int
	own   bool
}

// resolveSubcharts sets the fields After and OwnAfter of all charts: the subcharts that
// the names in each Chart.yaml refer to.
func (r *resolver) resolveSubcharts() error {
	var problems []error
	for _, c := range r.Charts {
		if !c.Sequenced {
			continue
		}
		names := r.subchartNames(c)
		key := cmp.Or(c.Chart.DependsOnKey, annotation.DependsOnSubcharts)
		charts, err := r.resolve(names, c.Chart.DependsOnSubcharts, key, dependent{c.Index, true})
		c.OwnAfter = charts
		problems = append(problems, c.Chart.Problem, err)
		for _, d := range c.Chart.Dependencies {
			if r.dependencies.Exceeded() {
				break
			}
			problems = append(problems, r.resolveSiblings(names, d))
		}
	}
	return errors.Join(problems...)
}

// resolveSiblings finds the charts that d.DependsOn refers to, and adds them to the field
// After of the chart that d refers to. If d is disabled, it only checks that the names exist.
func (r *resolver) resolveSiblings(names *subchartNames, d Dependency) error {
	self, present := names.present[d.nameInTree()]
	if d.Disabled || !present {
		self = -1
	}
	charts, err := r.resolve(names, d.DependsOn, ordererror.DependencyKey(d.nameInTree()), dependent{chart: self})
	if self >= 0 {
		c := r.Charts[self]
		c.After = sortUnique(append(c.After, charts...))
	}
	return err
}

func sortUnique(charts []int) []int {
	slices.Sort(charts)
	return slices.Compact(charts)
}

// subchartNames contains the names that the Chart.yaml of one chart can use for its
// subcharts. file is the path of this Chart.yaml.
type subchartNames struct {
	file string
	// present maps the names of the enabled subcharts to the charts.
	present map[string]int
	// known maps each valid name, alias and tag to the enabled subcharts that it refers
	// to. The list is empty if all of them are disabled.
	known map[string][]int
}

func (t *Tree) subchartNames(c *TreeChart) *subchartNames {
	n := &subchartNames{file: c.chartFile(), present: map[string]int{}, known: map[string][]int{}}
	for _, sub := range c.Subcharts {
		name := t.Charts[sub].Chart.Name
		n.present[name] = sub
		n.known[name] = []int{sub}
	}
	for _, d := range c.Chart.Dependencies {
		for _, name := range append([]string{d.Name, d.nameInTree()}, d.Tags...) {
			charts := n.known[name]
			if sub, present := n.present[d.nameInTree()]; present && !d.Disabled {
				charts = append(charts, sub)
			}
			n.known[name] = charts
		}
	}
	for name, charts := range n.known {
		n.known[name] = sortUnique(charts)
	}
	return n
}

// resolve returns the subcharts that the names in list refer to, sorted, and declares that
// d depends on them. key is the key in Chart.yaml whose value is list. For the
// depends-on of a disabled dependency, nothing is declared. If
// a name, such as a tag, refers to d itself and to others, only the others count.
func (r *resolver) resolve(n *subchartNames, list []string, key string, d dependent) ([]int, error) {
	var all []int
	var problems []error
	for _, name := range list {
		charts, known := n.known[name]
		count := len(charts)
		if !known {
			problems = append(problems, r.unknownSubchart(n, name, key))
			count = 1
		}
		problems = append(problems, r.dependencies.Add(count, n.file))
		if r.dependencies.Exceeded() {
			break
		}
		if d.chart < 0 {
			continue
		}
		for _, c := range charts {
			if c != d.chart || len(charts) == 1 {
				all = append(all, c)
				r.declare(c, d, Reason{File: n.file, Key: key, Value: name})
			}
		}
	}
	return sortUnique(all), errors.Join(problems...)
}

func (r *resolver) declare(first int, d dependent, reason Reason) {
	r.Declarations = append(r.Declarations, Declaration{First: first, Then: d.chart, Own: d.own, Reason: reason})
}

// unknownSubchart returns the error for a name that refers to no subchart. After
// maxUnknownSubcharts such errors it returns nil, because users would not read more, and
// finding similar names is slow.
func (r *resolver) unknownSubchart(n *subchartNames, name, key string) error {
	if r.unknownSubcharts++; r.unknownSubcharts > maxUnknownSubcharts {
		return nil
	}
	all := slices.Sorted(maps.Keys(n.known))
	return &ordererror.UnknownSubchartError{
		File: n.file, Key: key, Name: name, Dependency: ordererror.DependencyOfKey(key), Nearest: similar.Nearest(name, all), Known: all,
	}
}
