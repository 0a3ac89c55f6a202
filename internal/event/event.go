// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package event has the events that operations emit, and the sink that removes the
// contents of Secrets from them (docs/reference.md, "Events").
package event

import "time"

// Type says what an Event is about.
type Type string

const (
	// Started begins an operation. An operation that undoes another one, as --atomic
	// asks for, begins and ends within that.
	Started Type = "started"
	// Finished ends an operation. The operation failed if there is an error.
	Finished Type = "finished"
	// Warning is something that the author or the operator should know about.
	Warning Type = "warning"
	// Observing says that the cluster cannot be observed, or only in another way, or
	// that it can be observed again.
	Observing Type = "observing"
	// Planned begins the ordered part of an operation, and says how much there is to do.
	// An operation without an order does not emit it.
	Planned Type = "planned"
	// NodeStarted says that a node begins to be applied.
	NodeStarted Type = "node-started"
	// NodeApplied says that all objects of a node were written.
	NodeApplied Type = "node-applied"
	// NodeReady says that a node is ready, as far as the operation waits for that: a Job
	// on which nothing depends may still run. A node on which nothing depends may become
	// unready again before the operation ends, and then ready once more.
	NodeReady Type = "node-ready"
	// NodeFailed says that a node failed or was not ready in time.
	NodeFailed Type = "node-failed"
	// Removing says that the nodes are deployed, or given up, and that the deletion of
	// some objects begins: those that are no longer in the chart, or those that a failed
	// operation created.
	Removing Type = "removing"
	// NodeDeleting says that the deletion of the objects of a node begins.
	NodeDeleting Type = "node-deleting"
	// NodeDeleted says that a node is gone.
	NodeDeleted Type = "node-deleted"
	// ResourceChanged says that the readiness of a resource changed.
	ResourceChanged Type = "resource-changed"
	// HookStarted says that a hook begins to run.
	HookStarted Type = "hook-started"
	// HookDone says that a hook has completed or failed.
	HookDone Type = "hook-done"
	// HookLog is the last line of the log of a running hook. It is emitted only on
	// request.
	HookLog Type = "hook-log"
	// Waiting says that everything is applied, or deleted, and that the operation now
	// waits for resources on which nothing depends; without an order, for all of them.
	Waiting Type = "waiting"
)

// Event is one step of an operation (docs/reference.md, "Events"). It never contains the
// content of an object.
type Event struct {
	Time time.Time
	Type Type
	// Operation says what begins with Started or ends with Finished.
	Operation *Operation
	// Nodes are the nodes that Planned and Removing announce, in the order of the plan.
	Nodes []PlannedNode
	// Node is the ID of the node in the plan; empty if the event is about none.
	Node string
	// After is the last node that a node waited for before it was started, or removed;
	// empty if it waited for none.
	After string
	// Resource is the kind and name of the resource, as in "Deployment/web".
	Resource string
	// Namespace is that of the resource, where it is not the release's.
	Namespace string
	// State is the state of the resource of ResourceChanged: Ready, InProgress, Failed,
	// Terminating, Missing, or Gone after it was deleted.
	State string
	// Cause is what was found below the resource that explains its state; it may be
	// empty.
	Cause string
	// Deadline is until when the operation waits for the resource or hook; zero if there
	// is no limit. It moves while the API server cannot be reached.
	Deadline time.Time
	// Resources is how many resources Waiting is about.
	Resources int
	// Hook is the kind and name of the hook, HookEvent the event that it runs for, as in
	// "pre-install".
	Hook, HookEvent string
	// Message is for people.
	Message string
	// Err is the failure that the event reports.
	Err error
}

// Operation is what Started and Finished are about (docs/reference.md, "Events").
type Operation struct {
	// Name is install, upgrade, rollback, uninstall or test.
	Name string
	// Release and Namespace are those of the release. Revision is the one that is made,
	// removed or tested.
	Release, Namespace string
	Revision           int
	// Ordered is whether the operation follows an order.
	Ordered bool
	// Deadline is until when the whole operation may take; zero if there is no limit.
	Deadline time.Time
}
