// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package failure has the errors with which operations end: which resources failed, and
// why (docs/reference.md, "When it fails").
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

// Cause is one thing that keeps a resource from being ready: where it was found, its
// reason, and the last lines of the log where there is one.
type Cause = diagnosis.Cause

const (
	// NotApplied is the State of a Resource, or of a node, that the server rejected.
	NotApplied = "NotApplied"
	// NotDeleted is the State of a Resource whose deletion the server rejected.
	NotDeleted = "NotDeleted"
)

// reasonInterrupted is the Reason of a failure that is only the end of the operation.
const reasonInterrupted = "Interrupted"

// Resource is one resource that failed, or was not ready in time (docs/reference.md,
// "When it fails").
type Resource struct {
	// Resource is its kind and name, as in "Deployment/db". It is empty when all that is
	// known is that something of Node could not be applied.
	Resource  string `json:"resource,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	// File is the template that it comes from.
	File string `json:"file,omitempty"`
	// Node is the ID of its node in the plan, and Title is the name of that node for
	// people. Both are empty without an order.
	Node  string `json:"node,omitempty"`
	Title string `json:"-"`
	// State is its last state: Failed, InProgress, Missing, Terminating or NotApplied.
	State string `json:"state"`
	// Reason is one CamelCase word, for programs.
	Reason string `json:"reason,omitempty"`
	// Message is what its status says, for people.
	Message string `json:"message,omitempty"`
	// Waited is how long the operation waited for it.
	Waited time.Duration `json:"-"`
	// Causes are what was found below it, the most telling one first.
	Causes []Cause `json:"causes,omitempty"`
	// Unchanged is whether the operation found it as it was declared, so that whatever
	// is wrong with it was wrong before.
	Unchanged bool `json:"unchanged,omitempty"`
	// Remedy says how to allow it more time. It is empty if more time does not help.
	Remedy string `json:"remedy,omitempty"`
	// Err is the failure in the words of the component that reported it.
	Err error `json:"-"`
	// Outcome says how the wait ended, as in "was not ready within 10s".
	Outcome string `json:"-"`
	// OtherNamespace is whether Namespace is not the release's.
	OtherNamespace bool `json:"-"`
}

// FromReport makes a failure of the last report on a resource that was waited for. How
// the wait ended is for the caller to say, unless the resource has failed for good.
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

// InNamespace notes whether the resource is outside the namespace of the release.
func (f *Resource) InNamespace(release string) {
	f.OtherNamespace = f.Namespace != "" && f.Namespace != release
}

// Interrupt replaces a failed request with the cause for which the operation ended, if
// that is all that happened: which request it interrupted is of no interest. Doing is
// what the request did, as in "applied".
func (f *Resource) Interrupt(cause error, doing string) {
	ended := errors.Is(f.Err, context.DeadlineExceeded) || errors.Is(f.Err, context.Canceled)
	if cause != nil && ended {
		f.Reason, f.Message, f.Outcome = reasonInterrupted, text.OneLine(cause.Error()), "was interrupted while being "+doing
	}
}

// MarshalJSON adds the time waited, in seconds.
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

// Error is the text of a single failure, or a summary of several.
func (l Resources) Error() string { return (&DeployError{Resources: l}).Summary() }

// Unwrap returns the failures one by one.
func (l Resources) Unwrap() []error {
	errs := make([]error, len(l))
	for i, f := range l {
		errs[i] = f
	}
	return errs
}

// unwrap returns failures one by one, and the cause if there is one.
func unwrap(list []*Resource, cause error) []error {
	errs := Resources(list).Unwrap()
	if cause != nil {
		errs = append(errs, cause)
	}
	return errs
}
