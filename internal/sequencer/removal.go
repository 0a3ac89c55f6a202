// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"

	"github.com/ordered-helm/helm/internal/dag"
)

// Removal says in which order resources are deleted: each one after its dependents. It is
// used by uninstall, pruning and --cleanup-on-fail. A Removal must not be changed.
type Removal struct {
	// Groups are in the order of deletion.
	Groups []*RemovalGroup

	// graph has a vertex for each group. The vertices after these are gates: they have no
	// resources and only connect groups. An edge leads from a group to one that is deleted
	// before it.
	graph *dag.Graph
}

// RemovalGroup is a set of resources that are deleted together. They are in the same node
// in every plan that contains them.
type RemovalGroup struct {
	// Node is the node of the resources in the first plan that contains them.
	Node *Node
	// Resources are those of the first plan that contains them, in its order.
	Resources []*PlannedResource
	// Awaited reports whether another group can be deleted only after this one no longer
	// exists.
	Awaited bool

	// positions are the nodes of the resources in all plans. vertex is the group's vertex
	// in the graph.
	positions []position
	vertex    int
}

// position says in which node of which plan an object is. Both are indexes.
type position struct{ plan, node int }

// PlanRemoval computes the order in which to delete resources of several plans, for example
// of the stored revisions of a release. It calls choose once for each resource of each
// plan. choose returns the identity of the resource, and whether to delete it. Resources
// with the same identity are the same object. If a plan contains several of them, only the
// first counts.
//
// A resource is deleted after everything that depends on it, directly or indirectly, in any
// of the plans. If the order of a plan contradicts the orders of earlier plans, it applies
// only to resources that the earlier plans do not contain.
func PlanRemoval(plans []*Plan, choose func(*PlannedResource) (ID, bool)) *Removal {
	groups := groupObjects(plans, choose)
	r := &Removal{Groups: groups, graph: removalGraph(plans, groups)}
	before, after := r.graph.Depths(len(groups)), r.graph.Reverse().Depths(len(groups))
	for _, g := range r.Groups {
		g.Awaited = after[g.vertex] > 0
	}
	slices.SortFunc(r.Groups, func(x, y *RemovalGroup) int {
		return cmp.Or(cmp.Compare(before[x.vertex], before[y.vertex]), slices.CompareFunc(x.positions, y.positions, comparePlaces))
	})
	return r
}

func comparePlaces(x, y position) int {
	return cmp.Or(cmp.Compare(x.plan, y.plan), cmp.Compare(x.node, y.node))
}

// Execute calls remove for each group g, in its own goroutine, as soon as remove has
// returned without an error for all groups that must be deleted before g. The argument
// after is the one of these that finished last, or nil if there is none. If g.Awaited is
// set, remove must not return before the resources of g no longer exist.
//
// After the first failure, or when ctx is done, Execute starts no further groups and waits
// for the running ones. It returns all failures together, as an *ExecutionError that
// contains each node at most once: as failed if any of its groups failed, or as not started
// if any was not started and none failed.
func (r *Removal) Execute(ctx context.Context, remove func(ctx context.Context, g, after *RemovalGroup) error) error {
	groups := make([]*RemovalGroup, len(r.Groups))
	for _, g := range r.Groups {
		groups[g.vertex] = g
	}
	walked := walk(ctx, r.graph, groups, remove)
	nodes, outcomes := make([]*Node, len(groups)), make([]dag.Outcome, len(groups))
	for i, g := range r.Groups {
		nodes[i], outcomes[i] = g.Node, walked[g.vertex]
	}
	return executionError(ctx, nodes, outcomes)
}

// removalObject is an object to delete. places has its node in each plan that contains it.
type removalObject struct {
	resource *PlannedResource
	places   []position
}

