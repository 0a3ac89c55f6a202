// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package failure defines the errors that operations return. They say which resources
// failed, and why (docs/reference.md, "Failure reports").
package failure

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/ordered-helm/helm/internal/diagnosis"
	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/text"
	"github.com/ordered-helm/helm/internal/watcher"
)

// Cause is one reason why a resource is not ready: the object in which it was found, what
// is wrong with the object and, if a container failed, the last lines of its log.
type Cause = diagnosis.Cause

const (
	// NotApplied is the State of a Resource that the server rejected, when it was created
	// or changed.
	NotApplied = "NotApplied"
	// NotDeleted is the State of a Resource whose deletion the server rejected.
	NotDeleted = "NotDeleted"
)

// reasonInterrupted is the Reason of a resource whose request failed only because the
// operation timed out or was canceled.
const reasonInterrupted = "Interrupted"

// Resource describes the failure of one resource. It is also an error (docs/reference.md,
// "Failure reports").
type Resource struct {
	// Resource is the kind and name of the resource, as in "Deployment/db". It is empty if
	// a node could not be applied and it is not known which of its resources is the reason.
	Resource  string `json:"resource,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	// File is the template that contains the resource.
	File string `json:"file,omitempty"`
	// Node is the ID of the resource's node in the deployment graph, and Title is the name
	// of this node in messages. Both are empty in an operation without an order.
	Node  string `json:"node,omitempty"`
	Title string `json:"-"`
	// State is the last known state of the resource: Failed, InProgress, Missing,
	// Terminating, NotApplied or NotDeleted.
	State string `json:"state"`
	// Reason is why the resource is in this state, as one word in CamelCase.
	Reason string `json:"reason,omitempty"`
	// Message explains the state to users. It comes from the status of the resource, or
	// from the server.
	Message string `json:"message,omitempty"`
	// Waited is how long the operation waited for the resource. In JSON, it is the field
	// waitedSeconds.
	Waited time.Duration `json:"-"`
	// Causes contains the causes that were found in the resource and in objects that belong
	// to it, such as pods, with the most specific one first.
	Causes []Cause `json:"causes,omitempty"`
	// Unchanged says whether the operation did not change the resource, because it already
	// was as declared. The problem may then have existed before.
	Unchanged bool `json:"unchanged,omitempty"`
	// Remedy tells the user how to allow the resource more time, or how to change an immutable
	// field. It is empty if neither helps.
	Remedy string `json:"remedy,omitempty"`
	// Err is the error of the request or the wait that failed.
	Err error `json:"-"`
	// Outcome says how the wait or the request ended, as in "was not ready within 10s". In
	// messages, it follows the name of the resource.
	Outcome string `json:"-"`
	// OtherNamespace says whether Namespace differs from the namespace of the release. If
	// so, messages name the namespace.
	OtherNamespace bool `json:"-"`
}

// FromReport returns the failure of a resource for which the operation waited. r is the
// last report of the watcher about the resource. err is the error of the wait, and waited
// is the duration of the wait. The caller must set Outcome, unless the resource has
// failed, was deleted or cannot be observed.
func FromReport(r watcher.Report, err *watcher.NotReadyError, waited time.Duration) *Resource {
	f := &Resource{
		Resource: r.Target.GVK.Kind + "/" + r.Target.Name, Namespace: r.Target.Namespace,
		State: string(r.Status.State), Reason: r.Status.Reason, Message: r.Status.Message,
		Waited: waited, Err: err, Outcome: "was not ready when the operation ended",
	}
	switch {
	case r.Status.State == readiness.Failed:
		f.Outcome = "failed"
	case r.Forbidden != nil:
		f.Outcome, f.Reason, f.Message = "cannot be observed", "Forbidden", r.Forbidden.Error()
	case r.Deleted:
		f.Outcome = "no longer exists"
	}
	if r.Replaced {
		f.Message = strings.TrimPrefix(f.Message+"; it was replaced by another object with the same name", "; ")
	}
	if r.ObserveError != nil {
		f.Message = strings.TrimPrefix(f.Message+"; it currently cannot be observed: "+r.ObserveError.Error(), "; ")
	}
	return f
}

// SetReleaseNamespace sets OtherNamespace by comparing Namespace with the namespace of the
// release.
func (f *Resource) SetReleaseNamespace(namespace string) {
	f.OtherNamespace = f.Namespace != "" && f.Namespace != namespace
}

// SetInterrupted changes the failure of a request that failed only because the operation's
// context was done: the message becomes cause, the cause of that context, and the outcome
// becomes "was interrupted while being", followed by doing, as in "applied". Otherwise,
// SetInterrupted does nothing.
func (f *Resource) SetInterrupted(cause error, doing string) {
	ended := errors.Is(f.Err, context.DeadlineExceeded) || errors.Is(f.Err, context.Canceled)
	if cause != nil && ended {
		f.Reason, f.Message, f.Outcome = reasonInterrupted, text.OneLine(cause.Error()), "was interrupted while being "+doing
	}
}

// MarshalJSON encodes the fields and, as "waitedSeconds", the field Waited.
func (f *Resource) MarshalJSON() ([]byte, error) {
	type plain Resource
	return json.Marshal(struct {
		*plain
		WaitedSeconds float64 `json:"waitedSeconds"`
	}{(*plain)(f), f.Waited.Round(time.Millisecond).Seconds()})
}

// Unwrap returns Err, which can be nil.
func (f *Resource) Unwrap() error { return f.Err }

// Resources contains the failures of the resources of one node or hook, as a single error.
type Resources []*Resource

// Error returns the text of the only failure, or a summary if there are several.
func (l Resources) Error() string { return (&DeployError{Resources: l}).Summary() }

// Unwrap returns the failures.
func (l Resources) Unwrap() []error {
	errs := make([]error, len(l))
	for i, f := range l {
		errs[i] = f
	}
	return errs
}

// unwrap returns the failures in list and, if it is not nil, cause.
func unwrap(list []*Resource, cause error) []error {
	errs := Resources(list).Unwrap()
	if cause != nil {
		errs = append(errs, cause)
	}
	return errs
}
