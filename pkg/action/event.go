// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"fmt"
	"sync"
	"time"

	"github.com/ordered-helm/helm/internal/redact"
	"github.com/ordered-helm/helm/internal/watcher"
)

// EventType says what an Event is about.
type EventType string

const (
	// EventStarted begins an operation. One that undoes another, as --atomic asks
	// for, begins and ends within that.
	EventStarted EventType = "started"
	// EventFinished ends an operation; it failed if there is an error.
	EventFinished EventType = "finished"
	// EventWarning is something that the author or operator should know of.
	EventWarning EventType = "warning"
	// EventObserving says that the cluster cannot be observed, or only in
	// another way, or that it can be again.
	EventObserving EventType = "observing"
	// EventPlanned begins what an operation does in order, and says how much it
	// is. An operation without an order has none.
	EventPlanned EventType = "planned"
	// EventNodeStarted says that a node begins to be applied.
	EventNodeStarted EventType = "node-started"
	// EventNodeApplied says that all objects of a node were written.
	EventNodeApplied EventType = "node-applied"
	// EventNodeReady says that a node is ready, as far as that is waited for: a Job
	// on which nothing depends may still run. One on which nothing depends may get
	// unready again before the operation ends, and then ready once more.
	EventNodeReady EventType = "node-ready"
	// EventNodeFailed says that a node failed or was not ready in time.
	EventNodeFailed EventType = "node-failed"
	// EventRemoving says that the nodes are deployed, or given up, and that some
	// objects begin to be deleted: what the release no longer has, or what a failed
	// operation created.
	EventRemoving EventType = "removing"
	// EventNodeDeleting says that the objects of a node begin to be deleted.
	EventNodeDeleting EventType = "node-deleting"
	// EventNodeDeleted says that a node is gone.
	EventNodeDeleted EventType = "node-deleted"
	// EventResourceChanged says that the readiness of a resource changed.
	EventResourceChanged EventType = "resource-changed"
	// EventHookStarted says that a hook begins to run.
	EventHookStarted EventType = "hook-started"
	// EventHookDone says that a hook has completed or failed.
	EventHookDone EventType = "hook-done"
	// EventHookLog is the last line of the log of a hook that runs. There are such
	// events only where they are asked for.
	EventHookLog EventType = "hook-log"
	// EventWaiting says that everything is applied, or deleted, and that what nothing
	// depends on is waited for; without an order, that is everything.
	EventWaiting EventType = "waiting"
)

// Event is one step of an operation (docs/reference.md, "Events"). It never
// carries the content of an object.
type Event struct {
	Time time.Time
	Type EventType
	// Operation says what begins with EventStarted or ends with EventFinished.
	Operation *Operation
	// Nodes are the nodes of which EventPlanned and EventRemoving say that something
	// is done with them from now on, in the order of the plan.
	Nodes []PlannedNode
	// Node is the node's ID in the plan; empty if the event is about none.
	Node string
	// After is the node whose end, or removal, was the last that a node waited for
	// which begins; empty if it waited for none.
	After string
	// Resource is the resource's kind and name, as in "Deployment/web".
	Resource string
	// Namespace is the resource's, where that is not the release's.
	Namespace string
	// State is how the resource of EventResourceChanged stands: Ready, InProgress,
	// Failed, Terminating, Missing, or Gone after it was deleted.
	State string
	// Cause is what was found below the resource that explains its state; it may be
	// empty.
	Cause string
	// Deadline is until when the resource or hook is waited for; zero if there is no
	// limit. It moves while the API cannot be reached.
	Deadline time.Time
	// Resources is how many resources EventWaiting is about.
	Resources int
	// Hook is the hook's kind and name, HookEvent what it is run at, as in
	// "pre-install".
	Hook, HookEvent string
	// Message is for people.
	Message string
	// Err is the failure that the event reports.
	Err error
}

// events hands events to the caller's callback, one at a time.
type events struct {
	mu     sync.Mutex
	notify func(Event)
	// masker takes what the release's Secrets hold out of all that is said.
	masker *redact.Redactor
	// observe is told about each new masker.
	observe func(*redact.Redactor)
}

// hide has secrets of these objects taken out of all that is said from now on.
func (e *events) hide(objects []map[string]any) {
	e.masker = redact.ForObjects(objects)
	if e.observe != nil {
		e.observe(e.masker)
	}
}

func newEvents(notify func(Event)) *events { return &events{notify: notify} }

func (e *events) emit(event Event) {
	if e.notify == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	event.Time = time.Now()
	event.Message, event.Cause, event.Err = e.masker.ServerMessage(event.Message), e.masker.ServerMessage(event.Cause), e.conceal(event.Err)
	e.notify(event)
}

// conceal returns an error without what must not be printed.
func (e *events) conceal(err error) error { return concealed(e.masker, err) }

// concealing returns a log to which nothing comes that must not be printed.
func (e *events) concealing(log DebugLog) DebugLog {
	return func(format string, v ...any) { log("%s", e.masker.ServerMessage(fmt.Sprintf(format, v...))) }
}

func (e *events) warn(message string) { e.emit(Event{Type: EventWarning, Message: message}) }

// notice passes on trouble with observing the cluster.
func (e *events) notice(n watcher.Notice) {
	e.emit(Event{Type: EventObserving, Message: n.String()})
}
