// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package timeline builds a record of an operation from its events: when each hook and each
// node of the deployment graph started and ended, what it waited for, and which of them are on
// the critical path. Package progress draws this record on the terminal, and the functions
// JSON and HTML write it to a file (docs/reference.md, "The timeline").
package timeline

import (
	"strings"
	"time"

	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/failure"
)

// Timeline is the record of the operation that the user requested.
type Timeline struct {
	// Operations contains the requested operation. If it failed and was rolled back or
	// uninstalled, as with --atomic, the rollback or uninstall is the second operation.
	Operations []*Operation
	Warnings   []Warning
}

// Warning is a warning of an operation, and the time at which it was emitted.
type Warning struct {
	At   time.Time
	Text string
}

// Operation is the record of one install, upgrade, rollback, uninstall or test.
type Operation struct {
	event.Operation

	// Start and End are when the operation started and ended. End is zero while it is running.
	Start, End time.Time
	// Err is the error of a failed operation; nil if it succeeded or is running.
	Err error
	// LastMessage is the last message about the whole operation, for example that it waits
	// for resources to become ready.
	LastMessage string
	// Spans contains the parts of the operation. All nodes are added when the operation
	// announces them, in their order. Hooks and the wait for all resources are added when
	// they start, and handlers when it is known that they take long.
	Spans []*Span
}

// SpanKind says what part of an operation a Span is.
type SpanKind string

const (
	// Definitions is the application of the CustomResourceDefinitions in crds/ directories.
	Definitions SpanKind = "definitions"
	// Deploy is the deployment of a node.
	Deploy SpanKind = "node"
	// External is a wait for external dependencies.
	External SpanKind = "external"
	// Remove is the deletion of a node.
	Remove SpanKind = "removal"
	// Hook is the run of a hook.
	Hook SpanKind = "hook"
	// Wait is the wait for all resources of the release at the same time, as with --wait.
	Wait SpanKind = "wait"
	// Handler is the run of a handler of a lifecycle event that took long, or, for the event wait,
	// the wait for the handlers of a chart.
	Handler SpanKind = "handler"
)

// SpanState is the state of a Span.
type SpanState string

const (
	// Waiting means that the span has not started.
	Waiting SpanState = "waiting"
	// Running means that the span has started, but has not ended.
	Running SpanState = "running"
	// Done means that the span has succeeded.
	Done SpanState = "done"
	// Failed means that the span has failed.
	Failed SpanState = "failed"
	// Unfinished means that the span was running when the operation ended, because another
	// part of the operation failed.
	Unfinished SpanState = "unfinished"
)

// Span is a part of an operation that has a start and an end: the deployment or deletion of a
// node, the run of a hook or handler, or the wait for all resources. Fields that do not apply to its Kind
// are zero.
type Span struct {
	Kind SpanKind
	// ID is the ID of the node or of the wait for external dependencies, the kind and name of the hook, the path of the chart whose handler
	// it is (or "this program"), the kind of definitions, or the message that says what the
	// operation waits for.
	ID string
	// Chart is the path of the chart of a node or of a wait for external dependencies. Layer is the name of the layer that the node
	// stands for, if any.
	Chart, Layer string
	// HookEvent is the event for which a hook runs, such as pre-install. HandlerEvent is the lifecycle
	// event of a handler, such as post-render.
	HookEvent, HandlerEvent string
	State                   SpanState
	// After is the ID of the dependency that finished last, after which a node could start.
	// It is empty if the node did not have to wait.
	After string
	// Needs contains the IDs of the nodes on which a node depends. NeedsCharts contains the
	// paths of charts; the node depends on all nodes of each.
	Needs, NeedsCharts []string
	// Size is the number of resources of a node, of the resources that a Wait waits for, or of
	// definitions.
	Size int
	// Start and End are when the span started and ended. Applied is when all resources of a
	// node were written. They are zero until then.
	Start, Applied, End time.Time
	// Deadline is the time at which a hook times out; zero if there is no limit.
	Deadline time.Time
	// Message is the last message about the span. Err is the error of a failed span, or nil.
	Message string
	Err     error
	// Log is the last line of the log of a hook.
	Log string
	// Resources contains the resources whose state events have reported, in the order of
	// their first events.
	Resources []*Resource
	// Critical reports whether the span is on the critical path. It is false until the
	// operation has ended.
	Critical bool
}

// Resource is an object that an operation waits for, with its current and earlier states.
type Resource struct {
	// Name is the kind and name, as in "Deployment/web". Namespace is empty if the resource
	// is in the namespace of the release.
	Name, Namespace string
	// StateChange is the current state.
	StateChange
	// Deadline is the time until which the operation waits for the resource; zero if there
	// is no such time.
	Deadline time.Time
	// Changes contains all states of the resource, the current one last. The oldest ones may
	// have been dropped.
	Changes []StateChange
}

// StateChange is a state that a resource entered.
type StateChange struct {
	// At is when the resource entered the state.
	At time.Time
	// State is the name of the state, such as Ready (see event.Event). Message explains it,
	// and can begin with its name.
	State, Message string
	// Cause says why the resource is in this state, as far as it is known, for example
	// because an image cannot be pulled. Causes contains the parts of Cause, the most relevant
	// one first.
	Cause  string
	Causes []failure.Cause
}

// IsReadyOrDeleted reports whether the state is one that operations wait for: Ready, or Gone
// for a resource that is deleted.
func (c StateChange) IsReadyOrDeleted() bool { return c.State == "Ready" || c.State == "Gone" }

// MessageWithoutState returns the message without the name of the state at its beginning.
func (c StateChange) MessageWithoutState() string {
	return strings.TrimPrefix(strings.TrimPrefix(c.Message, c.State), ": ")
}

// Took returns how long the span took. If it is still running, this is the time from its start
// until now, and if it has not started, 0.
func (s *Span) Took(now time.Time) time.Duration {
	switch {
	case s.Start.IsZero():
		return 0
	case s.End.IsZero():
		return now.Sub(s.Start)
	}
	return s.End.Sub(s.Start)
}

// Label returns a name of the span that is unique within its chart. For a node, this is the ID
// without the path of the chart, which is empty for the unlayered resources of the chart. For
// other spans, it is the ID.
func (s *Span) Label() string {
	if s.Kind != Deploy && s.Kind != Remove && s.Kind != External {
		return s.ID
	}
	return strings.TrimPrefix(strings.TrimPrefix(s.ID, s.Chart), ":")
}

// Took returns how long the operation took. If it is still running, this is the time from its
// start until now.
func (o *Operation) Took(now time.Time) time.Duration {
	if o.End.IsZero() {
		return now.Sub(o.Start)
	}
	return o.End.Sub(o.Start)
}
