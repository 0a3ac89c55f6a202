// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package chartgen generates random charts for tests. Only tests import it. It computes the
// expected order of a chart without using any code of package sequencer, so that tests can
// compare the two.
package chartgen

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Chart is a generated chart with its declarations of order.
type Chart struct {
	Name string
	// V3 reports whether the apiVersion is v3 instead of v2. OptedIn reports whether a
	// chart with apiVersion v2 enables sequencing with an annotation.
	V3, OptedIn bool
	// OwnAfter are the names of the subcharts that must be ready before the chart's own
	// resources.
	OwnAfter     []string
	Dependencies []*Dependency
	Resources    []*Resource
}

// Dependency is an entry under "dependencies" in a chart. After is its depends-on.
type Dependency struct {
	Chart    *Chart
	Alias    string
	Tags     []string
	After    []string
	Disabled bool
}

// Resource is a resource of a chart. After are the layers that it depends on. Its name in
// the cluster is Name, prefixed with the path of the chart.
type Resource struct {
	Kind, Name string
	Layer      string
	After      []string
}

// Sequenced reports whether the chart's sequencing declarations apply.
func (c *Chart) Sequenced() bool { return c.V3 || c.OptedIn }

// Title returns the name of the dependency in the tree of charts.
func (d *Dependency) Title() string { return cmp.Or(d.Alias, d.Chart.Name) }

// ghost is the name of a layer that no chart has, for dependencies on unknown layers.
const ghost = "ghost"

var kinds = []string{"ConfigMap", "Secret", "Service", "Deployment", "Job", "Widget"}

// generator generates one random chart. charts counts the charts so far, to give each a
// different name.
type generator struct {
	*rand.Rand
	charts int
}

// Random returns a random chart with up to three levels of subcharts. Its declarations do
// not contain a cycle.
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

// resources adds resources to c. To avoid cycles, each depends only on layers that precede
// its own in a random order, and occasionally on a layer that does not exist.
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
				r.After = append(r.After, ghost)
			}
		}
		c.Resources = append(c.Resources, r)
	}
}

// dependency adds a subchart to c, or a second entry with another alias for the previous
// subchart.
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

// copyable reports whether a chart contains no aliases. In the second copy of a chart, Helm
// ignores the aliases of its subcharts, which this package does not model.
func copyable(c *Chart) bool {
	for _, d := range c.Dependencies {
		if d.Alias != "" || !copyable(d.Chart) {
			return false
		}
	}
	return true
}

// order declares an order of the subcharts of c. To avoid cycles, a subchart depends on a
// name only if all subcharts to which the name refers precede it in the list.
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

// last returns the index of the last dependency to which the name refers, or -1.
func (c *Chart) last(name string) int {
	last := -1
	for i, d := range c.Dependencies {
		if d.named(name) {
			last = i
		}
	}
	return last
}

// named reports whether the name refers to d. It can be an alias, the name of a chart or a
// tag.
func (d *Dependency) named(name string) bool {
	return d.Alias == name || d.Chart.Name == name || slices.Contains(d.Tags, name)
}

// copyOf is a chart in the tree of enabled charts. A chart that has several aliases occurs
// there several times.
type copyOf struct {
	*Chart
	title, path, folder string
	// subs are the subcharts, with the indexes of Dependencies. It is nil for a disabled
	// one.
	subs []*copyOf
}

func (c *Chart) tree() *copyOf { return newCopy(c, c.Name, c.Name, c.Name) }

func newCopy(c *Chart, title, path, folder string) *copyOf {
	t := &copyOf{Chart: c, title: title, path: path, folder: folder, subs: make([]*copyOf, len(c.Dependencies))}
	for i, d := range c.Dependencies {
		if !d.Disabled {
			t.subs[i] = newCopy(d.Chart, d.Title(), path+"/"+d.Title(), folder+"/charts/"+d.Title())
		}
	}
	return t
}

// present returns the indexes in subs of the enabled subcharts.
func (t *copyOf) present() []int {
	var all []int
	for i, sub := range t.subs {
		if sub != nil {
			all = append(all, i)
		}
	}
	return all
}

// name returns the name of r in the cluster.
func (t *copyOf) name(r *Resource) string {
	return strings.ReplaceAll(t.folder, "/", ".") + "." + r.Name
}
