// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package objectwriter

import (
	"errors"
	"strings"

	"helm.sh/helm/v3/pkg/kube"

	"github.com/ordered-helm/helm/internal/object"
)

// ObjectError reports that Apply could not create or change the object Info.
type ObjectError struct {
	Info *object.Info
	Err  error
	// NoResponse is true if the server did not respond to the create request. The object may
	// exist nevertheless.
	NoResponse bool
}

func (e ObjectError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e ObjectError) Unwrap() error { return e.Err }

// ApplyError lists the objects that could not be written, in the order of the list passed to
// Apply. Its text is the same as in Helm.
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

// UnconfirmedCreations returns the objects that may have been created although, according to
// err, an error of Apply, the server did not respond to the create requests.
func UnconfirmedCreations(err error) kube.ResourceList {
	failed, ok := errors.AsType[*ApplyError](err)
	if !ok {
		return nil
	}
	var list kube.ResourceList
	for _, failure := range failed.Failures {
		if failure.NoResponse {
			list = append(list, failure.Info)
		}
	}
	return list
}
