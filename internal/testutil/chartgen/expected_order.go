// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartgen

import "slices"

// ExpectedOrder is the order of resources that the declarations of a chart require.
// Resources are identified by their name in the cluster.
type ExpectedOrder struct {
	// Names are all resources.
	Names []string
	// Charts maps each resource to the path of its chart.
	Charts map[string]string
	// before has, for each resource, the resources that must be ready first because of a
	// single declaration.
	before map[string]map[string]bool
}

// ExpectedOrder computes the order from the declarations of c and its subcharts.
func (c *Chart) ExpectedOrder() *ExpectedOrder {
	o := &ExpectedOrder{Charts: map[string]string{}, before: map[string]map[string]bool{}}
	o.read(c.tree())
	return o
}

// Before returns the resources that must be ready before the named one because of a single
// declaration, in random order.
func (o *ExpectedOrder) Before(name string) []string {
	var names []string
	for n := range o.before[name] {
		names = append(names, n)
	}
	return names
}

// After returns all resources that come after the named one, directly or indirectly.
func (o *ExpectedOrder) After(name string) map[string]bool {
	after := map[string]bool{}
	pending := []string{name}
	for len(pending) > 0 {
		last := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		for _, n := range o.Names {
			if o.before[n][last] && !after[n] {
				after[n] = true
				pending = append(pending, n)
			}
		}
	}
	return after
}

// order records that each resource in first must be ready before each resource in then.
func (o *ExpectedOrder) order(first, then []string) {
	for _, t := range then {
		for _, f := range first {
			o.before[t][f] = true
		}
	}
}

// read adds the resources of t and its subcharts, and the order that t declares.
func (o *ExpectedOrder) read(t *copyOf) {
	var own []string
	for _, r := range t.Resources {
		name := t.name(r)
		own = append(own, name)
		o.Names = append(o.Names, name)
		o.Charts[name] = t.path
		o.before[name] = map[string]bool{}
	}
	for _, i := range t.present() {
		o.read(t.subs[i])
	}
	if !t.Sequenced() {
		return
	}
	o.readLayers(t)
	for _, i := range t.present() {
		for _, sibling := range t.siblingsBefore(i) {
			o.order(t.subs[sibling].all(), t.subs[i].all())
		}
	}
	for _, i := range t.present() {
		if slices.ContainsFunc(t.OwnAfter, t.Dependencies[i].named) {
			for _, sub := range append(t.siblingsBefore(i), i) {
				o.order(t.subs[sub].all(), own)
			}
		}
	}
}

// readLayers adds the order of the resources of one chart. All resources of a layer come
// after everything that one of them depends on. Resources without a layer and without
// dependencies come last.
func (o *ExpectedOrder) readLayers(t *copyOf) {
	for _, r := range t.Resources {
		for _, other := range t.Resources {
			sameLayer := r == other || r.Layer != "" && r.Layer == other.Layer
			if !sameLayer {
				continue
			}
			for _, first := range t.Resources {
				if first.Layer != "" && slices.Contains(other.After, first.Layer) {
					o.order([]string{t.name(first)}, []string{t.name(r)})
				}
			}
		}
		if r.Layer != "" || len(r.After) > 0 {
			continue
		}
		for _, first := range t.Resources {
			if first.Layer != "" || len(first.After) > 0 {
				o.order([]string{t.name(first)}, []string{t.name(r)})
			}
		}
	}
}

// siblingsBefore returns the subcharts that must be ready before subchart i, directly or
// because of other enabled subcharts.
func (t *copyOf) siblingsBefore(i int) []int {
	var all []int
	for _, j := range t.present() {
		if j != i && slices.ContainsFunc(t.Dependencies[i].After, t.Dependencies[j].named) {
			all = append(all, j)
			all = append(all, t.siblingsBefore(j)...)
		}
	}
	return all
}

// all returns the names of all resources of a chart and its subcharts.
func (t *copyOf) all() []string {
	var names []string
	for _, r := range t.Resources {
		names = append(names, t.name(r))
	}
	for _, i := range t.present() {
		names = append(names, t.subs[i].all()...)
	}
	return names
}
