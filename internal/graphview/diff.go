// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package graphview

import (
	"cmp"
	"strings"

	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/text"
)

// change is how a node, resource or edge differs from the plan in View.Before. A resource
// is moved if it is now in another node.
type change string

const (
	unchanged change = ""
	added     change = "new"
	gone      change = "gone"
	moved     change = "moved"
)

// text returns the change for people. The values of the constants are those in JSON.
func (c change) text() string {
	switch c {
	case added:
		return "added"
	case gone:
		return "removed"
	}
	return string(c)
}

// diff contains the differences between the plan in View.Before and View.Plan. It is empty
// if there is no plan to compare with.
type diff struct {
	// nodes contains the change of each node by its ID.
	nodes map[string]change
	// goneNodes contains the nodes that only View.Before has, in the order of its plan.
	goneNodes []*sequencer.Node
	// previousNode contains, for each resource in View.Before, the ID of its node there.
	previousNode map[sequencer.ID]string
	// goneFrom contains the resources that only View.Before has, by the ID of their node
	// there.
	goneFrom map[string][]*sequencer.PlannedResource
	// edges contains the change of each new or gone edge. goneEdges contains the gone
	// edges.
	edges     map[[2]string]change
	goneEdges []sequencer.Edge
	compared  bool
}

// compare returns the differences between View.Before and View.Plan. edges are the edges of
// View.Plan. Nodes are compared by their ID, charts by their path, and resources by their
// group, kind, namespace and name.
func (v *View) compare(edges []sequencer.Edge) diff {
	d := diff{compared: v.Before != nil}
	if v.Before == nil {
		return d
	}
	d.compareNodes(v.Plan, v.Before.Plan)
	d.compareResources(v.Plan, v.Before.Plan)
	d.compareEdges(edges, v.Before.Plan.Edges())
	return d
}

func (d *diff) compareNodes(now, before *sequencer.Plan) {
	d.nodes = map[string]change{}
	for _, n := range before.Nodes {
		d.nodes[n.ID()] = gone
	}
	for _, n := range now.Nodes {
		if _, known := d.nodes[n.ID()]; known {
			d.nodes[n.ID()] = unchanged
		} else {
			d.nodes[n.ID()] = added
		}
	}
	for _, n := range before.Nodes {
		if d.nodes[n.ID()] == gone {
			d.goneNodes = append(d.goneNodes, n)
		}
	}
}

func (d *diff) compareResources(now, before *sequencer.Plan) {
	d.previousNode, d.goneFrom = map[sequencer.ID]string{}, map[string][]*sequencer.PlannedResource{}
	for _, n := range before.Nodes {
		for _, r := range n.Resources {
			d.previousNode[r.ID] = n.ID()
		}
	}
	here := map[sequencer.ID]bool{}
	for _, n := range now.Nodes {
		for _, r := range n.Resources {
			here[r.ID] = true
		}
	}
	for _, n := range before.Nodes {
		for _, r := range n.Resources {
			if !here[r.ID] {
				d.goneFrom[n.ID()] = append(d.goneFrom[n.ID()], r)
			}
		}
	}
}

// compareEdges finds new and gone edges. An edge is new or gone only if the other plan does
// not declare it at all, not even as an edge that other edges imply.
func (d *diff) compareEdges(now, before []sequencer.Edge) {
	d.edges = map[[2]string]change{}
	known := func(edges []sequencer.Edge) map[[2]string]bool {
		m := map[[2]string]bool{}
		for _, e := range edges {
			m[edgeKey(e)] = true
		}
		return m
	}
	inNow, inBefore := known(now), known(before)
	for _, e := range now {
		// Plans do not list every implicit edge, but such an edge exists whenever both of
		// its ends exist.
		bothEnds := e.Reasons[0].Implicit && d.nodes[e.First.ID()] == unchanged && d.nodes[e.Then.ID()] == unchanged
		if !inBefore[edgeKey(e)] && !bothEnds {
			d.edges[edgeKey(e)] = added
		}
	}
	for _, e := range before {
		bothEnds := e.Reasons[0].Implicit && d.nodes[e.First.ID()] != gone && d.nodes[e.Then.ID()] != gone
		if !inNow[edgeKey(e)] && !bothEnds && !e.Implied {
			d.edges[edgeKey(e)] = gone
			d.goneEdges = append(d.goneEdges, e)
		}
	}
}

func edgeKey(e sequencer.Edge) [2]string { return [2]string{e.First.ID(), e.Then.ID()} }

// ofResource returns the change of the resource r of node n. If it has moved, ofResource
// also returns the ID of its node in View.Before.
func (d *diff) ofResource(n *sequencer.Node, r *sequencer.PlannedResource) (c change, was string) {
	if !d.compared {
		return unchanged, ""
	}
	was, known := d.previousNode[r.ID]
	switch {
	case !known:
		return added, ""
	case was != n.ID():
		return moved, was
	}
	return unchanged, ""
}

// counts returns the number of new, gone and moved nodes, resources and edges in one line.
func (d *diff) counts(p *sequencer.Plan) string {
	nodes, resources, edges := map[change]int{}, map[change]int{}, map[change]int{}
	for _, c := range d.nodes {
		nodes[c]++
	}
	for _, n := range p.Nodes {
		for _, r := range n.Resources {
			c, _ := d.ofResource(n, r)
			resources[c]++
		}
	}
	for _, list := range d.goneFrom {
		resources[gone] += len(list)
	}
	for _, c := range d.edges {
		edges[c]++
	}
	var parts []string
	for _, part := range []struct {
		what   string
		counts map[change]int
	}{{"node", nodes}, {"resource", resources}, {"edge", edges}} {
		for _, c := range []change{added, gone, moved} {
			if n := part.counts[c]; n > 0 {
				parts = append(parts, text.Count(n, part.what)+" "+c.text())
			}
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "no ordering changes")
}
