// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"strings"

	"k8s.io/cli-runtime/pkg/resource"
)

// ObjectError is what happened to one object.
type ObjectError struct {
	Info *resource.Info
	Err  error
	// Unanswered says that the object was sent to be created and the server did not
	// answer: it may be there now.
	Unanswered bool
}

func (e ObjectError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e ObjectError) Unwrap() error { return e.Err }

// ApplyError lists, in the order in which the objects were to be applied, those
// that could not be. It reads as Helm's own errors do.
type ApplyError struct {
	Failures []ObjectError
}

func (e *ApplyError) Error() string {
	texts := make([]string, len(e.Failures))
	for i, failure := range e.Failures {
		texts[i] = failure.Error()
	}
	return strings.Join(texts, " && ")
}

// Unwrap returns every failure.
func (e *ApplyError) Unwrap() []error {
	errs := make([]error, len(e.Failures))
	for i, failure := range e.Failures {
		errs[i] = failure
	}
	return errs
}
