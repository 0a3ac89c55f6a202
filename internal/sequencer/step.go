// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import (
	"fmt"

	"helm.sh/helm/v3/pkg/release"
)

// Vertex is something that has a place in the order: a *Node or a *Step.
type Vertex interface {
	// ID identifies the vertex in its plan.
	ID() string
	// Title describes the vertex for users.
	Title() string
}

// Step is something that happens between the deployment of nodes: the hooks of a chart run whose hook
// scope is the chart.
type Step struct {
	// Chart is the path of the chart to which the step belongs.
	Chart string
	// HookEvent is the event whose hooks run: those of the chart and its subcharts, except those with a
	// hook scope of their own.
	HookEvent release.HookEvent

	vertex int
}

// ID identifies the step in its plan, for example "shop/database:(pre-install hooks)".
func (s *Step) ID() string { return fmt.Sprintf("%s:(%s hooks)", s.Chart, s.HookEvent) }

// Title describes the step for users, for example "pre-install hooks of chart shop/database".
func (s *Step) Title() string { return fmt.Sprintf("%s hooks of chart %s", s.HookEvent, s.Chart) }

// ComesAfterStep reports whether the node with index i in Nodes starts only after the step s.
func (p *Plan) ComesAfterStep(i int, s *Step) bool { return p.graph.Reachable(i)[s.vertex] }

// Vertices returns the nodes and the steps of the plan, in the order of the vertices of its graph.
func (p *Plan) Vertices() []Vertex {
	all := make([]Vertex, 0, len(p.Nodes)+len(p.Steps))
	for _, n := range p.Nodes {
		all = append(all, n)
	}
	for _, s := range p.Steps {
		all = append(all, s)
	}
	return all
}
