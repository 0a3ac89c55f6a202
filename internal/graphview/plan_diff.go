// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package graphview

import (
	"cmp"
	"strings"

	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/text"
)

// change says how a node, resource or edge of View.Plan differs from View.CompareWith. The
// values are those of the JSON output. A resource has moved if it is now in another node.
type change string

const (
	unchanged change = ""
	added     change = "new"
	removed   change = "gone"
	moved     change = "moved"
)

// text returns the change as an adjective for messages.
func (c change) text() string {
	switch c {
	case added:
		return "added"
	case removed:
		return "removed"
	}
	return string(c)
}

// planDiff contains the differences between two plans: View.CompareWith, here called the
// previous plan, and View.Plan. It is empty if View.CompareWith is nil.
type planDiff struct {
	// nodes contains the change of each node by its ID.
	nodes map[string]change
	// removedNodes contains the nodes that only the previous plan has, in its order.
	removedNodes []*sequencer.Node
	// previousNode contains the ID of the node of each resource in the previous plan.
	previousNode map[sequencer.ID]string
	// removedFrom contains the resources that only the previous plan has, by the ID of
	// their node.
	removedFrom map[string][]*sequencer.PlannedResource
	// edges contains the change of each new or removed edge. The key is that of edgeKey.
	edges        map[[2]string]change
	removedEdges []sequencer.Edge
	// external contains the external dependencies of View.Plan, and those of its nodes and charts that only the
	// previous plan has.
	external []externalDependency
	compared bool
}

// compare returns the differences between View.CompareWith and View.Plan. edges are those of
// View.Plan. Nodes are identified by their ID, and resources by group, kind, namespace and
// name.
func (v *View) compare(edges []sequencer.Edge) planDiff {
	d := planDiff{compared: v.CompareWith != nil, external: externalOf(v.Plan)}
	if v.CompareWith == nil {
		return d
	}
	d.compareNodes(v.Plan, v.CompareWith.Plan)
	d.compareResources(v.Plan, v.CompareWith.Plan)
	d.compareEdges(edges, v.CompareWith.Plan.Edges())
	d.compareExternal(d.external, externalOf(v.CompareWith.Plan))
	return d
}

func (d *planDiff) compareNodes(now, before *sequencer.Plan) {
	d.nodes = map[string]change{}
	for _, n := range before.Nodes {
		d.nodes[n.ID()] = removed
	}
	for _, n := range now.Nodes {
		if _, known := d.nodes[n.ID()]; known {
			d.nodes[n.ID()] = unchanged
		} else {
			d.nodes[n.ID()] = added
		}
	}
	for _, n := range before.Nodes {
		if d.nodes[n.ID()] == removed {
			d.removedNodes = append(d.removedNodes, n)
		}
	}
}

func (d *planDiff) compareResources(now, before *sequencer.Plan) {
	d.previousNode, d.removedFrom = map[sequencer.ID]string{}, map[string][]*sequencer.PlannedResource{}
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
				d.removedFrom[n.ID()] = append(d.removedFrom[n.ID()], r)
			}
		}
	}
}

// compareEdges finds new and removed edges. An edge is new or removed only if the other plan
// does not have it at all, not even as an edge that other edges imply.
func (d *planDiff) compareEdges(now, before []sequencer.Edge) {
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
		// Plan.Edges omits some implicit edges, but an implicit edge exists in every plan that
		// has both of its nodes.
		bothEnds := e.Reasons[0].Implicit && d.nodes[e.First.ID()] == unchanged && d.nodes[e.Then.ID()] == unchanged
		if !inBefore[edgeKey(e)] && !bothEnds {
			d.edges[edgeKey(e)] = added
		}
	}
	for _, e := range before {
		bothEnds := e.Reasons[0].Implicit && d.nodes[e.First.ID()] != removed && d.nodes[e.Then.ID()] != removed
		if !inNow[edgeKey(e)] && !bothEnds && !e.Implied {
			d.edges[edgeKey(e)] = removed
			d.removedEdges = append(d.removedEdges, e)
		}
	}
}

func edgeKey(e sequencer.Edge) [2]string { return [2]string{e.First.ID(), e.Then.ID()} }

// ofResource returns the change of resource r, which is now in node n. If r has moved,
// previous is the ID of the node that contained it in the previous plan.
func (d *planDiff) ofResource(n *sequencer.Node, r *sequencer.PlannedResource) (c change, previous string) {
	if !d.compared {
		return unchanged, ""
	}
	previous, known := d.previousNode[r.ID]
	switch {
	case !known:
		return added, ""
	case previous != n.ID():
		return moved, previous
	}
	return unchanged, ""
}

// counts returns a line with the number of new, removed and moved nodes, resources and edges.
func (d *planDiff) counts(p *sequencer.Plan) string {
	nodes, resources, edges, external := map[change]int{}, map[change]int{}, map[change]int{}, map[change]int{}
	for _, c := range d.nodes {
		nodes[c]++
	}
	for _, n := range p.Nodes {
		for _, r := range n.Resources {
			c, _ := d.ofResource(n, r)
			resources[c]++
		}
	}
	for _, list := range d.removedFrom {
		resources[removed] += len(list)
	}
	for _, c := range d.edges {
		edges[c]++
	}
	for _, e := range d.external {
		external[e.change]++
	}
	var parts []string
	for _, part := range []struct {
		what   string
		counts map[change]int
	}{{"node", nodes}, {"resource", resources}, {"edge", edges}, {"external dependency", external}} {
		for _, c := range []change{added, removed, moved} {
			if n := part.counts[c]; n > 0 {
				parts = append(parts, text.Count(n, part.what)+" "+c.text())
			}
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "no ordering changes")
}
