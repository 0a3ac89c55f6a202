// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package removal computes the order in which objects of a release are deleted: each one after everything
// that depends on it (docs/reference.md, "Uninstall").
package removal

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"

	"github.com/ordered-helm/helm/internal/dag"
	"github.com/ordered-helm/helm/internal/execute"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// Order is the order in which resources are deleted: each one after everything that
// depends on it. It is used by uninstall, pruning and --cleanup-on-fail. An Order must
// not be changed.
type Order struct {
	// Groups are sorted by the order of deletion.
	Groups []*Group

	// graph has a vertex for each group. The other vertices are gates: they have no resources
	// and only connect groups. An edge leads from a group to one that is deleted before it.
	graph *dag.Graph
}

// Group is a set of resources that are deleted as a unit: they are in the same node
// of every plan that contains them. A group without resources stands for a step of a plan.
type Group struct {
	// Node is the node that contains the resources in the first plan that has them; nil if Step is set.
	Node *sequencer.Node
	// Step is a step of a plan, in the reverse order of that plan.
	Step *sequencer.Step
	// Resources are the resources of the group as that node contains them, in its order.
	Resources []*sequencer.PlannedResource
	// Awaited reports whether another group can be deleted only after this one no longer
	// exists.
	Awaited bool

	// positions lists the nodes that contain the resources, one for each plan that has
	// them, or the step. vertex is the number of the group's vertex in Order.graph.
	positions []planPosition
	vertex    int
}

// Vertex returns the node or the step of the group.
func (g *Group) Vertex() sequencer.Vertex {
	if g.Step != nil {
		return g.Step
	}
	return g.Node
}

// planPosition is a node or a step of a plan: the index of the plan, and the number of the vertex
// in its graph.
type planPosition struct{ plan, vertex int }

// OrderOf computes the order in which to delete resources of several plans, for example
// those of the stored revisions of a release. It calls choose once for each resource of each
// plan. choose returns the ID of the object that the resource describes, and whether to delete
// it. If a plan contains several resources with the same ID, only the first counts.
//
// A resource is deleted after everything that depends on it, directly or indirectly, in
// any of the plans. If the order of a plan contradicts the orders of earlier plans, it
// applies only to resources that the earlier plans do not contain.
//
// The steps of the plans take part, too: only a plan for the operation Uninstall has any.
func OrderOf(plans []*sequencer.Plan, choose func(*sequencer.PlannedResource) (sequencer.ID, bool)) *Order {
	groups := addSteps(groupObjects(plans, choose), plans)
	r := &Order{Groups: groups, graph: removalGraph(plans, groups)}
	before, after := r.graph.Depths(len(groups)), r.graph.Reverse().Depths(len(groups))
	for _, g := range r.Groups {
		g.Awaited = after[g.vertex] > 0
	}
	slices.SortFunc(r.Groups, func(x, y *Group) int {
		return cmp.Or(cmp.Compare(before[x.vertex], before[y.vertex]), slices.CompareFunc(x.positions, y.positions, comparePositions))
	})
	return r
}

func comparePositions(x, y planPosition) int {
	return cmp.Or(cmp.Compare(x.plan, y.plan), cmp.Compare(x.vertex, y.vertex))
}

// Execute calls remove once for each group g, in its own goroutine, as soon as remove has
// returned without an error for all groups that must be deleted before g. The argument
// after is the group among these that finished last, or nil if there are none. If
// g.Awaited is set, remove must not return before the resources of g no longer exist.
//
// After the first failure, or when ctx is done, Execute starts no further groups and waits for
// the running ones. It returns all failures in one error, which wraps an *ExecutionError. A
// node whose resources are in several groups occurs there at most once: as failed if any of
// these groups failed, or as not started if any was not started and none failed.
func (r *Order) Execute(ctx context.Context, remove func(ctx context.Context, g, after *Group) error) error {
	groups := make([]*Group, len(r.Groups))
	for _, g := range r.Groups {
		groups[g.vertex] = g
	}
	walked := dag.WalkValues(ctx, r.graph, groups, remove)
	vertices, outcomes := make([]sequencer.Vertex, len(groups)), make([]dag.VisitOutcome, len(groups))
	for i, g := range r.Groups {
		vertices[i], outcomes[i] = g.Vertex(), walked[g.vertex]
	}
	return execute.NewError(ctx, vertices, outcomes)
}

// deletedObject is an object to delete. positions lists its node in each plan that
// contains it.
type deletedObject struct {
	resource  *sequencer.PlannedResource
	positions []planPosition
}

