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
func Execute(ctx context.Context, p *Plan, deploy func(context.Context, *Node) error) error {
	outcomes := dag.Walk(ctx, p.graph, func(ctx context.Context, v int) error {
		if v >= len(p.Nodes) {
			return nil // a gate
		}
		return deploy(ctx, p.Nodes[v])
	})
	return executionError(ctx, p.Nodes, outcomes[:len(p.Nodes)])
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
