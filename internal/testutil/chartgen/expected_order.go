// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartgen

import "slices"

// ExpectedOrder describes the order of resources that a chart declares. Resources are
// identified by their name in the cluster.
type ExpectedOrder struct {
	// Names contains the names of all resources.
	Names []string
	// Charts maps the name of each resource to the path of its chart.
	Charts map[string]string
	// before contains, for each resource, the resources that must be ready before it because
	// of a declaration. It omits resources that come before only through a chain of declarations.
	before map[string]map[string]bool
}

// ExpectedOrder returns the order that c and its subcharts declare.
func (c *Chart) ExpectedOrder() *ExpectedOrder {
	o := &ExpectedOrder{Charts: map[string]string{}, before: map[string]map[string]bool{}}
	o.read(c.tree())
	return o
}

// Before returns the resources that must be ready directly before the named resource, in
// random order. It omits those that must be ready only because of a chain of declarations.
func (o *ExpectedOrder) Before(name string) []string {
	var names []string
	for n := range o.before[name] {
		names = append(names, n)
	}
	return names
}

// After returns all resources that come after the named resource, directly or indirectly.
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

// read adds the resources of t and its subcharts, and the order that they declare.
func (o *ExpectedOrder) read(t *chartCopy) {
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

// readLayers adds the order of the resources of t itself. If one resource of a layer depends
// on another layer, all resources of its layer do. Resources that have neither a layer nor
// dependencies come last.
func (o *ExpectedOrder) readLayers(t *chartCopy) {
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

// siblingsBefore returns the indexes of the enabled subcharts that must be ready before
// subchart i, directly or because of other enabled subcharts.
func (t *chartCopy) siblingsBefore(i int) []int {
	var all []int
	for _, j := range t.present() {
		if j != i && slices.ContainsFunc(t.Dependencies[i].After, t.Dependencies[j].named) {
			all = append(all, j)
			all = append(all, t.siblingsBefore(j)...)
		}
	}
	return all
}

// all returns the names of all resources of t and its subcharts.
func (t *chartCopy) all() []string {
	var names []string
	for _, r := range t.Resources {
		names = append(names, t.name(r))
	}
	for _, i := range t.present() {
		names = append(names, t.subs[i].all()...)
	}
	return names
}
