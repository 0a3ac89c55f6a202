// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/hookrunner"
	"github.com/ordered-helm/helm/internal/lease"
	"github.com/ordered-helm/helm/internal/preview"
	"github.com/ordered-helm/helm/internal/render"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// The steps of an operation (docs/reference.md, "Events").
type (
	// Event describes one step of an operation. It never contains the content of an object.
	Event = event.Event
	// EventType is the type of an Event.
	EventType = event.Type
	// Operation describes the operation that EventStarted and EventFinished are about: its
	// name, release, namespace, revision and deadline.
	Operation = event.Operation
	// PlannedNode describes a node that EventPlanned or EventRemoving announces.
	PlannedNode = event.PlannedNode
)

// The types of events. docs/reference.md, "Events", says when each of them is emitted.
const (
	EventStarted         = event.Started
	EventFinished        = event.Finished
	EventWarning         = event.Warning
	EventObserving       = event.Observing
	EventPlanned         = event.Planned
	EventNodeStarted     = event.NodeStarted
	EventNodeApplied     = event.NodeApplied
	EventNodeReady       = event.NodeReady
	EventNodeFailed      = event.NodeFailed
	EventRemoving        = event.Removing
	EventNodeDeleting    = event.NodeDeleting
	EventNodeDeleted     = event.NodeDeleted
	EventResourceChanged = event.ResourceChanged
	EventHookStarted     = event.HookStarted
	EventHookDone        = event.HookDone
	EventHookLog         = event.HookLog
	EventWaiting         = event.Waiting
)

// The errors of operations (docs/reference.md, "Failure reports").
type (
	// DeployError is the error for a release that could not be deployed. It says which
	// resources failed or timed out and why, and which were therefore never started.
	DeployError = failure.DeployError
	// RemovalError lists the objects that could not be deleted in order, or still existed
	// when the timeout expired.
	RemovalError = failure.RemovalError
	// HookError lists the hooks that failed, and why.
	HookError = failure.HookError
	// UndoError is the error for an operation that failed and that could not be undone, for
	// example with Atomic. It contains both failures.
	UndoError = failure.UndoError
	// PermissionError is the error for an account that is not allowed to write some of the
	// resources of the release.
	PermissionError = failure.PermissionError
	// ResourceFailure describes one resource in a DeployError or RemovalError.
	ResourceFailure = failure.Resource
	// Cause is one reason why a resource is not ready, such as a pod that cannot be
	// scheduled.
	Cause = failure.Cause
)

const (
	// NotApplied is the State of a ResourceFailure if the server rejected the resource.
	NotApplied = failure.NotApplied
	// NotDeleted is the State of a ResourceFailure if the server rejected the deletion.
	NotDeleted = failure.NotDeleted
)

// The lock on a release (docs/reference.md, "Release locks").
type (
	// Holder is the process that works on a release.
	Holder = lease.Holder
	// Takeover says what an operation does if another operation is working on the release,
	// or terminated unexpectedly while it did.
	Takeover = lease.Takeover
	// HeldError is the error for an operation that cannot begin because another operation
	// works on the release, or may be working on it.
	HeldError = lease.HeldError
	// TakenOverError is the error for an operation that stopped because another operation
	// has taken over the release.
	TakenOverError = lease.LostError
)

const (
	// TakeoverAuto takes over the release if the lock holder in its record is no longer
	// alive. It is the default; an empty value means the same.
	TakeoverAuto = lease.TakeoverAuto
	// TakeoverNever never takes over a release.
	TakeoverNever = lease.TakeoverNever
	// TakeoverForce also takes over a release whose record names no lock holder.
	TakeoverForce = lease.TakeoverForce
)

// Takeovers returns all values of Takeover, for use in flags and help texts.
func Takeovers() []Takeover { return lease.Takeovers() }

// HolderOf returns the process that works on a revision of a release. It returns nil if no
// process does, or if the process is unknown, as for an operation of stock Helm.
func HolderOf(rel *release.Release) *Holder { return lease.HolderOf(rel) }

// What an operation would do (docs/reference.md, "helm plan").
type (
	// Preview is what an install or upgrade would do.
	Preview = preview.Preview
	// PreviewNode lists what would happen to the objects of one node.
	PreviewNode = preview.Node
	// PreviewObject is what would happen to one object: its PreviewAction, and a diff if it
	// would change.
	PreviewObject = preview.Object
	// PreviewAction is the action for one object, such as PreviewCreate.
	PreviewAction = preview.Action
)

// The values of PreviewAction.
const (
	PreviewCreate    = preview.Create
	PreviewChange    = preview.Change
	PreviewDelete    = preview.Delete
	PreviewUnchanged = preview.Unchanged
	PreviewKeep      = preview.Keep
	PreviewFail      = preview.Fail
)

// Plan is how a release is deployed: the graph of its resources, and its hooks
// (docs/reference.md, "helm dag").
type Plan struct {
	*sequencer.Plan
	// Hooks says in which order the hooks run, for each event that has hooks. The events
	// are in the order in which they can occur.
	Hooks []HookPlan
}

// HookPlan is the order in which the hooks of one event, such as pre-install, run.
type HookPlan = hookrunner.Plan

// ReleasePlan returns the plan by which a stored release was deployed. It rebuilds the plan
// from the stored record and manifest. It returns nil if the release was not deployed in
// order (docs/reference.md, "The order record").
func ReleasePlan(rel *release.Release) (*Plan, error) {
	plan, rec, err := history.Plan(rel)
	if err != nil || plan == nil {
		return nil, err
	}
	return &Plan{Plan: plan, Hooks: hookrunner.Plans(rel.Hooks, render.HookModes(rec.Charts, rel.Namespace))}, nil
}

// Order says whether and how far a release was deployed in order: the number of nodes and,
// while an operation is running or after it failed, the finished nodes (docs/reference.md,
// "The order record").
type Order = history.Order

// OrderOf reads the Order from the record of a stored release. It returns nil if the
// release was not deployed in order.
func OrderOf(rel *release.Release) (*Order, error) { return history.OrderOf(rel) }
