// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package failure defines the errors with which operations end. They say which resources
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

// Cause is one cause for which a resource is not ready: the object where it was found, its
// reason, and the last lines of the log if there is one.
type Cause = diagnosis.Cause

const (
	// NotApplied is the State of a Resource, or of a node, that the server refused to
	// create or change.
	NotApplied = "NotApplied"
	// NotDeleted is the State of a Resource that the server refused to delete.
	NotDeleted = "NotDeleted"
)

// reasonInterrupted is the Reason of a resource whose request failed only because the
// operation ended.
const reasonInterrupted = "Interrupted"

// Resource reports that one resource failed or timed out (docs/reference.md, "Failure
// reports").
type Resource struct {
	// Resource is its kind and name, as in "Deployment/db". It is empty if it is not known
	// which resource of Node could not be applied.
	Resource  string `json:"resource,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	// File is the template of the resource.
	File string `json:"file,omitempty"`
	// Node is the ID of the node of the resource in the plan, and Title is the name of that
	// node in messages. Both are empty without an order.
	Node  string `json:"node,omitempty"`
	Title string `json:"-"`
	// State is the last state of the resource: Failed, InProgress, Missing, Terminating,
	// NotApplied or NotDeleted.
	State string `json:"state"`
	// Reason is the reason for State: one word in CamelCase, for programs.
	Reason string `json:"reason,omitempty"`
	// Message is the message of the status of the resource, for users.
	Message string `json:"message,omitempty"`
	// Waited is the time for which the operation waited for the resource.
	Waited time.Duration `json:"-"`
	// Causes has the causes that were found in the resource and in objects that belong to
	// it, such as pods. The most specific one is first.
	Causes []Cause `json:"causes,omitempty"`
	// Unchanged says whether the operation did not change the resource, because it already
	// was as declared. Its problem then existed before the operation.
	Unchanged bool `json:"unchanged,omitempty"`
	// Remedy says how the user can allow the resource more time. It is empty if more time
	// does not help.
	Remedy string `json:"remedy,omitempty"`
	// Err is the error of the component that reported the failure.
	Err error `json:"-"`
	// Outcome says how the wait ended, as in "was not ready within 10s".
	Outcome string `json:"-"`
	// OtherNamespace says whether Namespace differs from the namespace of the release.
	// Messages then name it.
	OtherNamespace bool `json:"-"`
}

// FromReport converts the last report on a resource that the operation waited for to a
// failure. err is the error of the wait, and waited is its duration. The caller must set
// Outcome, unless the resource has failed permanently.
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

// InNamespace sets OtherNamespace. release is the namespace of the release.
func (f *Resource) InNamespace(release string) {
	f.OtherNamespace = f.Namespace != "" && f.Namespace != release
}

// Interrupt replaces the message of a failed request with cause, the cause of the end of
// the operation, if the request failed only because of that. doing says what the request
// was for, as in "applied".
func (f *Resource) Interrupt(cause error, doing string) {
	ended := errors.Is(f.Err, context.DeadlineExceeded) || errors.Is(f.Err, context.Canceled)
	if cause != nil && ended {
		f.Reason, f.Message, f.Outcome = reasonInterrupted, text.OneLine(cause.Error()), "was interrupted while being "+doing
	}
}

// MarshalJSON adds Waited in seconds.
func (f *Resource) MarshalJSON() ([]byte, error) {
	type plain Resource
	return json.Marshal(struct {
		*plain
		WaitedSeconds float64 `json:"waitedSeconds"`
	}{(*plain)(f), f.Waited.Round(time.Millisecond).Seconds()})
}

// Unwrap returns Err.
func (f *Resource) Unwrap() error { return f.Err }

// Resources are the failures of one node.
type Resources []*Resource

// Error returns the text of a single failure, or a summary of several.
func (l Resources) Error() string { return (&DeployError{Resources: l}).Summary() }

// Unwrap returns each failure.
func (l Resources) Unwrap() []error {
	errs := make([]error, len(l))
	for i, f := range l {
		errs[i] = f
	}
	return errs
}

// unwrap returns the failures in list, and cause if it is not nil.
func unwrap(list []*Resource, cause error) []error {
	errs := Resources(list).Unwrap()
	if cause != nil {
		errs = append(errs, cause)
	}
	return errs
}
