// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package random

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// generatedChart is a generated chart in its current version.
type generatedChart struct {
	name string
	// version is its apiVersion. optedIn is true if its apiVersion is not v3, but its
	// annotations for the order apply.
	version string
	optedIn bool
	// copied is true if the release contains it several times, under different aliases. The
	// names of its objects then contain the path of the chart, and the objects never move to
	// another chart.
	copied bool
	// layers contains its layers. A layer can depend only on layers that precede it.
	layers  []string
	things  []*template
	entries []*dependency
	// ownAfter contains the subcharts on which the chart's own objects depend.
	ownAfter []string
}

// dependency is an entry in the dependencies of a chart. Several entries can refer to the same
// chart.
type dependency struct {
	chart *generatedChart
	alias string
	after []string
}

func (e *dependency) effectiveName() string {
	if e.alias != "" {
		return e.alias
	}
	return e.chart.name
}

// template is an object in the templates of a chart.
type template struct {
	kind, name, layer string
	after             []string
	// fields contains the declared fields of the object, in the form of fieldsOf.
	fields map[string]string
}

// chartGenerator generates the charts of a release: a root chart with subcharts, which change
// from revision to revision.
type chartGenerator struct {
	*rand.Rand
	root *generatedChart
	// defaults contains the values in values.yaml of the root chart.
	defaults chartValues
	// made is the number of names that were generated.
	made int
}

// newChartGenerator generates the first version of the charts: a root chart with subcharts,
// some of which occur twice or have a subchart themselves.
func newChartGenerator(r *rand.Rand) *chartGenerator {
	f := &chartGenerator{Rand: r, defaults: chartValues{"global.salt": "chart"}}
	f.root = &generatedChart{name: "app", version: "v3"}
	for i := range 1 + r.IntN(3) {
		sub := f.chart(fmt.Sprintf("c%d", i))
		first := &dependency{chart: sub}
		f.root.entries = append(f.root.entries, first)
		if sub.copied = r.IntN(3) == 0; sub.copied {
			f.root.entries = append(f.root.entries, &dependency{chart: sub, alias: sub.name + "-copy"})
		}
		if sub.copied || r.IntN(3) == 0 {
			first.alias = sub.name + "-alias"
		}
		if r.IntN(3) == 0 {
			inner := f.chart(fmt.Sprintf("n%d", i))
			inner.copied = sub.copied
			sub.entries = append(sub.entries, &dependency{chart: inner})
		}
	}
	for _, e := range f.root.entries {
		f.defaults[e.effectiveName()+".enabled"] = r.IntN(6) > 0
		for _, inner := range e.chart.entries {
			f.defaults[e.effectiveName()+"."+inner.effectiveName()+".enabled"] = r.IntN(6) > 0
		}
	}
	for _, c := range f.root.all() {
		f.reorder(c)
	}
	for range 8 + r.IntN(5) {
		f.add()
	}
	return f
}

func (f *chartGenerator) chart(name string) *generatedChart {
	c := &generatedChart{name: name, version: "v3"}
	if f.IntN(4) == 0 {
		c.version, c.optedIn = "v2", f.IntN(2) == 0
	}
	return c
}

// all returns the chart and its subcharts at every level, each once.
func (c *generatedChart) all() []*generatedChart {
	list := []*generatedChart{c}
	for _, e := range c.entries {
		if !slices.Contains(list, e.chart) {
			list = append(list, e.chart.all()...)
		}
	}
	return list
}

// clone returns a copy of the generator and its charts, so that they can be changed for one
// revision.
func (f *chartGenerator) clone() *chartGenerator {
	other := *f
	other.root, other.defaults = f.root.clone(map[*generatedChart]*generatedChart{}), maps.Clone(f.defaults)
	return &other
}

func (c *generatedChart) clone(done map[*generatedChart]*generatedChart) *generatedChart {
	if done[c] != nil {
		return done[c]
	}
	other := *c
	done[c] = &other
	other.things = nil
	for _, th := range c.things {
		other.things = append(other.things, th.clone())
	}
	other.entries = nil
	for _, e := range c.entries {
		other.entries = append(other.entries, &dependency{chart: e.chart.clone(done), alias: e.alias, after: e.after})
	}
	return &other
}

// id returns the "Kind/name" of the object of a template. The chart must not be copied.
func (th *template) id() string { return th.kind + "/" + th.name }

func (th *template) clone() *template {
	other := *th
	other.fields = maps.Clone(th.fields)
	return &other
}

// reorder gives the layers and subcharts of a chart another random order.
func (f *chartGenerator) reorder(c *generatedChart) {
	c.layers = []string{"data", "queue", "web"}
	f.Shuffle(len(c.layers), func(i, j int) { c.layers[i], c.layers[j] = c.layers[j], c.layers[i] })
	for _, th := range c.things {
		f.assignLayer(c, th)
	}
	c.ownAfter = nil
	var before []string
	for _, i := range f.Perm(len(c.entries)) {
		e := c.entries[i]
		e.after = f.pickSome(before, 3)
		before = append(before, e.effectiveName())
	}
	c.ownAfter = f.pickSome(before, 3)
}

