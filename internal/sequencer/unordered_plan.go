// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import (
	"slices"

	"github.com/ordered-helm/helm/internal/dag"
)

// SingleNode returns a plan with one node and no resources, for a release without an order.
func SingleNode(chart string) *Plan {
	return &Plan{
		Nodes:  []*Node{{Chart: chart, Unsequenced: true}},
		Charts: []*PlannedChart{{Path: chart}},
		graph:  dag.New(1),
	}
}

// Chain returns a plan in which each resource is a node that depends on the node of the resource
// before it.
func Chain(chart string, resources []Resource, namespace string) *Plan {
	p := &Plan{Charts: []*PlannedChart{{Path: chart}}, graph: dag.New(len(resources))}
	for i, r := range resources {
		res := newResource(r, namespace, nil)
		p.Nodes = append(p.Nodes, &Node{Chart: chart, Level: i, Awaited: i < len(resources)-1, Resources: []*PlannedResource{&res.PlannedResource}, index: i})
		if i > 0 {
			p.graph.AddEdge(i, i-1)
		}
	}
	return p
}

// Unordered returns a plan with one node that contains all resources of a release. It is
// for releases that were not deployed in order, even if their resources declare one. Each
// List is replaced with its items. If two documents define the same object, the plan
// contains only the first.
func Unordered(chart string, resources []Resource, namespace string) *Plan {
	flat := flatten(resources)
	scopes := customScopes(flat)
	b := &builder{}
	seen := make(map[ID]bool, len(flat))
	for _, r := range flat {
		res := newResource(r, namespace, scopes)
		if res.ID.Name == "" || !seen[res.ID] {
			seen[res.ID] = true
			b.resources = append(b.resources, res)
		}
	}
	slices.SortStableFunc(b.resources, compareResources)
	b.findCRDs()
	p := SingleNode(chart)
	for _, r := range b.resources {
		p.Nodes[0].Resources = append(p.Nodes[0].Resources, &r.PlannedResource)
	}
	return p
}
