// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package event defines the events that operations emit to report their progress, and the
// sink that redacts the contents of Secrets in them (docs/reference.md, "Events").
package event

import "time"

// Type says what an Event reports.
type Type string

const (
	// Started says that an operation begins. An operation that undoes another one, as with
	// --atomic, begins and ends within that operation.
	Started Type = "started"
	// Finished says that an operation ends. If the event has an error, the operation
	// failed.
	Finished Type = "finished"
	// Warning is a warning for the chart author or the user.
	Warning Type = "warning"
	// Observing says that the cluster cannot be observed, can only be observed by other
	// means, or can be observed again.
	Observing Type = "observing"
	// Planned says that the ordered part of an operation begins, and lists its nodes. An
	// operation without an order does not emit it.
	Planned Type = "planned"
	// NodeStarted says that the operation starts to apply a node.
	NodeStarted Type = "node-started"
	// NodeApplied says that all objects of a node were written.
	NodeApplied Type = "node-applied"
	// NodeReady says that all resources of a node that the operation waits for are ready. A
	// Job in a leaf, a node without dependents, may still be running. Before the operation
	// ends, a leaf can become unready and then ready again.
	NodeReady Type = "node-ready"
	// NodeFailed says that a node failed or timed out.
	NodeFailed Type = "node-failed"
	// Removing says that the operation starts to delete objects: those that are no longer
	// in the chart, after all nodes are deployed, or those that a failed operation created.
	Removing Type = "removing"
	// NodeDeleting says that the deletion of the objects of a node begins.
	NodeDeleting Type = "node-deleting"
	// NodeDeleted says that the objects of a node are gone.
	NodeDeleted Type = "node-deleted"
	// ResourceChanged says that the readiness of a resource changed.
	ResourceChanged Type = "resource-changed"
	// HookStarted says that a hook starts to run.
	HookStarted Type = "hook-started"
	// HookDone says that a hook has completed or failed.
	HookDone Type = "hook-done"
	// HookLog is the last line of the log of a running hook. It is emitted only on
	// request.
	HookLog Type = "hook-log"
	// Waiting says that all resources are applied, or deleted, and that the operation now
	// waits for the resources of leaves. Without an order, it waits for all resources.
	Waiting Type = "waiting"
)

// Event is one step of an operation (docs/reference.md, "Events"). It never contains the
// content of an object.
type Event struct {
	Time time.Time
	Type Type
	// Operation is set in Started and Finished.
	Operation *Operation
	// Nodes is set in Planned and Removing: the nodes that are deployed or deleted, in this
	// order.
	Nodes []PlannedNode
	// Node is the ID of the node in the plan; empty if the event is not about a node.
	Node string
	// After is the last node that Node waited for before it was started or deleted; empty
	// if it did not wait for a node.
	After string
	// Resource is the kind and name of the resource, as in "Deployment/web".
	Resource string
	// Namespace is the namespace of the resource, if it differs from the namespace of the
	// release.
	Namespace string
	// State is set in ResourceChanged. It is the state of the resource: Ready, InProgress,
	// Failed, Terminating, Missing, or Gone after its deletion.
	State string
	// Cause is the cause of the state, found in objects that belong to the resource, such
	// as pods; it can be empty.
	Cause string
	// Deadline is the time until which the operation waits for the resource or hook; zero
	// if there is no limit. It is extended while the API server cannot be reached.
	Deadline time.Time
	// Resources is set in Waiting. It is the number of resources that the operation waits
	// for.
	Resources int
	// Hook is the kind and name of the hook. HookEvent is the hook event for which it runs,
	// as in "pre-install".
	Hook, HookEvent string
	// Message is the text for users.
	Message string
	// Err is the failure that the event reports.
	Err error
}

// Operation describes the operation that an event of type Started or Finished reports
// (docs/reference.md, "Events").
type Operation struct {
	// Name is install, upgrade, rollback, uninstall or test.
	Name string
	// Release and Namespace are the name and namespace of the release. Revision is the
	// revision that is created, uninstalled or tested.
	Release, Namespace string
	Revision           int
	// Ordered says whether the operation follows an order.
	Ordered bool
	// Deadline is the time at which the whole operation times out; zero if there is no
	// limit.
	Deadline time.Time
}
