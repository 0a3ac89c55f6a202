// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package timeline builds a record of an operation from its events: when each node and hook
// started and ended, what it waited for, and which of them are on the critical path.
// Package progress draws this record, and JSON and HTML write it to a file
// (docs/reference.md, "The timeline").
package timeline

import (
	"strings"
	"time"

	"github.com/ordered-helm/helm/internal/event"
)

// Timeline contains the operation that the user requested. If that failed and was undone,
// as with --atomic, the operation that undid it follows.
type Timeline struct {
	Operations []*Operation
	// Warnings contains the warnings of all operations, for the chart author or the user.
	Warnings []Warning
}

// Warning is a warning and the time at which it was emitted.
type Warning struct {
	At   time.Time
	Text string
}

// Operation is what the timeline shows of one install, upgrade, rollback, uninstall or
// test. End is zero while it is running.
type Operation struct {
	event.Operation

	Start, End time.Time
	// Err is the reason why the operation failed, or nil.
	Err error
	// Doing is the last message about the whole operation, such as that it waits for all
	// resources.
	Doing string
	// Spans contains the nodes and hooks of the operation. Nodes are added in the order of
	// the plan as soon as it is known; hooks are added when they start.
	Spans []*Span
}

// Kind says what a Span is about.
type Kind string

const (
	// Deploy is for a node that is deployed.
	Deploy Kind = "node"
	// Remove is for a node that is deleted.
	Remove Kind = "removal"
	// Hook is for a hook.
	Hook Kind = "hook"
	// Wait is for the time in which an operation waits for all resources together, as with
	// --wait.
	Wait Kind = "wait"
)

// State is the state of a Span.
type State string

const (
	// Waiting means that the span has not started.
	Waiting State = "waiting"
	// Running means that the span has started and not ended.
	Running State = "running"
	// Done means that the span has succeeded.
	Done State = "done"
	// Failed means that the span has failed.
	Failed State = "failed"
	// Unfinished means that the span was still running when the operation failed for
	// another reason.
	Unfinished State = "unfinished"
)

// Span is a part of an operation with a start and an end: a node, a hook, or a wait for all
// resources.
type Span struct {
	Kind Kind
	// ID is the ID of the node, the kind and name of the hook, or the message about the
	// wait.
	ID string
	// Chart is the path of the chart of a node. Layer is the name of its layer; empty if
	// the node is not a layer.
	Chart, Layer string
	// HookEvent is the event for which a hook runs, such as pre-install.
	HookEvent string
	State     State
	// After is the ID of the dependency that finished last, so that the node could start;
	// empty if it did not wait for any.
	After string
	// Needs contains the IDs of the nodes on which a node depends. NeedsAll contains the
	// paths of the charts on which it depends as a whole.
	Needs, NeedsAll []string
	// Size is the number of resources of a node or of a wait.
	Size int
	// Start, Applied and End are the times at which the span started, at which all
	// resources of a node were written, and at which the span ended. They are zero until
	// then.
	Start, Applied, End time.Time
	// Deadline is the time at which a hook times out; zero if there is no limit.
	Deadline time.Time
	// Message is the last message about the span. Err is the reason why it failed, or nil.
	Message string
	Err     error
	// Log is the last line of the log of a hook.
	Log string
	// Resources contains the resources of the span that events were about, in the order of
	// their first events.
	Resources []*Resource
	// Critical says whether the span is on the critical path. It is set when the operation
	// ends.
	Critical bool
}

// Resource is an object that an operation waits for, with its current and earlier states.
type Resource struct {
	// Name is the kind and name, as in "Deployment/web". Namespace is empty if the resource
	// is in the namespace of the release.
	Name, Namespace string
	Change
	// Deadline is the time until which the operation waits for the resource; zero if there
	// is no limit.
	Deadline time.Time
	// Changes contains the states of the resource until now, the oldest first.
	Changes []Change
}

// Change is a state of a resource, and the time At at which the resource entered it.
type Change struct {
	At             time.Time
	State, Message string
	// Cause says why the resource is in this state, for example because of its pods. It can
	// be empty.
	Cause string
}

// IsReadyOrDeleted reports whether the resource is in the state that the operation waits
// for.
func (c Change) IsReadyOrDeleted() bool { return c.State == "Ready" || c.State == "Gone" }

// Why returns the message, without the name of the state if the message begins with it.
func (c Change) Why() string {
	return strings.TrimPrefix(strings.TrimPrefix(c.Message, c.State), ": ")
}

// Took returns how long the span took or, if it is still running, how long it has taken
// until now. It returns 0 if the span has not started.
func (s *Span) Took(now time.Time) time.Duration {
	switch {
	case s.Start.IsZero():
		return 0
	case s.End.IsZero():
		return now.Sub(s.Start)
	}
	return s.End.Sub(s.Start)
}

// Label returns the ID of a node without the path of its chart; empty for the unlayered
// resources of the chart. For other spans, it returns the ID.
func (s *Span) Label() string {
	if s.Kind != Deploy && s.Kind != Remove {
		return s.ID
	}
	return strings.TrimPrefix(strings.TrimPrefix(s.ID, s.Chart), ":")
}

// Took returns how long the operation took or, if it is still running, how long it has
// taken until now.
func (o *Operation) Took(now time.Time) time.Duration {
	if o.End.IsZero() {
		return now.Sub(o.Start)
	}
	return o.End.Sub(o.Start)
}
