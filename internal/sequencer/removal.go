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

// Removal is the graph by which resources are deleted: those that others
// depend on last. It must not be changed.
type Removal struct {
	// Groups are what is deleted, what goes first first.
	Groups []*RemovalGroup

	// graph has a vertex for each group, and after these gates as Plan has. An
	// edge leads from what is deleted later to what is deleted before it.
	graph *dag.Graph
}

// RemovalGroup is what is deleted at once: resources of one node that are also
// together in every other plan that has them.
type RemovalGroup struct {
	// Node is their node in the first plan that has them.
	Node *Node
	// Resources are as they stand in that plan, in its order.
	Resources []*PlannedResource
	// Awaited is whether another group may be deleted only once this one is
	// gone.
	Awaited bool

	positions []position
	vertex    int
}

// position is where an object stands in one of the plans: the node's index.
type position struct{ plan, node int }

// PlanRemoval plans the deletion of what choose picks from the plans. The
// function is asked once for each resource of each plan whether to delete it,
// and by which identity it is known: objects of equal identity in two plans
// are one, which is deleted once. Within one plan an identity counts where it
// stands first.
//
// A resource is deleted once all that depended on it is gone, over any number
// of nodes and in every plan that has it. Where the order of a plan
// contradicts those of the plans before it, it counts only for what none of
// them has.
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

// Execute calls remove for every group, each in a goroutine of its own the
// moment all that must go before it was removed without an error: remove must
// not return before the group is gone, if it is Awaited. After the first
// failure, or once ctx is done, nothing new starts; what was started is left to
// run to its end with ctx. All failures are returned together, as
// *ExecutionError with each node once: one that failed in part as failed, one
// that was removed only in part as not started.
//
// It tells remove after which group, the last that it waited for, the group is
// removed; nil if it waited for none.
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

// removalObject is what choose told one identity of, with where it stands.
type removalObject struct {
	resource *PlannedResource
	places   []position
}

// selectObjects lists the chosen objects in the order of their first places.
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

// groupObjects groups the chosen objects that stand together everywhere.
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

// removalPlanner makes the graph over the groups.
type removalPlanner struct {
	plans  []*Plan
	groups []*RemovalGroup // by vertex
}

// graph gives the graph by the orders of all plans, as far as they agree.
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

// graphOfFirst makes the graph by the orders of the first plans: of all that a plan
// has, or of what it has first.
func (p *removalPlanner) graphOfFirst(whole []bool) *dag.Graph {
	inNode := make([][][]int, len(whole)) // of each plan and node the groups
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

// addReversedPlan adds the order of one plan, turned round, for the groups in its
// nodes. Each vertex of the plan becomes a gate before and one after what is
// deleted of it, so that the number of edges stays in proportion to the plan's.
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
