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
	// EventType says what an Event is about.
	EventType = event.Type
	// Operation is what EventStarted and EventFinished are about.
	Operation = event.Operation
	// PlannedNode is a node of a plan, as EventPlanned and EventRemoving announce it.
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
	// DeployError says why a release is not deployed: what failed or was not ready in
	// time, why, and what was never started because of it.
	DeployError = failure.DeployError
	// RemovalError says what could not be deleted in order, or was not gone in time.
	RemovalError = failure.RemovalError
	// HookError says which hooks of an event failed, and why.
	HookError = failure.HookError
	// UndoError says that an operation failed, and that undoing it failed, too.
	UndoError = failure.UndoError
	// PermissionError says that the account may not write some of the resources.
	PermissionError = failure.PermissionError
	// ResourceFailure is one resource that failed, or was not ready in time.
	ResourceFailure = failure.Resource
	// Cause is one thing that keeps a resource from being ready.
	Cause = failure.Cause
)

const (
	// NotApplied is the State of a ResourceFailure that the server rejected.
	NotApplied = failure.NotApplied
	// NotDeleted is the State of a ResourceFailure whose deletion the server rejected.
	NotDeleted = failure.NotDeleted
)

// Who works on a release (docs/reference.md, "Who holds a release").
type (
	// Holder is the process that works on a release.
	Holder = lease.Holder
	// Takeover says what an operation does with a release that another one works on, or
	// did until it died.
	Takeover = lease.Takeover
	// HeldError says that an operation cannot begin because another one works on the
	// release, or may do.
	HeldError = lease.HeldError
	// TakenOverError says that an operation has stopped because others work on its
	// release.
	TakenOverError = lease.LostError
)

const (
	// TakeoverAuto takes the release over if the holder that its record names is dead. It
	// is the default, and so is an empty value.
	TakeoverAuto = lease.TakeoverAuto
	// TakeoverNever takes no release over.
	TakeoverNever = lease.TakeoverNever
	// TakeoverForce also takes over a release whose record names no holder.
	TakeoverForce = lease.TakeoverForce
)

// Takeovers are the values of Takeover, for those who offer them.
func Takeovers() []Takeover { return lease.Takeovers() }

// HolderOf is the process that works on a revision of a release; nil if there is none, or
// if it is not known, as for an operation of stock Helm.
func HolderOf(rel *release.Release) *Holder { return lease.HolderOf(rel) }

// What an operation would do (docs/reference.md, "helm plan").
type (
	// Preview is what an install or upgrade would do.
	Preview = preview.Preview
	// PreviewNode is what would become of the objects of a node.
	PreviewNode = preview.Node
	// PreviewObject is what would become of an object.
	PreviewObject = preview.Object
	// PreviewAction is what would be done with an object.
	PreviewAction = preview.Action
)

// What would be done with an object.
const (
	PreviewCreate    = preview.Create
	PreviewChange    = preview.Change
	PreviewDelete    = preview.Delete
	PreviewUnchanged = preview.Unchanged
	PreviewKeep      = preview.Keep
	PreviewFail      = preview.Fail
)

// Plan is how a release deploys: the graph of its resources, and its hooks
// (docs/reference.md, "helm dag").
type Plan struct {
	*sequencer.Plan
	// Hooks are the hooks of each event that has any, in the order in which events may
	// come.
	Hooks []HookPlan
}

// HookPlan is how the hooks of one event run.
type HookPlan = hookrunner.Plan

// ReleasePlan rebuilds the plan by which a release was deployed from what the release
// remembers; nil if it was not deployed in order (docs/reference.md, "The release record").
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

// OrderOf reads what a release remembers of its order; nil if it was not deployed in one.
func OrderOf(rel *release.Release) (*Order, error) { return history.OrderOf(rel) }
