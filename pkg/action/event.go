// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"fmt"
	"sync"
	"time"

	"github.com/ordered-helm/helm/internal/diagnosis"
	"github.com/ordered-helm/helm/internal/readiness"
)

// EventType says what an Event is about.
type EventType string

const (
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
	// EventNodeReady says that a node is ready.
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
	// EventWaiting says that all nodes are applied and what nothing depends on
	// is waited for.
	EventWaiting EventType = "waiting"
)

// Event is one step of an operation (docs/reference.md, "Events"). It never
// carries the content of an object.
type Event struct {
	Time time.Time
	Type EventType
	// Node is the node's ID in the plan; empty if the event is about none.
	Node string
	// Resource is the resource's kind and name, as in "Deployment/web".
	Resource string
	// Namespace is the resource's, where that is not the release's.
	Namespace string
	// Hook is the hook's kind and name.
	Hook string
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
	masker *diagnosis.Masker
}

func newEvents(notify func(Event)) *events { return &events{notify: notify} }

func (e *events) emit(event Event) {
	if e.notify == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	event.Time = time.Now()
	event.Message, event.Err = e.masker.Refusal(event.Message), e.conceal(event.Err)
	e.notify(event)
}

// conceal returns an error without what must not be printed.
func (e *events) conceal(err error) error { return concealed(e.masker, err) }

// concealing returns a log to which nothing comes that must not be printed.
func (e *events) concealing(log DebugLog) DebugLog {
	return func(format string, v ...any) { log("%s", e.masker.Refusal(fmt.Sprintf(format, v...))) }
}

func (e *events) warn(message string) { e.emit(Event{Type: EventWarning, Message: message}) }

// notice passes on trouble with observing the cluster.
func (e *events) notice(n readiness.Notice) {
	e.emit(Event{Type: EventObserving, Message: n.String()})
}
