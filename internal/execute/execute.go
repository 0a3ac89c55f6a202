// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package execute follows the deployment graph of a plan: it calls a function for each node and step, after
// those that it depends on.
package execute

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ordered-helm/helm/internal/dag"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// Error reports which nodes and steps failed, and which were skipped because of these
// failures or because the context was done.
type Error struct {
	// Failed lists the nodes and steps that failed, in the order of the plan or of deletion.
	Failed []VertexError
	// NotStarted lists the skipped nodes and steps, in the same order.
	NotStarted []sequencer.Vertex
}

// VertexError says in which node or step of the deployment graph the error Err occurred.
type VertexError struct {
	Vertex sequencer.Vertex
	Err    error
}

func (e VertexError) Error() string { return fmt.Sprintf("%s: %v", e.Vertex.Title(), e.Err) }

func (e VertexError) Unwrap() error { return e.Err }

func (e *Error) Error() string {
	var parts []string
	for _, f := range e.Failed {
		parts = append(parts, f.Error())
	}
	if len(e.NotStarted) > 0 {
		var ids []string
		for _, v := range e.NotStarted {
			ids = append(ids, v.ID())
		}
		parts = append(parts, "skipped (blocked by this failure): "+strings.Join(ids, ", "))
	}
	return strings.Join(parts, "\n")
}

// Unwrap returns the elements of e.Failed.
func (e *Error) Unwrap() []error {
	errs := make([]error, len(e.Failed))
	for i, f := range e.Failed {
		errs[i] = f
	}
	return errs
}

// Plan calls visit once for each node and step v of p, in its own goroutine, as soon as visit
// has returned without an error for everything on which v depends. The argument after is the
// dependency of v that finished last, or nil if v has none. If the field Awaited or AwaitedByStep of
// a node is set, visit must not return before the node is ready.
//
// After the first failure, or when ctx is done, Plan starts nothing else and waits for
// what is running. It returns all failures in one error, which wraps an *Error.
func Plan(ctx context.Context, p *sequencer.Plan, visit func(ctx context.Context, v, after sequencer.Vertex) error) error {
	all := p.Vertices()
	outcomes := dag.Walk(ctx, sequencer.Graph(p), len(all), func(ctx context.Context, v, after int) error {
		if after < 0 {
			return visit(ctx, all[v], nil)
		}
		return visit(ctx, all[v], all[after])
	})
	return NewError(ctx, all, outcomes)
}

// NewError combines the outcomes of vertices in one error, or returns nil if all
// succeeded. A node whose resources are deleted in several groups occurs several times in
// vertices. Its failures are combined. It counts as not started if none of its groups failed,
// but at least one was not started.
func NewError(ctx context.Context, vertices []sequencer.Vertex, outcomes []dag.VisitOutcome) error {
	e := &Error{}
	failed, notStarted := map[string]int{}, map[string]bool{}
	for i, v := range vertices {
		if outcomes[i].Err == nil {
			continue
		}
		if at, again := failed[v.ID()]; again {
			e.Failed[at].Err = errors.Join(e.Failed[at].Err, outcomes[i].Err)
			continue
		}
		failed[v.ID()] = len(e.Failed)
		e.Failed = append(e.Failed, VertexError{v, outcomes[i].Err})
	}
	for i, v := range vertices {
		if outcomes[i].Started {
			continue
		}
		if _, known := failed[v.ID()]; !known && !notStarted[v.ID()] {
			notStarted[v.ID()] = true
			e.NotStarted = append(e.NotStarted, v)
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
