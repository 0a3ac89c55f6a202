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

// ExecutionError reports which nodes failed, and which were not started because of these
// failures.
type ExecutionError struct {
	// Failed are the nodes that failed, in the order of the plan.
	Failed []NodeError
	// NotStarted are the nodes that were not started, in the same order.
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
		var ids []string
		for _, n := range e.NotStarted {
			ids = append(ids, n.ID())
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

// Execute calls deploy for each node n, in its own goroutine, as soon as deploy has
// returned without an error for all dependencies of n. The argument after is the dependency
// of n that finished last, or nil if n has none. If n.Awaited is set, deploy must not
// return before n is ready.
//
// After the first failure, or when ctx is done, Execute starts no further nodes and waits
// for the running ones. It returns all failures together, as an *ExecutionError.
func Execute(ctx context.Context, p *Plan, deploy func(ctx context.Context, n, after *Node) error) error {
	return executionError(ctx, p.Nodes, walk(ctx, p.graph, p.Nodes, deploy))
}

// walk calls visit for each of the vertices in the order of the graph, like dag.Walk. The
// other vertices of the graph are gates.
func walk[T any](ctx context.Context, graph *dag.Graph, vertices []*T, visit func(ctx context.Context, v, after *T) error) []dag.Outcome {
	return dag.Walk(ctx, graph, len(vertices), func(ctx context.Context, v, after int) error {
		if after < 0 {
			return visit(ctx, vertices[v], nil)
		}
		return visit(ctx, vertices[v], vertices[after])
	})
}

// executionError builds the error for the outcomes of nodes, or returns nil if all
// succeeded. The same node, identified by its ID, can occur several times if it was visited
// in several parts. Then its failures are combined. It counts as not started if at least
// one part was not started and none failed.
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