// pickSome returns a random selection of about one in n of the names.
func (f *chartGenerator) pickSome(from []string, n int) []string {
	var list []string
	for _, name := range from {
		if f.IntN(n) == 0 {
			list = append(list, name)
		}
	}
	return list
}

// assignLayer puts a template into a layer of its chart, or into none.
func (f *chartGenerator) assignLayer(c *generatedChart, th *template) {
	at := f.IntN(len(c.layers) + 1)
	th.layer, th.after = "", nil
	if at < len(c.layers) {
		th.layer = c.layers[at]
	}
	if f.IntN(2) == 0 {
		th.after = f.pickSome(c.layers[:at], 2)
	}
	if f.IntN(20) == 0 {
		th.after = append(th.after, "ghost")
	}
}

// randomKinds contains the kinds of templates. Kinds that are listed more often are used more
// often.
var randomKinds = []string{
	"ConfigMap", "ConfigMap", "ConfigMap", "ConfigMap", "ConfigMap", "ConfigMap", "ConfigMap",
	"Secret", "Secret", "Secret", "Service", "Service", "ServiceAccount", "ServiceAccount", "Deployment", "Pod", "Job",
}

// add adds a random template to one of the charts.
func (f *chartGenerator) add() {
	charts := f.root.all()
	c := charts[f.IntN(len(charts))]
	th := f.newTemplate(randomKinds[f.IntN(len(randomKinds))])
	f.assignLayer(c, th)
	c.things = append(c.things, th)
}

func (f *chartGenerator) newTemplate(kind string) *template {
	f.made++
	th := &template{kind: kind, name: fmt.Sprintf("o%d", f.made), fields: map[string]string{}}
	if kind == "Service" {
		th.fields["port 80"] = "http"
	}
	for range f.IntN(4) {
		f.change(th)
	}
	if f.IntN(8) == 0 {
		f.policy(th)
	}
	return th
}

// change sets or removes a random field of a template, but no immutable field.
func (f *chartGenerator) change(th *template) {
	keys := []string{"label t-one", "label t-two", "annotation t/one", "annotation t/two"}
	switch th.kind {
	case "ConfigMap", "Secret":
		keys = append(keys, "data one", "data two", "data three", "data four", "data five")
	case "Service":
		keys = append(keys, "port 81", "port 82", "port 83", "publish")
	case "ServiceAccount":
		keys = append(keys, "automount")
	case "Deployment":
		keys = append(keys, "env ONE", "env TWO", "env THREE", "replicas")
	}
	key := keys[f.IntN(len(keys))]
	value := fmt.Sprintf("v%d", f.IntN(1000))
	switch {
	case key == "publish":
		value = "true"
	case key == "automount":
		value = "false"
	case key == "replicas":
		value = "2"
	case strings.HasPrefix(key, "port "):
		value = fmt.Sprintf("p%s-%s", key[5:], value)
	case strings.HasPrefix(key, "data ") && f.IntN(4) == 0:
		value = salted
	}
	if _, has := th.fields[key]; has && f.IntN(2) == 0 {
		delete(th.fields, key)
	} else {
		th.fields[key] = value
	}
}

// policy sets or removes the resource policy of a template.
func (f *chartGenerator) policy(th *template) {
	if th.fields["policy"] != "" {
		delete(th.fields, "policy")
		return
	}
	th.fields["policy"] = []string{"keep", "keep", "keep", " Keep"}[f.IntN(4)]
}

// nextVersion changes the charts at random.
func (f *chartGenerator) nextVersion() {
	for range f.IntN(5) {
		charts := f.root.all()
		c := charts[f.IntN(len(charts))]
		i := -1
		if len(c.things) > 0 {
			i = f.IntN(len(c.things))
		}
		switch what := f.IntN(12); {
		case what == 0:
			f.reorder(c)
		case what == 1:
			titles := slices.Sorted(maps.Keys(f.defaults))
			if title := titles[f.IntN(len(titles))]; title != "global.salt" {
				f.defaults[title] = f.IntN(4) > 0
			}
		case what <= 4 || i < 0:
			f.add()
		case what <= 6:
			c.things = slices.Delete(c.things, i, i+1)
		case what == 7:
			f.assignLayer(c, c.things[i])
		case what == 8:
			f.move(c, i)
		case what == 9 && f.IntN(2) == 0:
			f.policy(c.things[i])
		default:
			f.change(c.things[i])
		}
	}
}

// move moves a template to another chart. Its object has the same name as before.
func (f *chartGenerator) move(from *generatedChart, i int) {
	charts := f.root.all()
	to := charts[f.IntN(len(charts))]
	if from.copied || to.copied {
		return
	}
	th := from.things[i]
	from.things = slices.Delete(from.things, i, i+1)
	f.assignLayer(to, th)
	to.things = append(to.things, th)
}
