// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/crds"
	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/hookorder"
	"github.com/ordered-helm/helm/internal/lease"
	"github.com/ordered-helm/helm/internal/preview"
	"github.com/ordered-helm/helm/internal/render"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// The types of events, with which an operation reports its steps (docs/reference.md,
// "Events").
type (
	// Event describes one step of an operation. It never contains the content of an object.
	Event = event.Event
	// EventType says what an Event reports, such as EventNodeReady.
	EventType = event.Type
	// Operation describes an operation in its events EventStarted and EventFinished: its
	// name, its release with namespace and revision, and its deadline.
	Operation = event.Operation
	// PlannedNode describes a node of the deployment graph, a set of resources that are
	// deployed or deleted as a unit, in an event of type EventPlanned or EventRemoving.
	PlannedNode = event.PlannedNode
)

// The values of EventType. The comments say what an event of each type reports
// (docs/reference.md, "Events").
const (
	// EventStarted: an operation starts.
	EventStarted = event.Started
	// EventFinished: an operation has finished; it has failed if the event's Err is not nil.
	EventFinished = event.Finished
	// EventWarning: something that the author of the chart or the user should know.
	EventWarning = event.Warning
	// EventObserving: the API server cannot be reached or can be reached again, or objects
	// are read instead of watched.
	EventObserving = event.Observing
	// EventCRDsStarted: the operation starts to apply the definitions in crds/ directories.
	EventCRDsStarted = event.CRDsStarted
	// EventCRDApplied: such a definition has been created or changed.
	EventCRDApplied = event.CRDApplied
	// EventCRDsDone: the cluster serves the applied definitions, or they could not be applied.
	EventCRDsDone = event.CRDsDone
	// EventPlanned: an ordered deployment starts; the event lists its nodes.
	EventPlanned = event.Planned
	// EventNodeStarted: the operation starts to apply the resources of a node.
	EventNodeStarted = event.NodeStarted
	// EventNodeApplied: all resources of a node have been applied.
	EventNodeApplied = event.NodeApplied
	// EventNodeReady: all resources of a node that the operation waits for are ready.
	EventNodeReady = event.NodeReady
	// EventNodeFailed: a node has failed or timed out.
	EventNodeFailed = event.NodeFailed
	// EventRemoving: the operation starts to delete objects; the event lists their nodes.
	EventRemoving = event.Removing
	// EventNodeDeleting: the operation starts to delete the objects of a node.
	EventNodeDeleting = event.NodeDeleting
	// EventNodeDeleted: the objects of a node are deleted.
	EventNodeDeleted = event.NodeDeleted
	// EventResourceChanged: the readiness of a resource has changed.
	EventResourceChanged = event.ResourceChanged
	// EventHookStarted: a hook starts.
	EventHookStarted = event.HookStarted
	// EventHookDone: a hook has completed or failed.
	EventHookDone = event.HookDone
	// EventHookLog: the log of a running hook has a new last line (FollowHookLogs).
	EventHookLog = event.HookLog
	// EventScriptOutput: a script of a chart has printed a line.
	EventScriptOutput = event.ScriptOutput
	// EventHandlerRunning: the operation waits for a handler of a lifecycle event that takes long.
	EventHandlerRunning = event.HandlerRunning
	// EventHandlerDone: a handler that takes long has completed or failed.
	EventHandlerDone = event.HandlerDone
	// EventWaiting: all requests are sent, and the operation waits until the resources are
	// ready or deleted.
	EventWaiting = event.Waiting
)

