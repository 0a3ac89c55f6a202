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

// ExecutionError reports which nodes failed, and which were skipped because of these
// failures or because the context was done.
type ExecutionError struct {
	// Failed lists the nodes that failed, in the order of the plan or of deletion.
	Failed []NodeError
	// NotStarted lists the skipped nodes, in the same order.
	NotStarted []*Node
}

// NodeError says in which node of the deployment graph the error Err occurred.
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

// Unwrap returns the elements of e.Failed.
func (e *ExecutionError) Unwrap() []error {
	errs := make([]error, len(e.Failed))
	for i, f := range e.Failed {
		errs[i] = f
	}
	return errs
}

// Execute calls deploy once for each node n of p, in its own goroutine, as soon as deploy
// has returned without an error for all dependencies of n. The argument after is the
// dependency of n that finished last, or nil if n has none. If n.Awaited is set, deploy
// must not return before n is ready.
//
// After the first failure, or when ctx is done, Execute starts no further nodes and waits for
// the running ones. It returns all failures in one error, which wraps an *ExecutionError.
func Execute(ctx context.Context, p *Plan, deploy func(ctx context.Context, n, after *Node) error) error {
	return NewExecutionError(ctx, p.Nodes, dag.WalkValues(ctx, p.graph, p.Nodes, deploy))
}

// NewExecutionError combines the outcomes of nodes in one error, or returns nil if all
// succeeded. A node whose resources are deleted in several groups occurs several times in
// nodes. Its failures are combined. It counts as not started if none of its groups failed,
// but at least one was not started.
func NewExecutionError(ctx context.Context, nodes []*Node, outcomes []dag.VisitOutcome) error {
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
