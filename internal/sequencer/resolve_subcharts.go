// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/ordererror"
	"github.com/ordered-helm/helm/internal/similar"
)

// resolveSubcharts sets the fields after and ownAfter of all charts: the subcharts that
// the names in each Chart.yaml refer to.
func (b *builder) resolveSubcharts() error {
	var problems []error
	for _, c := range b.charts {
		if !c.Sequenced {
			continue
		}
		names := newSubchartNames(c)
		key := cmp.Or(c.DependsOnKey, annotation.DependsOnSubcharts)
		charts, err := b.resolve(names, c.DependsOnSubcharts, key, draftEnd{chart: c, own: true})
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

// resolveSiblings finds the charts that d.DependsOn refers to, and adds them to the field
// after of the chart that d refers to. If d is disabled, it only checks that the names exist.
func (b *builder) resolveSiblings(names *subchartNames, d Dependency) error {
	self := names.present[d.nameInTree()]
	if d.Disabled {
		self = nil
	}
	charts, err := b.resolve(names, d.DependsOn, ordererror.DependencyKey(d.nameInTree()), draftEnd{chart: self})
	if self != nil {
		self.after = sortUnique(append(self.after, charts...))
	}
	return err
}

func sortUnique(charts []*draftChart) []*draftChart {
	slices.SortFunc(charts, func(x, y *draftChart) int { return cmp.Compare(x.index, y.index) })
	return slices.Compact(charts)
}

// subchartNames contains the names that the Chart.yaml of one chart can use for its
// subcharts. file is the path of this Chart.yaml.
type subchartNames struct {
	file string
	// present maps the names of the enabled subcharts to the charts.
	present map[string]*draftChart
	// known maps each valid name, alias and tag to the enabled subcharts that it refers
	// to. The list is empty if all of them are disabled.
	known map[string][]*draftChart
}

func newSubchartNames(c *draftChart) *subchartNames {
	n := &subchartNames{file: c.file + "/Chart.yaml", present: map[string]*draftChart{}, known: map[string][]*draftChart{}}
	for _, sub := range c.subcharts {
		n.present[sub.Name] = sub
		n.known[sub.Name] = []*draftChart{sub}
	}
	for _, d := range c.Dependencies {
		for _, name := range append([]string{d.Name, d.nameInTree()}, d.Tags...) {
			charts := n.known[name]
			if sub := n.present[d.nameInTree()]; sub != nil && !d.Disabled {
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
// dependent depends on them. key is the key in Chart.yaml whose value is list. For the
// depends-on of a disabled dependency, dependent.chart is nil, and nothing is declared. If
// a name, such as a tag, refers to dependent itself and to others, only the others count.
func (b *builder) resolve(n *subchartNames, list []string, key string, dependent draftEnd) ([]*draftChart, error) {
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
		if dependent.chart == nil {
			continue
		}
		for _, c := range charts {
			if c != dependent.chart || len(charts) == 1 {
				all = append(all, c)
				b.declare(draftEnd{chart: c}, dependent, Reason{File: n.file, Key: key, Value: name})
			}
		}
	}
	return sortUnique(all), errors.Join(problems...)
}

// unknownSubchart returns the error for a name that refers to no subchart. After
// maxUnknownSubcharts such errors it returns nil, because users would not read more, and
// finding similar names is slow.
func (b *builder) unknownSubchart(n *subchartNames, name, key string) error {
	if b.unknownSubcharts++; b.unknownSubcharts > maxUnknownSubcharts {
		return nil
	}
	all := slices.Sorted(maps.Keys(n.known))
	return &UnknownSubchartError{
		File: n.file, Key: key, Name: name, Dependency: ordererror.DependencyOfKey(key), Nearest: similar.Nearest(name, all), Known: all,
	}
}
