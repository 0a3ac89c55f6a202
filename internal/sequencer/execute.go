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

// ExecutionError reports which nodes failed, and which were not started because of that.
type ExecutionError struct {
	// Failed are the nodes that failed, in the order of the plan.
	Failed []NodeError
	// NotStarted are the nodes that were not started, in the same order.
	NotStarted []*Node
}

// NodeError is the error of one node.
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
		parts = append(parts, "skipped (blocked by this failure): "+strings.Join(ids, ", "))
	}
	return strings.Join(parts, "\n")
}

// Unwrap returns the errors of the nodes.
func (e *ExecutionError) Unwrap() []error {
	errs := make([]error, len(e.Failed))
	for i, f := range e.Failed {
		errs[i] = f
	}
	return errs
}

// Execute calls deploy for each node, in its own goroutine, as soon as all dependencies of
// the node have returned without an error. If the node is Awaited, deploy must not return
// before the node is ready. After the first failure, or when ctx is done, Execute starts no
// further nodes and waits for the running ones. It returns all failures together, as an
// *ExecutionError.
//
// After is the last node that the new node waited for, or nil if it waited for none.
func Execute(ctx context.Context, p *Plan, deploy func(ctx context.Context, n, after *Node) error) error {
	outcomes := walkNodes(ctx, p.graph, len(p.Nodes), func(ctx context.Context, v, after int) error {
		if after == noVertex {
			return deploy(ctx, p.Nodes[v], nil)
		}
		return deploy(ctx, p.Nodes[v], p.Nodes[after])
	})
	return executionError(ctx, p.Nodes, outcomes[:len(p.Nodes)])
}

// noVertex stands for no vertex.
const noVertex = -1

// walkNodes visits the vertices of a graph up to a number of nodes. The remaining vertices
// are gates. After a gate, the argument after of visit is the node that opened the gate.
func walkNodes(ctx context.Context, g *dag.Graph, nodes int, visit func(ctx context.Context, v, after int) error) []dag.Outcome {
	gates := make([]int, g.Len()-nodes) // for each gate, the node that opened it
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

// executionError returns an error for the outcomes of the nodes. If a node, identified by
// its ID, was visited in several parts, their failures are combined. The node counts as not
// started if a part was not started and none failed.
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
