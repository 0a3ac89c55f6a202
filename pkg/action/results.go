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
	// Event is one step of an operation. It never contains the content of an object.
	Event = event.Event
	// EventType is the type of an Event.
	EventType = event.Type
	// Operation describes the operation in EventStarted and EventFinished.
	Operation = event.Operation
	// PlannedNode is a node of a plan, as listed in EventPlanned and EventRemoving.
	PlannedNode = event.PlannedNode
)

// The types of events. The comments in docs/reference.md, "Events", say when each is
// emitted.
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

// The errors of operations (docs/reference.md, "When it fails").
type (
	// DeployError says why a release was not deployed: which resources failed or timed out,
	// why, and which were never started because of that.
	DeployError = failure.DeployError
	// RemovalError says which objects could not be deleted in order, or still existed when
	// the timeout expired.
	RemovalError = failure.RemovalError
	// HookError says which hooks of an event failed, and why.
	HookError = failure.HookError
	// UndoError says that an operation failed, and that undoing it failed too.
	UndoError = failure.UndoError
	// PermissionError says that the account is not allowed to write some of the resources.
	PermissionError = failure.PermissionError
	// ResourceFailure is one resource that failed or timed out.
	ResourceFailure = failure.Resource
	// Cause is one reason why a resource is not ready.
	Cause = failure.Cause
)

const (
	// NotApplied is the State of a ResourceFailure if the server rejected the resource.
	NotApplied = failure.NotApplied
	// NotDeleted is the State of a ResourceFailure if the server rejected the deletion.
	NotDeleted = failure.NotDeleted
)

// The lock on a release (docs/reference.md, "Who holds a release").
type (
	// Holder is the process that works on a release.
	Holder = lease.Holder
	// Takeover says what an operation does if another operation is working on the release,
	// or terminated unexpectedly while it did.
	Takeover = lease.Takeover
	// HeldError says that an operation cannot begin because another operation works on the
	// release, or may be working on it.
	HeldError = lease.HeldError
	// TakenOverError says that an operation stopped because another operation has taken
	// over its release.
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
	// PreviewNode is what would happen to the objects of a node.
	PreviewNode = preview.Node
	// PreviewObject is what would happen to an object.
	PreviewObject = preview.Object
	// PreviewAction is what would be done with an object.
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
	// Hooks contains the hooks of each event that has any, in the order in which the events
	// can occur.
	Hooks []HookPlan
}

// HookPlan is how the hooks of one event run.
type HookPlan = hookrunner.Plan

// ReleasePlan rebuilds the plan by which a release was deployed from what the release
// remembers. It returns nil if the release was not deployed in order (docs/reference.md,
// "The release record").
func ReleasePlan(rel *release.Release) (*Plan, error) {
	plan, rec, err := history.Plan(rel)
	if err != nil || plan == nil {
		return nil, err
	}
	return &Plan{Plan: plan, Hooks: hookrunner.Plans(rel.Hooks, render.HookModes(rec.Charts, rel.Namespace))}, nil
}

// Order is what a release remembers of the order in which it was deployed
// (docs/reference.md, "The release record").
type Order = history.Order

// OrderOf reads what a release remembers of its order. It returns nil if the release was
// not deployed in order.
func OrderOf(rel *release.Release) (*Order, error) { return history.OrderOf(rel) }
