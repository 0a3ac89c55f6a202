// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package timeline records what an operation does, from its events: when each step began,
// what it waited for and why, and the critical path (docs/reference.md, "The timeline").
package timeline

import (
	"strings"
	"time"

	"github.com/ordered-helm/helm/internal/event"
)

// Timeline is a record of operations. The first one is the operation that the user
// requested. It is followed by operations that undo it.
type Timeline struct {
	Operations []*Operation
	// Warnings are warnings for the author or the operator.
	Warnings []Note
}

// Note is a message with its time.
type Note struct {
	At   time.Time
	Text string
}

// Operation is one operation. End is zero while it is running.
type Operation struct {
	event.Operation

	Start, End time.Time
	// Err is why it failed, or nil.
	Err error
	// Doing is the last message about what it is doing as a whole.
	Doing string
	// Spans are its nodes and hooks. Nodes are added in the order of the plan when the plan
	// is known, and hooks when they start.
	Spans []*Span
}

// Kind is the kind of a span.
type Kind string

const (
	// Deploy is a node that is deployed.
	Deploy Kind = "node"
	// Remove is a node that is deleted.
	Remove Kind = "removal"
	// Hook is a hook.
	Hook Kind = "hook"
	// Wait is the wait for all resources together.
	Wait Kind = "wait"
)

// State is the state of a span.
type State string

const (
	// Waiting spans have not started.
	Waiting State = "waiting"
	// Running spans have started.
	Running State = "running"
	// Done spans have succeeded.
	Done State = "done"
	// Failed spans have failed.
	Failed State = "failed"
	// Unfinished spans were running when the operation failed for another reason.
	Unfinished State = "unfinished"
)

// Span is one node, hook or wait.
type Span struct {
	Kind Kind
	// ID is the node's ID, or the hook's kind and name.
	ID string
	// Chart is the path of the node's chart. Layer is its layer, if it is one.
	Chart, Layer string
	// HookEvent is the event that a hook runs for.
	HookEvent string
	State     State
	// After is the last node that this one waited for.
	After string
	// Needs are the nodes that it waits for, and NeedsAll the charts.
	Needs, NeedsAll []string
	// Size is the number of its resources.
	Size int
	// Start is when it began, Applied when all its resources were written, and End when it
	// ended. They are zero until then.
	Start, Applied, End time.Time
	// Deadline is when a hook times out. It is zero if there is no limit.
	Deadline time.Time
	// Message is the last message about it, and Err the reason why it failed.
	Message string
	Err     error
	// Log is the last line of a hook's log.
	Log string
	// Resources are its resources in the order of the first event about each.
	Resources []*Resource
	// Critical is whether it is on the critical path.
	Critical bool
}

// Resource is an object that the operation waits for.
type Resource struct {
	// Name is its kind and name. Namespace is empty if it is the namespace of the release.
	Name, Namespace string
	Change
	// Deadline is when the wait for it times out. It is zero if there is no limit.
	Deadline time.Time
	// Changes are its states until now, in chronological order.
	Changes []Change
}

// Change is the state of a resource from a time on.
type Change struct {
	At             time.Time
	State, Message string
	// Cause is an explanation of the state. It can be empty.
	Cause string
}

// Settled reports whether the resource has reached the state that the operation waits for.
func (c Change) Settled() bool { return c.State == "Ready" || c.State == "Gone" }

// Why returns the message without the state at its beginning.
func (c Change) Why() string {
	return strings.TrimPrefix(strings.TrimPrefix(c.Message, c.State), ": ")
}

// Took returns the duration of a span until it ended or until now. It is 0 if the span has
// not started.
func (s *Span) Took(now time.Time) time.Duration {
	switch {
	case s.Start.IsZero():
		return 0
	case s.End.IsZero():
		return now.Sub(s.Start)
	}
	return s.End.Sub(s.Start)
}

// Label returns the name of a node within its chart. It is empty for the unlayered
// resources of the chart.
func (s *Span) Label() string {
	if s.Kind != Deploy && s.Kind != Remove {
		return s.ID
	}
	return strings.TrimPrefix(strings.TrimPrefix(s.ID, s.Chart), ":")
}

// Took returns the duration of an operation until it ended or until now.
func (o *Operation) Took(now time.Time) time.Duration {
	if o.End.IsZero() {
		return now.Sub(o.Start)
	}
	return o.End.Sub(o.Start)
}
