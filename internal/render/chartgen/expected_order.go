// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartgen

import "slices"

// ExpectedOrder is the order that the declarations of a chart require.
type ExpectedOrder struct {
	// Names are the names of all resources in the cluster.
	Names []string
	// Charts maps each resource to the path of its chart.
	Charts map[string]string
	// before are, for each resource, the resources that must be ready first according to a
	// single declaration.
	before map[string]map[string]bool
}

// ExpectedOrder derives the order from the chart's declarations.
func (c *Chart) ExpectedOrder() *ExpectedOrder {
	o := &ExpectedOrder{Charts: map[string]string{}, before: map[string]map[string]bool{}}
	o.read(c.tree())
	return o
}

// Before returns the direct predecessors of a resource, in random order.
func (o *ExpectedOrder) Before(name string) []string {
	var names []string
	for n := range o.before[name] {
		names = append(names, n)
	}
	return names
}

// After returns all direct and indirect successors of a resource.
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

func (o *ExpectedOrder) order(first, then []string) {
	for _, t := range then {
		for _, f := range first {
			o.before[t][f] = true
		}
	}
}

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

// readLayers orders the resources of one chart. The resources of a layer have the same
// predecessors. Resources without a layer and dependencies come last.
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

// siblingsBefore returns the subcharts that must be ready before another one, directly or
// through other enabled subcharts.
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
