// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hookrunner

import (
	"fmt"
	"strings"

	"helm.sh/helm/v3/pkg/release"
)

// Failure is one hook that failed.
type Failure struct {
	Hook *release.Hook
	// Err is what the Runner returned.
	Err error
	// Created is whether the hook was created before it failed.
	Created bool
}

// RunError says why not all hooks of an event have completed.
type RunError struct {
	// Failed are the hooks that failed, in the order of the buckets; none if the
	// run was ended from outside before any did.
	Failed []Failure
	// NotStarted are those that were never created, in that order.
	NotStarted []*release.Hook

	// cause is why the run was ended, if it was.
	cause error
}

// Error is the error of a single hook as it is; of several, each in a line.
func (e *RunError) Error() string {
	switch len(e.Failed) {
	case 0:
		return fmt.Sprint(e.cause)
	case 1:
		return e.Failed[0].Err.Error()
	}
	lines := make([]string, len(e.Failed))
	for i, f := range e.Failed {
		lines[i] = fmt.Sprintf("hook %s (%s): %v", Title(f.Hook), f.Hook.Path, f.Err)
	}
	return fmt.Sprintf("%d hooks failed:\n%s", len(lines), strings.Join(lines, "\n"))
}

// Unwrap returns the errors of the hooks, and what ended the run.
func (e *RunError) Unwrap() []error {
	var errs []error
	for _, f := range e.Failed {
		errs = append(errs, f.Err)
	}
	if e.cause != nil {
		errs = append(errs, e.cause)
	}
	return errs
}

// Cause is why the run was ended from outside; nil if it was not.
func (e *RunError) Cause() error { return e.cause }
