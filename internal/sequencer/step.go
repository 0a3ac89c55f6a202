// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/externalneed"
)

// Vertex is something that has a place in the order: a *Node or a *Step.
type Vertex interface {
	// ID identifies the vertex in its plan.
	ID() string
	// Title describes the vertex for users.
	Title() string
}

// Step is something that happens between the deployment of nodes: the hooks of a chart run whose hook
// scope is the chart, or the operation waits for external dependencies.
type Step struct {
	// Chart is the path of the chart to which the step belongs.
	Chart string
	// External lists the external dependencies for which the step waits, sorted; empty if the step runs
	// hooks. Timeout limits the wait; 0 if nothing declares a limit.
	External []External
	Timeout  time.Duration
	// Node is the node that needs the external dependencies; nil if the whole chart does.
	Node *Node
	// HookEvent is the event whose hooks run: those of the chart and its subcharts, except those with a
	// hook scope of their own.
	HookEvent release.HookEvent

	vertex int
	// waiting is Node while Build computes the plan. number is the position of the step among those of the
	// same node or chart.
	waiting *draftNode
	number  int
}

// ID identifies the step in its plan, for example "shop/database:(pre-install hooks)" or
// "shop:(external dependencies)".
func (s *Step) ID() string {
	if len(s.External) == 0 {
		return fmt.Sprintf("%s:(%s hooks)", s.Chart, s.HookEvent)
	}
	owner, suffix := s.Chart, ""
	if s.Node != nil {
		owner = s.Node.ID()
		if s.Node.Unsequenced {
			owner += ":unlayered"
		}
	}
	if s.number > 0 {
		suffix = fmt.Sprintf("#%d", s.number+1)
	}
	return owner + ":(external dependencies)" + suffix
}

// Title describes the step for users, for example "pre-install hooks of chart shop/database" or
// "external dependencies of chart shop".
func (s *Step) Title() string {
	switch {
	case len(s.External) == 0:
		return fmt.Sprintf("%s hooks of chart %s", s.HookEvent, s.Chart)
	case s.Node != nil:
		return "external dependencies of " + s.Node.Title()
	}
	return "external dependencies of chart " + s.Chart
}

// Needs returns the external dependencies of the step.
func (s *Step) Needs() []externalneed.Need {
	needs := make([]externalneed.Need, len(s.External))
	for i, e := range s.External {
		needs[i] = e.Need
	}
	return needs
}

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

// makeSteps creates the steps of the plan.
func (b *builder) makeSteps() {
	b.makeExternalSteps()
	b.makeHookSteps()
	slices.SortStableFunc(b.steps, func(x, y *Step) int {
		return cmp.Or(cmp.Compare(x.Chart, y.Chart), cmp.Compare(x.HookEvent, y.HookEvent))
	})
	for i, s := range b.steps {
		s.vertex = len(b.nodes) + i
	}
}
