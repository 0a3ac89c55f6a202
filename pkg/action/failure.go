// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/ordered-helm/helm/internal/diagnosis"
	"github.com/ordered-helm/helm/internal/redact"
)

// Cause is one thing that keeps a resource from being ready: where it was
// found, its reason, and the last lines of the log where there is one.
type Cause = diagnosis.Cause

// NotApplied is the State of a ResourceFailure whose resource, or node, the
// server did not accept.
const NotApplied = "NotApplied"

// reasonInterrupted is the Reason of what the end of the operation cut off.
const reasonInterrupted = "Interrupted"

// ResourceFailure is one resource that failed, or was not ready in time
// (docs/reference.md, "When it fails").
type ResourceFailure struct {
	// Resource is its kind and name, as in "Deployment/db"; empty when all that
	// is known is that something of Node could not be applied.
	Resource  string `json:"resource,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	// File is the template that it comes from.
	File string `json:"file,omitempty"`
	// Node is the ID of its node in the plan, and Title names that for people;
	// both are empty without an order.
	Node  string `json:"node,omitempty"`
	Title string `json:"-"`
	// State is what it had come to: Failed, InProgress, Missing, Terminating or
	// NotApplied.
	State string `json:"state"`
	// Reason is one CamelCase word, for programs.
	Reason string `json:"reason,omitempty"`
	// Message is what its status says, for people.
	Message string `json:"message,omitempty"`
	// Waited is for how long it was waited for.
	Waited time.Duration `json:"-"`
	// Causes are what was found below it, the most telling first.
	Causes []Cause `json:"causes,omitempty"`
	// Unchanged is whether the operation found it as it was declared, so that what
	// is wrong with it was wrong before.
	Unchanged bool `json:"unchanged,omitempty"`
	// Remedy is what would have given it more time; empty if time does not help.
	Remedy string `json:"remedy,omitempty"`
	// Err is the failure in the words of who found it.
	Err error `json:"-"`

	// ending says how the waiting ended, as in "was not ready within 10s".
	ending string
	// foreign is whether Namespace is another one than the release's.
	foreign bool
}

// MarshalJSON adds the time waited, in seconds.
func (f *ResourceFailure) MarshalJSON() ([]byte, error) {
	type plain ResourceFailure
	return json.Marshal(struct {
		*plain
		WaitedSeconds float64 `json:"waitedSeconds"`
	}{(*plain)(f), f.Waited.Round(time.Millisecond).Seconds()})
}

// Unwrap returns Err.
func (f *ResourceFailure) Unwrap() error { return f.Err }

// cutOff has the failure of a request say why the operation ended, if that was all
// that became of it: which request was under way then tells nobody anything.
func (f *ResourceFailure) cutOff(cause error, doing string) {
	ended := errors.Is(f.Err, context.DeadlineExceeded) || errors.Is(f.Err, context.Canceled)
	if cause != nil && ended {
		f.Reason, f.Message, f.ending = reasonInterrupted, oneLine(cause.Error()), "was cut off while it was "+doing
	}
}

// concealed returns an error without what masker hides, in itself and in the
// failures of resources that it consists of.
func concealed(masker *redact.Redactor, err error) error {
	concealFailures(masker, err)
	return masker.Error(err)
}

// concealFailures changes only what tells a secret: others may be reading the
// rest.
func concealFailures(masker *redact.Redactor, err error) {
	if f, ok := err.(*ResourceFailure); ok { //nolint:errorlint // each error of the tree is looked at by itself
		if text := masker.ServerMessage(f.Message); text != f.Message {
			f.Message = text
		}
		if f.Err != nil && masker.ServerMessage(f.Err.Error()) != f.Err.Error() {
			f.Err = masker.Error(f.Err)
		}
		return
	}
	switch e := err.(type) { //nolint:errorlint // as above
	case interface{ Unwrap() error }:
		concealFailures(masker, e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			concealFailures(masker, part)
		}
	}
}

// resourceFailures is what failed of one node.
type resourceFailures []*ResourceFailure

// Unwrap returns the failures one by one.
func (l resourceFailures) Unwrap() []error {
	errs := make([]error, len(l))
	for i, f := range l {
		errs[i] = f
	}
	return errs
}

// DeployError says why a release is not deployed: what failed or was not ready
// in time, why, and what was never started because of it. Its text is short in
// the first line and complete below (docs/reference.md, "When it fails").
type DeployError struct {
	// Resources are what failed, in the order of the plan.
	Resources []*ResourceFailure `json:"resources"`
	// Unfinished are resources, as in "Deployment/db", that were still waited
	// for when a failure elsewhere ended the operation.
	Unfinished []string `json:"unfinished,omitempty"`
	// NeverStarted are the IDs of the nodes that were never started.
	NeverStarted []string `json:"neverStarted,omitempty"`

	// cause is why the operation ended, where it was ended from outside.
	cause error
}

// Unwrap returns the failures one by one, and what ended the operation.
func (e *DeployError) Unwrap() []error {
	errs := resourceFailures(e.Resources).Unwrap()
	if e.cause != nil {
		errs = append(errs, e.cause)
	}
	return errs
}

// MarshalJSON adds the first line of the text.
func (e *DeployError) MarshalJSON() ([]byte, error) {
	type plain DeployError
	return json.Marshal(struct {
		Summary string `json:"summary"`
		*plain
	}{e.Summary(), (*plain)(e)})
}
