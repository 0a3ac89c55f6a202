// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import (
	"cmp"
	"errors"
	"slices"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/similar"
)

// resolveSubcharts sets after and ownAfter of all charts: it finds the subcharts that the
// names in each Chart.yaml refer to.
func (b *builder) resolveSubcharts() error {
	var problems []error
	for i, c := range b.charts {
		if !c.Sequenced {
			continue
		}
		problems = append(problems, c.Problem)
		names := b.namesIn(i)
		key := cmp.Or(c.DependsOnKey, annotation.DependsOnSubcharts)
		for _, name := range c.DependsOnSubcharts {
			charts, err := b.resolve(names, name, key, "", -1)
			problems = append(problems, err)
			if b.dependencies.exceeded() {
				break
			}
			c.ownAfter = append(c.ownAfter, charts...)
			for _, sub := range charts {
				b.declare(declaration{
					first: vertex{chart: sub}, then: vertex{chart: i, own: true},
					reason: Reason{File: names.file, Key: key, Value: name},
				})
			}
		}
		c.ownAfter = sortUnique(c.ownAfter)
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
	self, present := names.present[d.title()]
	if !present || d.Disabled {
		self = -1
	}
	var problems []error
	var after []int
	for _, name := range d.DependsOn {
		charts, err := b.resolve(names, name, dependencyKey+d.title(), d.title(), self)
		problems = append(problems, err)
		if b.dependencies.exceeded() {
			break
		}
		if self < 0 {
			continue
		}
		after = append(after, charts...)
		for _, sibling := range charts {
			b.declare(declaration{
				first: vertex{chart: sibling}, then: vertex{chart: self},
				reason: Reason{File: names.file, Key: dependencyKey + d.title(), Value: name},
			})
		}
	}
	if self >= 0 {
		b.charts[self].after = sortUnique(append(b.charts[self].after, after...))
	}
	return errors.Join(problems...)
}

func sortUnique(list []int) []int {
	slices.Sort(list)
	return slices.Compact(list)
}

// subchartNames has the names by which one chart, with the Chart.yaml file, can refer to
// its subcharts.
type subchartNames struct {
	file string
	// present maps the names of the enabled subcharts in the tree to their indexes.
	present map[string]int
	// known maps each name, alias and tag to the enabled subcharts that it refers to. The
	// list is empty for a name that refers only to disabled subcharts.
	known map[string][]int
}

func (b *builder) namesIn(chart int) *subchartNames {
	c := b.charts[chart]
	n := &subchartNames{file: c.file + "/Chart.yaml", present: map[string]int{}, known: map[string][]int{}}
	for _, sub := range c.subcharts {
		n.present[b.charts[sub].Name] = sub
		n.known[b.charts[sub].Name] = []int{sub}
	}
	for _, d := range c.Dependencies {
		for _, name := range append([]string{d.Name, d.title()}, d.Tags...) {
			charts := n.known[name]
			if sub, present := n.present[d.title()]; present && !d.Disabled {
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

// resolve returns the subcharts that name refers to. key is where name is declared. If it
// is the depends-on of a dependency, dependency is that dependency's name, and self its
// index or -1 if it is disabled. A name such as a tag can refer to the dependency itself
// and to others. Then only the others are returned.
func (b *builder) resolve(n *subchartNames, name, key, dependency string, self int) ([]int, error) {
	charts, known := n.known[name]
	if !known {
		return nil, errors.Join(b.unknownSubchart(n, name, key, dependency), b.dependencies.add(1, n.file))
	}
	if err := b.dependencies.add(len(charts), n.file); err != nil {
		return nil, err
	}
	if len(charts) > 1 && self >= 0 {
		charts = slices.DeleteFunc(slices.Clone(charts), func(c int) bool { return c == self })
	}
	return charts, nil
}

// unknownSubchart returns the error for a name that refers to no subchart. After
// maxUnknownSubcharts such errors it returns nil, because a user would not read more, and
// finding similar names takes time.
func (b *builder) unknownSubchart(n *subchartNames, name, key, dependency string) error {
	if b.unknownSubcharts++; b.unknownSubcharts > maxUnknownSubcharts {
		return nil
	}
	all := sortedKeys(n.known)
	return &UnknownSubchartError{File: n.file, Key: key, Name: name, Dependency: dependency, Nearest: similar.Nearest(name, all), Known: all}
}

func sortedKeys(known map[string][]int) []string {
	all := make([]string, 0, len(known))
	for name := range known {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}
