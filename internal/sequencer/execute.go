// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ordered-helm/helm/internal/dag"
)

// ExecutionError says which nodes failed and which were never started because
// of that.
type ExecutionError struct {
	// Failed are the nodes that failed, in the order of the plan.
	Failed []NodeError
	// NotStarted are the nodes that were never started, in that order too.
	NotStarted []*Node
}

// NodeError is the failure of one node.
type NodeError struct {
	Node *Node
	Err  error
}

func (e NodeError) Error() string { return fmt.Sprintf("%s: %v", e.Node.Title(), e.Err) }

func (e NodeError) Unwrap() error { return e.Err }

func (e *ExecutionError) Error() string {
	var parts []string
	for _, f := range e.Failed {
		parts = append(parts, f.Error())
	}
	if len(e.NotStarted) > 0 {
		ids := make([]string, len(e.NotStarted))
		for i, n := range e.NotStarted {
			ids[i] = n.ID()
		}
		parts = append(parts, "never started because of that: "+strings.Join(ids, ", "))
	}
	return strings.Join(parts, "\n")
}

// Unwrap gives the failures of the nodes.
func (e *ExecutionError) Unwrap() []error {
	errs := make([]error, len(e.Failed))
	for i, f := range e.Failed {
		errs[i] = f
	}
	return errs
}

// Execute calls deploy for every node, each in a goroutine of its own the
// moment all it depends on returned without an error: deploy must not return
// before its node is ready, if the node is Awaited. After the first failure,
// or once ctx is done, nothing new starts; what was started is left to run to
// its end with ctx. All failures are returned together, as *ExecutionError.
//
// It tells deploy after which node, the last that it waited for, the node starts;
// nil if it waited for none.
func Execute(ctx context.Context, p *Plan, deploy func(ctx context.Context, n, after *Node) error) error {
	outcomes := walkNodes(ctx, p.graph, len(p.Nodes), func(ctx context.Context, v, after int) error {
		if after == noVertex {
			return deploy(ctx, p.Nodes[v], nil)
		}
		return deploy(ctx, p.Nodes[v], p.Nodes[after])
	})
	return executionError(ctx, p.Nodes, outcomes[:len(p.Nodes)])
}

// noVertex is no vertex.
const noVertex = -1

// walkNodes visits the vertices of a graph up to a number; those from there on are
// gates. A vertex that starts after a gate starts after what the gate did.
func walkNodes(ctx context.Context, g *dag.Graph, nodes int, visit func(ctx context.Context, v, after int) error) []dag.Outcome {
	gates := make([]int, g.Len()-nodes) // after what each has opened
	return dag.Walk(ctx, g, func(ctx context.Context, v, after int) error {
		if after >= nodes {
			after = gates[after-nodes]
		}
		if v >= nodes {
			gates[v-nodes] = after
			return nil
		}
		return visit(ctx, v, after)
	})
}

// executionError makes an error of what became of the nodes. Where a node, by
// its ID, was visited in parts, their failures count as one, and it was not
// started if one part was not and none failed.
func executionError(ctx context.Context, nodes []*Node, outcomes []dag.Outcome) error {
	e := &ExecutionError{}
	failed, notStarted := map[string]int{}, map[string]bool{}
	for i, n := range nodes {
		if outcomes[i].Err == nil {
			continue
		}
		if at, again := failed[n.ID()]; again {
			e.Failed[at].Err = errors.Join(e.Failed[at].Err, outcomes[i].Err)
			continue
		}
		failed[n.ID()] = len(e.Failed)
		e.Failed = append(e.Failed, NodeError{n, outcomes[i].Err})
	}
	for i, n := range nodes {
		if outcomes[i].Started {
			continue
		}
		if _, known := failed[n.ID()]; !known && !notStarted[n.ID()] {
			notStarted[n.ID()] = true
			e.NotStarted = append(e.NotStarted, n)
		}
	}
	switch {
	case len(e.Failed) > 0:
		return e
	case len(e.NotStarted) > 0:
		return fmt.Errorf("%w: %w", context.Cause(ctx), e)
	}
	return nil
}