// The errors that operations return. Use errors.As to find them in an error
// (docs/reference.md, "Failure reports").
type (
	// DeployError reports that a release could not be deployed, or did not become ready. It
	// says which resources failed or timed out and why, and which nodes of the deployment
	// graph were skipped.
	DeployError = failure.DeployError
	// RemovalError reports which objects could not be deleted in order, or still existed
	// when the timeout expired.
	RemovalError = failure.RemovalError
	// HookError reports which hooks failed, and why.
	HookError = failure.HookError
	// UndoError reports that an operation failed, and that the rollback, uninstall or
	// cleanup after it (Atomic, CleanupOnFail) failed as well. It wraps both errors.
	UndoError = failure.UndoError
	// PermissionError reports which permissions the account lacks to deploy the release.
	// Nothing has been changed.
	PermissionError = failure.PermissionError
	// ResourceFailure describes the failure of one resource in a DeployError, RemovalError
	// or HookError.
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

// CRDPolicy says what an install or upgrade does with the CustomResourceDefinitions in crds/
// directories (docs/reference.md, "CRDs in crds/ directories"). An empty value means what Helm
// does.
type CRDPolicy = crds.Policy

const (
	// CRDPolicyCreate creates the definitions that do not exist, also in upgrades.
	CRDPolicyCreate = crds.Create
	// CRDPolicyApply also changes the definitions that differ from those in the chart.
	CRDPolicyApply = crds.Apply
	// CRDPolicySkip does nothing with definitions, as the field SkipCRDs.
	CRDPolicySkip = crds.Skip
)

// CRDPolicies returns all values of CRDPolicy except the empty one.
func CRDPolicies() []CRDPolicy { return crds.Policies() }

// RefusedCRDsError reports definitions that CRDPolicyApply must not change. Nothing has been
// changed.
type RefusedCRDsError = crds.RefusedError

// The lock on a release (docs/reference.md, "Release locks").
type (
	// Holder describes the lock holder of a release: the process whose operation has locked
	// it.
	Holder = lease.Holder
	// Takeover says when an operation takes over a release that another operation has
	// locked.
	Takeover = lease.Takeover
	// HeldError reports that an operation could not start, because another operation has
	// locked the release.
	HeldError = lease.HeldError
	// TakenOverError reports that an operation stopped, because another operation has taken
	// over the release.
	TakenOverError = lease.LostError
)

const (
	// TakeoverAuto takes over the release if its lock holder is known and no longer alive.
	// It is the default, also for an empty value.
	TakeoverAuto = lease.TakeoverAuto
	// TakeoverNever never takes over a release.
	TakeoverNever = lease.TakeoverNever
	// TakeoverForce also takes over a locked release whose lock holder is not known, for
	// example because stock Helm locked it. Like TakeoverAuto, it never takes over a
	// release whose lock holder is alive.
	TakeoverForce = lease.TakeoverForce
)

// Takeovers returns all values of Takeover, for example for the help text of a flag.
func Takeovers() []Takeover { return lease.Takeovers() }

// HolderOf returns the lock holder of a revision of a release. It returns nil if the
// revision is not locked, or if the lock holder is not known, for example because stock Helm
// is working on the release.
func HolderOf(rel *release.Release) *Holder { return lease.HolderOf(rel) }

// The result of a preview (docs/reference.md, "helm plan").
type (
	// Preview describes what an install or upgrade would do.
	Preview = preview.Preview
	// PreviewNode describes what would happen to the objects of one node of the deployment
	// graph.
	PreviewNode = preview.Node
	// PreviewExternal describes an external dependency, and how it stands.
	PreviewExternal = preview.External
	// PreviewObject describes what would happen to one object. If the object would be
	// changed, it contains a diff.
	PreviewObject = preview.Object
	// PreviewAction is what would happen to an object, such as PreviewCreate.
	PreviewAction = preview.Action
)

// The values of PreviewAction.
const (
	// PreviewCreate: the object would be created.
	PreviewCreate = preview.Create
	// PreviewChange: the object would be changed.
	PreviewChange = preview.Change
	// PreviewDelete: the object is no longer in the chart, and would be deleted.
	PreviewDelete = preview.Delete
	// PreviewUnchanged: the object is as declared.
	PreviewUnchanged = preview.Unchanged
	// PreviewKeep: the object is no longer in the chart, but would be kept.
	PreviewKeep = preview.Keep
	// PreviewFail: the server would reject the object, or its deletion.
	PreviewFail = preview.Fail
	// PreviewRecreate: the object would be deleted and created again.
	PreviewRecreate = preview.Recreate
	// PreviewRename: only the number of the revision in the name and content of the object would change.
	PreviewRename = preview.Rename
	// PreviewSkip: the object does not take part in the operation (helm.sh/deploy-on).
	PreviewSkip = preview.Skip
)

// Plan describes in which order a release is deployed: the deployment graph of its
// resources, and the order of its hooks (docs/reference.md, "helm dag").
type Plan struct {
	*sequencer.Plan
	// Hooks contains a HookPlan for each event that has hooks, in the order in which the
	// events can occur.
	Hooks []HookPlan
}

// HookPlan describes the order in which the hooks of one event run, such as pre-install.
type HookPlan = hookorder.Plan

// ReleasePlan returns the plan by which a stored release was deployed. It rebuilds the plan
// from the order record and the manifest of the release. It returns nil if the release was
// not deployed in order, and an error if the order record cannot be used
// (docs/reference.md, "The order record").
func ReleasePlan(rel *release.Release) (*Plan, error) {
	plan, rec, err := history.Plan(rel)
	if err != nil || plan == nil {
		return nil, err
	}
	return &Plan{Plan: plan, Hooks: hookorder.Plans(rel.Hooks, render.HookModes(rec.Charts, rel.Namespace), plan.HookScope)}, nil
}

// Order describes how far a release was deployed in order: the number of its nodes and,
// while an operation is running or after it failed, which nodes are finished
// (docs/reference.md, "The order record").
type Order = history.Order

// OrderOf returns what the order record of a stored release says about the order. It
// returns nil if the release was not deployed in order, and an error if the order record
// cannot be used.
func OrderOf(rel *release.Release) (*Order, error) { return history.OrderOf(rel) }
