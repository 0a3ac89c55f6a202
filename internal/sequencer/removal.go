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

// Removal is the graph in which resources are deleted: a resource is deleted after its
// dependents. It must not be changed.
type Removal struct {
	// Groups are sorted by the order of deletion.
	Groups []*RemovalGroup

	// graph has a vertex for each group, then gates as in Plan. An edge leads from a
	// group to one that is deleted before it.
	graph *dag.Graph
}

// RemovalGroup is a set of resources that are deleted together: resources of one node
// that are also in one node in every other plan that has them.
type RemovalGroup struct {
	// Node is their node in the first plan that has them.
	Node *Node
	// Resources are as in that plan, in its order.
	Resources []*PlannedResource
	// Awaited is whether another group can be deleted only after this one no longer exists.
	Awaited bool

	positions []position
	vertex    int
}

// position is the plan and node of an object, by index.
type position struct{ plan, node int }

// PlanRemoval returns the graph in which the chosen resources of the plans are deleted.
// It calls choose once for each resource of each plan. Choose returns whether to delete
// the resource, and its identity: resources with the same identity are the same object.
// Within a plan only the first resource with an identity counts.
//
// A resource is deleted after everything that depended on it, directly or indirectly, in
// any of the plans. If the order of a plan contradicts the orders of earlier plans, it
// applies only to resources that the earlier plans do not have.
func PlanRemoval(plans []*Plan, choose func(*PlannedResource) (ID, bool)) *Removal {
	p := &removalPlanner{plans: plans, groups: groupObjects(plans, choose)}
	r := &Removal{Groups: slices.Clone(p.groups), graph: p.graph()}
	isGroup := func(v int) int {
		if v < len(p.groups) {
			return 1
		}
		return 0
	}
	before, after := r.graph.Depths(isGroup), r.graph.Reverse().Depths(isGroup)
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

// Execute calls remove for each group, in its own goroutine, as soon as all groups that
// come before it have been removed without an error. If the group is Awaited, remove must
// not return before its resources no longer exist. After the first failure, or when ctx is
// done, Execute starts no further groups and waits for the running ones. It returns all
// failures together, as an *ExecutionError that contains each node once: as failed if any
// of its groups failed, otherwise as not started if any was not started.
//
// After is the last group that the new group waited for, or nil if it waited for none.
func (r *Removal) Execute(ctx context.Context, remove func(ctx context.Context, g, after *RemovalGroup) error) error {
	groups := make([]*RemovalGroup, len(r.Groups))
	for _, g := range r.Groups {
		groups[g.vertex] = g
	}
	walked := walkNodes(ctx, r.graph, len(groups), func(ctx context.Context, v, after int) error {
		if after == noVertex {
			return remove(ctx, groups[v], nil)
		}
		return remove(ctx, groups[v], groups[after])
	})
	nodes, outcomes := make([]*Node, len(groups)), make([]dag.Outcome, len(groups))
	for i, g := range r.Groups {
		nodes[i], outcomes[i] = g.Node, walked[g.vertex]
	}
	return executionError(ctx, nodes, outcomes)
}

// removalObject is an object to delete, with its positions in the plans.
type removalObject struct {
	resource *PlannedResource
	places   []position
}

// selectObjects returns the chosen objects, in the order of their first positions.
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

// groupObjects groups the chosen objects that are in the same nodes in all plans.
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

// removalPlanner builds the graph of the groups.
type removalPlanner struct {
	plans  []*Plan
	groups []*RemovalGroup // by vertex
}

// graph returns the graph according to the orders of all plans, unless they contradict each
// other.
func (p *removalPlanner) graph() *dag.Graph {
	whole := make([]bool, len(p.plans))
	for i := range whole {
		whole[i] = true
	}
	g := p.graphOfFirst(whole)
	if g.Cycle() == nil {
		return g
	}
	for i := range whole {
		g = p.graphOfFirst(whole[:i+1])
		if g.Cycle() != nil {
			whole[i] = false
			g = p.graphOfFirst(whole[:i+1])
		}
	}
	return g
}

// graphOfFirst returns the graph according to the first plans: for all resources of a
// plan, or only for those that no earlier plan has.
func (p *removalPlanner) graphOfFirst(whole []bool) *dag.Graph {
	inNode := make([][][]int, len(whole)) // the groups of each plan and node
	for i := range whole {
		inNode[i] = make([][]int, len(p.plans[i].Nodes))
	}
	for _, g := range p.groups {
		for _, at := range g.positions {
			if at.plan < len(whole) && (whole[at.plan] || at == g.positions[0]) {
				inNode[at.plan][at.node] = append(inNode[at.plan][at.node], g.vertex)
			}
		}
	}
	graph := dag.New(len(p.groups))
	for i, nodes := range inNode {
		addReversedPlan(graph, p.plans[i].graph, nodes)
	}
	return graph
}

// addReversedPlan adds the reversed order of one plan, for the groups of its nodes. Each
// vertex of the plan becomes a gate before its groups and a gate after them, so that the
// number of edges is proportional to the size of the plan.
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
