// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package graphview

import "github.com/ordered-helm/helm/internal/sequencer"

// change is how something differs from the plan that it is compared with.
type change string

const (
	unchanged change = ""
	added     change = "new"
	gone      change = "gone"
	moved     change = "moved"
)

// diff is the difference between a plan and the previous one. The zero value is for a view
// that compares nothing.
type diff struct {
	// nodes are the changes of nodes by ID.
	nodes map[string]change
	// goneNodes are the nodes that no longer exist, in the order of the previous plan.
	goneNodes []*sequencer.Node
	// previousNode is the node that a resource was in before, by the ID of the resource.
	// New resources are not in the map.
	previousNode map[sequencer.ID]string
	// goneFrom are the resources that no longer exist, by the ID of the node that they were
	// in.
	goneFrom map[string][]*sequencer.PlannedResource
	// edges are the changed edges. goneEdges are the edges that no longer exist.
	edges     map[[2]string]change
	goneEdges []sequencer.Edge
	compared  bool
}

// compare returns the difference from the previous plan. Nodes and charts are the same if
// their ID or path is the same. Resources are the same if they are the same object.
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

// compareEdges marks an edge as new or gone only if the other plan does not declare it at
// all, even as an edge that other edges imply.
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

// ofResource returns the change of a resource in a node. If the resource moved, it also
// returns its previous node.
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

// counts summarizes the differences in one line.
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
	text := ""
	for _, part := range []struct {
		what   string
		counts map[change]int
	}{{"node", nodes}, {"resource", resources}, {"edge", edges}} {
		for _, c := range []change{added, gone, moved} {
			if n := part.counts[c]; n > 0 {
				if text != "" {
					text += ", "
				}
				text += count(n, part.what) + " " + string(c)
			}
		}
	}
	if text == "" {
		return "no ordering changes"
	}
	return text
}
