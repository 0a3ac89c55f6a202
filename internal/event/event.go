// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package event defines the events with which operations report their progress, and the
// Sink that passes them on without the contents of Secrets (docs/reference.md, "Events").
package event

import (
	"time"

	"github.com/ordered-helm/helm/internal/failure"
)

// Type says what an Event reports.
type Type string

const (
	// Started says that an operation starts. The rollback or uninstall of --atomic starts
	// and finishes within the failed operation.
	Started Type = "started"
	// Finished says that an operation has finished. If the event has an Err, the operation
	// failed.
	Finished Type = "finished"
	// Warning reports something that the author of the chart or the user should know.
	Warning Type = "warning"
	// Observing says that the API server cannot be reached, is read instead of watched, or
	// can be reached again.
	Observing Type = "observing"
	// CRDsStarted says that the operation starts to apply the CustomResourceDefinitions in
	// crds/ directories, before everything else. This and the next two events are emitted only
	// if the user has asked for it, and if a definition must be created or changed.
	CRDsStarted Type = "crds-started"
	// CRDApplied says that a definition has been created or changed.
	CRDApplied Type = "crd-applied"
	// CRDsDone says that the cluster serves the applied definitions, or that they could not be
	// applied.
	CRDsDone Type = "crds-done"
	// Compared says whether an upgrade that is only made if something has changed is made, and why.
	Compared Type = "compared"
	// Planned says that the ordered part of an operation starts. The event lists its nodes, and
	// its waits for external dependencies.
	// An operation without an order has no such event.
	Planned Type = "planned"
	// NodeStarted says that the operation starts to apply the resources of a node, or to wait
	// for external dependencies.
	NodeStarted Type = "node-started"
	// NodeApplied says that all resources of a node have been applied.
	NodeApplied Type = "node-applied"
	// NodeReady says that those resources of a node for which the operation waits are
	// ready. A Job in a leaf (a node without dependents) can still be running if the
	// operation does not wait for Jobs. Before the operation finishes, a leaf can become
	// unready, and then ready again. A wait for external dependencies is ready when all of
	// them are.
	NodeReady Type = "node-ready"
	// NodeFailed says that a node or a wait for external dependencies has failed or timed out.
	NodeFailed Type = "node-failed"
	// Removing says that the operation starts to delete objects: those that are no longer
	// in the chart (when all nodes are deployed), those that a failed operation created,
	// or those of a release that is uninstalled. The event lists their nodes.
	Removing Type = "removing"
	// NodeDeleting says that the operation starts to delete the objects of a node.
	NodeDeleting Type = "node-deleting"
	// NodeDeleted says that the objects of a node no longer exist or, if no other node
	// waits for this, that the server has accepted their deletion.
	NodeDeleted Type = "node-deleted"
	// ResourceChanged says that the known readiness of a resource has changed: of a resource
	// of a node, or of a Job of an earlier revision for which a Job of the node waits.
	ResourceChanged Type = "resource-changed"
	// HookStarted says that a hook starts.
	HookStarted Type = "hook-started"
	// HookDone says that a hook has completed or failed.
	HookDone Type = "hook-done"
	// HookLog says that the log of a running hook has a new last line. It is emitted only
	// if the user has asked for it.
	HookLog Type = "hook-log"
	// ScriptOutput says that a script of a chart has printed a line, which is the Message.
	ScriptOutput Type = "script-output"
	// HandlerRunning says that the operation waits for a handler of a lifecycle event that takes long: it
	// has run for a second or, if the event is wait, was not done when it was called first. If there is a
	// Node, the nodes after it wait, too.
	HandlerRunning Type = "handler-running"
	// HandlerDone says that a handler that takes long has completed or failed.
	HandlerDone Type = "handler-done"
	// Waiting says that everything is applied or deleted, and that the operation waits for
	// the remaining resources: for those of leaves or, without an order, for all.
	Waiting Type = "waiting"
)

// Event describes one step of an operation (docs/reference.md, "Events"). It never contains
// the content of an object. Fields that do not apply to its Type are zero.
type Event struct {
	Time time.Time
	Type Type
	// Operation is set in Started and Finished.
	Operation *Operation
	// Nodes is set in Planned and Removing: the nodes that will be deployed or deleted, in
	// this order.
	Nodes []PlannedNode
	// Node is the ID of the node of the deployment graph that the event is about, as in
	// PlannedNode.
	Node string
	// After is the ID of the node for which Node waited last before it was started or
	// deleted; empty if it waited for none.
	After string
	// Resource is the kind and name of the resource, as in "Deployment/web".
	Resource string
	// Namespace is the namespace of the resource, if it differs from the namespace of the
	// release.
	Namespace string
	// State is set in ResourceChanged. It is the state of the resource: Ready, InProgress,
	// Failed, Terminating, Missing, or Gone after its deletion.
	State string
	// Cause explains State, if an object that belongs to the resource, such as a pod, shows
	// the cause.
	Cause string
	// Causes contains the parts of Cause, the most relevant one first.
	Causes []failure.Cause
	// Deadline is the time until which the operation waits for the resource or hook; zero
	// if there is no such time, for example because the operation waits for the resource as
	// long as it makes progress. Time during which the API server cannot be reached extends it.
	Deadline time.Time
	// Resources is set in Waiting. It is the number of resources for which the operation
	// waits. In CRDsStarted and CRDsDone, it is the number of definitions.
	Resources int
	// Hook is the kind and name of the hook, as in "Job/migrate". HookEvent is the event
	// for which the hook runs, as in "pre-install".
	Hook, HookEvent string
	// HandlerEvent is the lifecycle event of a handler, as in "post-render". Chart is the path of the chart
	// whose script the handler is; empty for handlers of Go programs. Since is when it was called.
	HandlerEvent, Chart string
	Since               time.Time
	// Message is the text that is shown to users.
	Message string
	// Err is the error because of which the operation, node or hook has failed.
	Err error
}

// Operation describes an operation in its events Started and Finished (docs/reference.md,
// "Events").
type Operation struct {
	// Name is install, upgrade, rollback, uninstall, test or correct-drift.
	Name string
	// Release and Namespace are the name and the namespace of the release. Revision is the
	// revision that is created, uninstalled, tested or re-applied.
	Release, Namespace string
	Revision           int
	// Ordered says whether the operation follows an order.
	Ordered bool
	// Deadline is the time at which the whole operation times out; zero if there is no
	// limit.
	Deadline time.Time
}
