// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/similar"
)

// resolveSubcharts sets after and ownAfter of all charts: it finds the subcharts that the
// names in each Chart.yaml refer to.
func (b *builder) resolveSubcharts() error {
	var problems []error
	for _, c := range b.charts {
		if !c.Sequenced {
			continue
		}
		names := newSubchartNames(c)
		key := cmp.Or(c.DependsOnKey, annotation.DependsOnSubcharts)
		charts, err := b.resolve(names, c.DependsOnSubcharts, key, end{chart: c, own: true})
		c.ownAfter = charts
		problems = append(problems, c.Problem, err)
		for _, d := range c.Dependencies {
			if b.dependencies.exceeded() {
				break
			}
			problems = append(problems, b.resolveSiblings(names, d))
		}
	}
	return errors.Join(problems...)
}

// resolveSiblings finds the charts that the depends-on of d refers to, and adds them to the
// after of the chart d. The names must be valid even if d is disabled.
func (b *builder) resolveSiblings(names *subchartNames, d Dependency) error {
	self := names.present[d.title()]
	if d.Disabled {
		self = nil
	}
	charts, err := b.resolve(names, d.DependsOn, dependencyKey+d.title(), end{chart: self})
	if self != nil {
		self.after = sortUnique(append(self.after, charts...))
	}
	return err
}

func sortUnique(charts []*draftChart) []*draftChart {
	slices.SortFunc(charts, func(x, y *draftChart) int { return cmp.Compare(x.index, y.index) })
	return slices.Compact(charts)
}

// subchartNames has the names by which one chart, with the Chart.yaml file, can refer to
// its subcharts.
type subchartNames struct {
	file string
	// present maps the names of the enabled subcharts in the tree to the charts.
	present map[string]*draftChart
	// known maps each name, alias and tag to the enabled subcharts that it refers to. The
	// list is empty for a name that refers only to disabled subcharts.
	known map[string][]*draftChart
}

func newSubchartNames(c *draftChart) *subchartNames {
	n := &subchartNames{file: c.file + "/Chart.yaml", present: map[string]*draftChart{}, known: map[string][]*draftChart{}}
	for _, sub := range c.subcharts {
		n.present[sub.Name] = sub
		n.known[sub.Name] = []*draftChart{sub}
	}
	for _, d := range c.Dependencies {
		for _, name := range append([]string{d.Name, d.title()}, d.Tags...) {
			charts := n.known[name]
			if sub := n.present[d.title()]; sub != nil && !d.Disabled {
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
// they must be ready before then. key is where list is declared. If it is the depends-on of
// a disabled dependency, then.chart is nil, and nothing is declared. A name such as a tag
// can refer to the dependency itself and to others. Then only the others count.
func (b *builder) resolve(n *subchartNames, list []string, key string, then end) ([]*draftChart, error) {
	var all []*draftChart
	var problems []error
	for _, name := range list {
		charts, known := n.known[name]
		count := len(charts)
		if !known {
			problems = append(problems, b.unknownSubchart(n, name, key))
			count = 1
		}
		problems = append(problems, b.dependencies.add(count, n.file))
		if b.dependencies.exceeded() {
			break
		}
		if then.chart == nil {
			continue
		}
		for _, c := range charts {
			if c != then.chart || len(charts) == 1 {
				all = append(all, c)
				b.declare(end{chart: c}, then, Reason{File: n.file, Key: key, Value: name})
			}
		}
	}
	return sortUnique(all), errors.Join(problems...)
}

// unknownSubchart returns the error for a name that refers to no subchart. After
// maxUnknownSubcharts such errors it returns nil, because a user would not read more, and
// finding similar names takes time.
func (b *builder) unknownSubchart(n *subchartNames, name, key string) error {
	if b.unknownSubcharts++; b.unknownSubcharts > maxUnknownSubcharts {
		return nil
	}
	all := slices.Sorted(maps.Keys(n.known))
	return &UnknownSubchartError{
		File: n.file, Key: key, Name: name, Dependency: dependencyIn(key), Nearest: similar.Nearest(name, all), Known: all,
	}
}