// selectObjects returns the objects that choose selects, in the order in which they first
// occur in the plans.
func selectObjects(plans []*Plan, choose func(*PlannedResource) (ID, bool)) []*removalObject {
	var objects []*removalObject
	known := map[ID]*removalObject{}
	for i, plan := range plans {
		for j, n := range plan.Nodes {
			for _, r := range n.Resources {
				id, chosen := choose(r)
				if !chosen {
					continue
				}
				o := known[id]
				if o == nil {
					o = &removalObject{resource: r}
					known[id] = o
					objects = append(objects, o)
				}
				if n := len(o.places); n == 0 || o.places[n-1].plan != i {
					o.places = append(o.places, position{i, j})
				}
			}
		}
	}
	return objects
}

// groupObjects puts the objects that choose selects into groups. Objects that are in the
// same node in every plan form one group.
func groupObjects(plans []*Plan, choose func(*PlannedResource) (ID, bool)) []*RemovalGroup {
	var groups []*RemovalGroup
	byPlaces := map[string]*RemovalGroup{}
	for _, o := range selectObjects(plans, choose) {
		var key []byte
		for _, at := range o.places {
			key = binary.AppendUvarint(binary.AppendUvarint(key, uint64(at.plan)), uint64(at.node))
		}
		g := byPlaces[string(key)]
		if g == nil {
			first := o.places[0]
			g = &RemovalGroup{Node: plans[first.plan].Nodes[first.node], positions: o.places, vertex: len(groups)}
			byPlaces[string(key)] = g
			groups = append(groups, g)
		}
		g.Resources = append(g.Resources, o.resource)
	}
	return groups
}

// removalGraph returns the order of deletion of groups, whose indexes are their vertices,
// according to all plans. If the plans contradict each other, a plan that would cause a
// cycle counts only for resources that no earlier plan contains.
func removalGraph(plans []*Plan, groups []*RemovalGroup) *dag.Graph {
	whole := slices.Repeat([]bool{true}, len(plans))
	g := graphOfFirst(plans, groups, whole)
	if g.Cycle() == nil {
		return g
	}
	for i := range whole {
		g = graphOfFirst(plans, groups, whole[:i+1])
		if g.Cycle() != nil {
			whole[i] = false
			g = graphOfFirst(plans, groups, whole[:i+1])
		}
	}
	return g
}

// graphOfFirst returns the order of deletion according to the first len(whole) plans. If
// whole[i] is false, plan i counts only for resources that no earlier plan contains.
func graphOfFirst(plans []*Plan, groups []*RemovalGroup, whole []bool) *dag.Graph {
	inNode := make([][][]int, len(whole)) // the groups in each plan and node
	for i := range whole {
		inNode[i] = make([][]int, len(plans[i].Nodes))
	}
	for _, g := range groups {
		for _, at := range g.positions {
			if at.plan < len(whole) && (whole[at.plan] || at == g.positions[0]) {
				inNode[at.plan][at.node] = append(inNode[at.plan][at.node], g.vertex)
			}
		}
	}
	graph := dag.New(len(groups))
	for i, nodes := range inNode {
		addReversedPlan(graph, plans[i].graph, nodes)
	}
	return graph
}

// addReversedPlan adds the reversed order of one plan to graph. inNode has the groups in
// each node of the plan. Each vertex of the plan becomes two gates, one before its groups
// and one after them, so that the number of edges is proportional to the size of the plan.
func addReversedPlan(graph, plan *dag.Graph, inNode [][]int) {
	before, after := make([]int, plan.Len()), make([]int, plan.Len())
	for v := range before {
		before[v] = graph.AddVertex()
		after[v] = before[v]
		if v >= len(inNode) || len(inNode[v]) == 0 {
			continue
		}
		after[v] = graph.AddVertex()
		for _, group := range inNode[v] {
			graph.AddEdge(group, before[v])
			graph.AddEdge(after[v], group)
		}
	}
	for v := range before {
		for _, w := range plan.Dependencies(v) {
			graph.AddEdge(before[w], after[v])
		}
	}
}
