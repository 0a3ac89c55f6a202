// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package objectwriter

import (
	"strings"

	"github.com/ordered-helm/helm/internal/object"
)

// ObjectError reports that Apply could not write one object.
type ObjectError struct {
	Info *object.Info
	Err  error
	// Unanswered says that the server did not answer the create request, so the object may
	// exist.
	Unanswered bool
}

func (e ObjectError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e ObjectError) Unwrap() error { return e.Err }

// ApplyError lists the objects that could not be applied, in the order in which they were
// to be applied. Its text has Helm's format.
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

// Unwrap returns all failures.
func (e *ApplyError) Unwrap() []error {
	errs := make([]error, len(e.Failures))
	for i, failure := range e.Failures {
		errs[i] = failure
	}
	return errs
}
