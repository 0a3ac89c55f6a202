// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package timeline keeps what an operation does, from its events: what began when,
// what it waited for and why, and what decided how long the whole took
// (docs/reference.md, "The timeline").
package timeline

import (
	"strings"
	"time"

	"github.com/ordered-helm/helm/internal/event"
)

// Timeline is what was done. The first operation is the one that was asked for; what
// it does to undo itself comes after it.
type Timeline struct {
	Operations []*Operation
	// Warnings are what the author or operator should know of.
	Warnings []Note
}

// Note is something that was said at a time.
type Note struct {
	At   time.Time
	Text string
}

// Operation is one operation. End is zero while it goes on.
type Operation struct {
	event.Operation

	Start, End time.Time
	// Err is why it failed; nil while it has not.
	Err error
	// Doing is what it said last of what it does as a whole.
	Doing string
	// Spans are its nodes and hooks: nodes in the order of the plan, from when it is
	// known; hooks from when they begin.
	Spans []*Span
}

// Kind says what a span is.
type Kind string

const (
	// Deploy is a node that is deployed.
	Deploy Kind = "node"
	// Remove is a node that is deleted.
	Remove Kind = "removal"
	// Hook is a hook.
	Hook Kind = "hook"
	// Wait is the waiting for everything together.
	Wait Kind = "wait"
)

// State is how far a span has come.
type State string

const (
	// Waiting spans have not begun.
	Waiting State = "waiting"
	// Running spans have.
	Running State = "running"
	// Done spans have come to a good end.
	Done State = "done"
	// Failed spans have not.
	Failed State = "failed"
	// Unfinished spans ran when the operation failed for another reason.
	Unfinished State = "unfinished"
)

// Span is one node, hook or waiting.
type Span struct {
	Kind Kind
	// ID is the node's ID, or the hook's kind and name.
	ID string
	// Chart is the path of the node's chart, Layer its layer, if it is one.
	Chart, Layer string
	// HookEvent is what a hook runs at.
	HookEvent string
	State     State
	// After is the node whose end was the last that this one waited for.
	After string
	// Needs are the nodes, and NeedsAll the charts, that it waits for.
	Needs, NeedsAll []string
	// Size is how many resources it has.
	Size int
	// Start is when it began, Applied when everything of it was written, End when it
	// came to its end; zero if it has not.
	Start, Applied, End time.Time
	// Deadline is until when a hook may run; zero if there is no limit.
	Deadline time.Time
	// Message is what was said of it last, Err why it failed.
	Message string
	Err     error
	// Log is the last line of a hook's log.
	Log string
	// Resources are those of which something was told, in the order of that.
	Resources []*Resource
	// Critical is whether it is one of those that decided how long it all took.
	Critical bool
}

// Resource is an object that is waited for.
type Resource struct {
	// Name is its kind and name; Namespace is empty if it is the release's.
	Name, Namespace string
	Change
	// Deadline is until when it is waited for; zero if there is no limit.
	Deadline time.Time
	// Changes are how it stood before and stands now, in the order of time.
	Changes []Change
}

// Change is how a resource stands from a time on.
type Change struct {
	At             time.Time
	State, Message string
	// Cause is what was found that explains it; it may be empty.
	Cause string
}

// Settled reports whether it is what it is waited for to be.
func (c Change) Settled() bool { return c.State == "Ready" || c.State == "Gone" }

// Why is the message without the state that it begins with.
func (c Change) Why() string {
	return strings.TrimPrefix(strings.TrimPrefix(c.Message, c.State), ": ")
}

// Took is how long a span took so far; 0 if it has not begun.
func (s *Span) Took(now time.Time) time.Duration {
	switch {
	case s.Start.IsZero():
		return 0
	case s.End.IsZero():
		return now.Sub(s.Start)
	}
	return s.End.Sub(s.Start)
}

// Label is the name of a node within its chart; empty where it stands for the chart.
func (s *Span) Label() string {
	if s.Kind != Deploy && s.Kind != Remove {
		return s.ID
	}
	return strings.TrimPrefix(strings.TrimPrefix(s.ID, s.Chart), ":")
}

// Took is how long an operation took so far.
func (o *Operation) Took(now time.Time) time.Duration {
	if o.End.IsZero() {
		return now.Sub(o.Start)
	}
	return o.End.Sub(o.Start)
}
