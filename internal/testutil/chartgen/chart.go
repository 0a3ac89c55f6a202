// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package chartgen generates random charts for tests. Only tests import it. It also computes
// the expected order of a generated chart, without code of package sequencer, so that tests
// can compare this order with the result of package sequencer.
package chartgen

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Chart describes a generated chart and the order that it declares.
type Chart struct {
	Name string
	// V3 is true if the apiVersion is v3, and false if it is v2.
	V3 bool
	// OptedIn is true if the apiVersion is v2 and an annotation enables sequencing.
	OptedIn bool
	// OwnAfter contains the names of the subcharts that must be ready before the resources
	// of the chart itself are deployed.
	OwnAfter     []string
	Dependencies []*Dependency
	Resources    []*Resource
}

// Dependency describes an entry under "dependencies" in Chart.yaml.
type Dependency struct {
	Chart    *Chart
	Alias    string
	Tags     []string
	After    []string // the field depends-on
	Disabled bool
}

// Resource describes a resource of a chart.
type Resource struct {
	// Name identifies the resource in its chart. Its name in the cluster is Name, prefixed
	// with the directory of the chart.
	Kind, Name string
	Layer      string
	After      []string // the layers on which the resource depends
}

// Sequenced reports whether the order that the chart declares applies.
func (c *Chart) Sequenced() bool { return c.V3 || c.OptedIn }

// Title returns the name of the subchart in the release: the alias, if any, or the chart name.
func (d *Dependency) Title() string { return cmp.Or(d.Alias, d.Chart.Name) }

// unknownLayer is the name of a layer that no chart has, for dependencies on unknown layers.
const unknownLayer = "ghost"

var kinds = []string{"ConfigMap", "Secret", "Service", "Deployment", "Job", "Widget"}

// generator generates one random chart with its subcharts.
type generator struct {
	*rand.Rand
	charts int // the number of charts until now, from which their names are built
}

// Random returns a random chart with up to three levels of subcharts. The declared order
// contains no cycle.
func Random(r *rand.Rand) *Chart {
	g := &generator{Rand: r}
	return g.chart(0)
}

func (g *generator) chart(depth int) *Chart {
	c := &Chart{Name: fmt.Sprintf("c%d", g.charts), V3: g.IntN(4) > 0}
	c.OptedIn = !c.V3 && g.IntN(3) == 0
	g.charts++
	g.resources(c)
	if depth < 3 {
		for range g.IntN(4 - depth) {
			g.dependency(c, depth)
		}
	}
	g.order(c)
	return c
}

// resources adds resources to c. To avoid cycles, it sorts the layers randomly, and lets each
// resource depend only on layers that precede its own layer. Some resources also depend on a
// layer that does not exist.
func (g *generator) resources(c *Chart) {
	layers := []string{"database", "cache", "queue", "app", "web"}
	g.Shuffle(len(layers), func(i, j int) { layers[i], layers[j] = layers[j], layers[i] })
	for i := range g.IntN(9) {
		r := &Resource{Kind: kinds[g.IntN(len(kinds))], Name: fmt.Sprintf("r%d", i)}
		at := len(layers)
		if g.IntN(3) > 0 {
			at = g.IntN(len(layers))
			r.Layer = layers[at]
		}
		if g.IntN(2) == 0 {
			for range g.IntN(3) {
				if at > 0 {
					r.After = append(r.After, layers[g.IntN(at)])
				}
			}
			if g.IntN(8) == 0 {
				r.After = append(r.After, unknownLayer)
			}
		}
		c.Resources = append(c.Resources, r)
	}
}

// dependency adds an entry under "dependencies" to c: for a new subchart, or for the previous
// subchart with another alias.
func (g *generator) dependency(c *Chart, depth int) {
	d := &Dependency{Disabled: g.IntN(6) == 0}
	if n := len(c.Dependencies); n > 0 && g.IntN(3) == 0 && copyable(c.Dependencies[n-1].Chart) {
		d.Chart = c.Dependencies[n-1].Chart
		d.Alias = fmt.Sprintf("%s-copy%d", d.Chart.Name, n)
	} else {
		d.Chart = g.chart(depth + 1)
		if g.IntN(3) == 0 {
			d.Alias = d.Chart.Name + "-alias"
		}
	}
	for _, tag := range []string{"front", "back"} {
		if g.IntN(4) == 0 {
			d.Tags = append(d.Tags, tag)
		}
	}
	c.Dependencies = append(c.Dependencies, d)
}

// copyable reports whether a parent chart can use c twice: only if c has no subcharts with
// aliases, because Helm ignores these aliases in the second copy, which this package does
// not model.
func copyable(c *Chart) bool {
	for _, d := range c.Dependencies {
		if d.Alias != "" || !copyable(d.Chart) {
			return false
		}
	}
	return true
}

// order declares an order of the subcharts of c. To avoid cycles, a subchart depends on a name,
// such as a tag, only if all subcharts with this name precede it in the list.
func (g *generator) order(c *Chart) {
	var names []string
	for i, d := range c.Dependencies {
		for _, name := range names {
			if last := c.last(name); last < i && g.IntN(3) == 0 {
				d.After = append(d.After, name)
			}
		}
		names = append(names, d.Title(), d.Chart.Name)
		names = append(names, d.Tags...)
	}
	for _, name := range names {
		if g.IntN(3) == 0 && !slices.Contains(c.OwnAfter, name) {
			c.OwnAfter = append(c.OwnAfter, name)
		}
	}
	g.Shuffle(len(c.Dependencies), func(i, j int) {
		c.Dependencies[i], c.Dependencies[j] = c.Dependencies[j], c.Dependencies[i]
	})
}

// last returns the index of the last dependency to which name refers, or -1 if there is none.
func (c *Chart) last(name string) int {
	last := -1
	for i, d := range c.Dependencies {
		if d.named(name) {
			last = i
		}
	}
	return last
}

// named reports whether name refers to d: it is the alias, the name of the chart or a tag.
func (d *Dependency) named(name string) bool {
	return d.Alias == name || d.Chart.Name == name || slices.Contains(d.Tags, name)
}

// chartCopy is one occurrence of an enabled chart in a release. A chart that has several
// aliases occurs several times.
type chartCopy struct {
	*Chart
	title string // the name in the release, which can be an alias
	path  string // the titles of the parent charts and of this one, as in "c0/c1"
	dir   string // the directory that contains Chart.yaml, as in "c0/charts/c1"
	// subs contains the subcharts in the order of Dependencies. Elements for disabled
	// subcharts are nil.
	subs []*chartCopy
}

func (c *Chart) tree() *chartCopy { return newCopy(c, c.Name, c.Name, c.Name) }

func newCopy(c *Chart, title, path, dir string) *chartCopy {
	t := &chartCopy{Chart: c, title: title, path: path, dir: dir, subs: make([]*chartCopy, len(c.Dependencies))}
	for i, d := range c.Dependencies {
		if !d.Disabled {
			t.subs[i] = newCopy(d.Chart, d.Title(), path+"/"+d.Title(), dir+"/charts/"+d.Title())
		}
	}
	return t
}

// present returns the indexes of the enabled subcharts in subs.
func (t *chartCopy) present() []int {
	var all []int
	for i, sub := range t.subs {
		if sub != nil {
			all = append(all, i)
		}
	}
	return all
}

// name returns the name of r in the cluster.
func (t *chartCopy) name(r *Resource) string {
	return strings.ReplaceAll(t.dir, "/", ".") + "." + r.Name
}
