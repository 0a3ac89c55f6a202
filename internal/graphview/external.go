// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package graphview

import (
	"time"

	"github.com/ordered-helm/helm/internal/sequencer"
)

// externalDependency is an external dependency of a node or of a whole chart.
type externalDependency struct {
	sequencer.External
	// chart is the path of the chart. node is the node, or nil if the whole chart waits.
	chart string
	node  *sequencer.Node
	// timeout limits the wait; 0 if nothing declares a limit.
	timeout time.Duration
	change  change
}

// key identifies an external dependency in a plan.
func (e externalDependency) key() [2]string {
	if e.node != nil {
		return [2]string{e.node.ID(), e.Need.String()}
	}
	return [2]string{sequencer.EdgeEnd{Chart: e.chart}.ID(), e.Need.String()}
}

// title names an external dependency, for example "external Secret/registry".
func (e externalDependency) title() string { return "external " + e.Need.String() }

// externalOf returns the external dependencies of a plan.
func externalOf(p *sequencer.Plan) []externalDependency {
	var all []externalDependency
	for _, s := range p.Steps {
		for _, e := range s.External {
			all = append(all, externalDependency{External: e, chart: s.Chart, node: s.Node, timeout: s.Timeout})
		}
	}
	return all
}

// compareExternal sets planDiff.external.
func (d *planDiff) compareExternal(now, before []externalDependency) {
	keys := func(list []externalDependency) map[[2]string]bool {
		known := map[[2]string]bool{}
		for _, e := range list {
			known[e.key()] = true
		}
		return known
	}
	inNow, inBefore := keys(now), keys(before)
	for i, e := range now {
		if !inBefore[e.key()] {
			now[i].change = added
		}
	}
	for _, e := range before {
		if !inNow[e.key()] && (e.node == nil || d.nodes[e.node.ID()] != removed) {
			e.change = removed
			now = append(now, e)
		}
	}
	d.external = now
}