// selectObjects returns the objects that choose selects, in the order in which they first
// occur in the plans.
func selectObjects(plans []*sequencer.Plan, choose func(*sequencer.PlannedResource) (sequencer.ID, bool)) []*deletedObject {
	var objects []*deletedObject
	known := map[sequencer.ID]*deletedObject{}
	for i, plan := range plans {
		for j, n := range plan.Nodes {
			for _, r := range n.Resources {
				id, chosen := choose(r)
				if !chosen {
					continue
				}
				o := known[id]
				if o == nil {
					o = &deletedObject{resource: r}
					known[id] = o
					objects = append(objects, o)
				}
				if n := len(o.positions); n == 0 || o.positions[n-1].plan != i {
					o.positions = append(o.positions, planPosition{i, j})
				}
			}
		}
	}
	return objects
}

// groupObjects puts the objects that choose selects into groups. Objects that are in the
// same node in every plan form one group.
func groupObjects(plans []*sequencer.Plan, choose func(*sequencer.PlannedResource) (sequencer.ID, bool)) []*Group {
	var groups []*Group
	byPositions := map[string]*Group{}
	for _, o := range selectObjects(plans, choose) {
		var key []byte
		for _, at := range o.positions {
			key = binary.AppendUvarint(binary.AppendUvarint(key, uint64(at.plan)), uint64(at.vertex))
		}
		g := byPositions[string(key)]
		if g == nil {
			first := o.positions[0]
			g = &Group{Node: plans[first.plan].Nodes[first.vertex], positions: o.positions, vertex: len(groups)}
			byPositions[string(key)] = g
			groups = append(groups, g)
		}
		g.Resources = append(g.Resources, o.resource)
	}
	return groups
}

// addSteps adds a group for each step of the plans.
func addSteps(groups []*Group, plans []*sequencer.Plan) []*Group {
	for i, p := range plans {
		if p.Operation != sequencer.Uninstall {
			continue
		}
		for j, s := range p.Steps {
			groups = append(groups, &Group{Step: s, positions: []planPosition{{i, len(p.Nodes) + j}}, vertex: len(groups)})
		}
	}
	return groups
}

// removalGraph combines the orders of all plans in a graph that says in which order groups
// are deleted. The vertex of a group is its index. If the order of a plan would cause a
// cycle, because it contradicts earlier plans, it applies only to resources that no
// earlier plan contains.
func removalGraph(plans []*sequencer.Plan, groups []*Group) *dag.Graph {
	useAll := slices.Repeat([]bool{true}, len(plans))
	g := graphOfFirstPlans(plans, groups, useAll)
	if g.Cycle() == nil {
		return g
	}
	for i := range useAll {
		g = graphOfFirstPlans(plans, groups, useAll[:i+1])
		if g.Cycle() != nil {
			useAll[i] = false
			g = graphOfFirstPlans(plans, groups, useAll[:i+1])
		}
	}
	return g
}

// graphOfFirstPlans is like removalGraph, but for the first len(useAll) plans. If useAll[i] is
// false, the order of plan i applies only to resources that no earlier plan contains.
func graphOfFirstPlans(plans []*sequencer.Plan, groups []*Group, useAll []bool) *dag.Graph {
	inVertex := make([][][]int, len(useAll)) // by plan and its vertex, the vertices of the groups in it
	for i := range useAll {
		inVertex[i] = make([][]int, len(plans[i].Nodes)+len(plans[i].Steps))
	}
	for _, g := range groups {
		for _, at := range g.positions {
			if at.plan < len(useAll) && (useAll[at.plan] || at == g.positions[0]) {
				inVertex[at.plan][at.vertex] = append(inVertex[at.plan][at.vertex], g.vertex)
			}
		}
	}
	graph := dag.New(len(groups))
	for i, groups := range inVertex {
		addReversedPlan(graph, sequencer.Graph(plans[i]), groups)
	}
	return graph
}

// addReversedPlan adds the reverse of a plan's order to graph. inVertex lists, for each node and step
// of the plan, the vertices of its groups. Each vertex of the plan becomes two gates, one
// before its groups and one after them, so that the number of edges is proportional to the
// size of the plan.
func addReversedPlan(graph, plan *dag.Graph, inVertex [][]int) {
	before, after := make([]int, plan.Len()), make([]int, plan.Len())
	for v := range before {
		before[v] = graph.AddVertex()
		after[v] = before[v]
		if v >= len(inVertex) || len(inVertex[v]) == 0 {
			continue
		}
		after[v] = graph.AddVertex()
		for _, group := range inVertex[v] {
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
