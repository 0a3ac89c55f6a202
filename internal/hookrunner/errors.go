// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hookrunner

import (
	"fmt"
	"strings"

	"helm.sh/helm/v3/pkg/release"
)

// Failure is the failure of one hook.
type Failure struct {
	Hook *release.Hook
	// Err is the error of the Runner.
	Err error
	// Created is whether the hook was created before it failed.
	Created bool
}

// RunError reports that not all hooks of an event have completed.
type RunError struct {
	// Failed are the hooks that failed, in the order of the buckets. It is empty if the
	// run was ended from outside before.
	Failed []Failure
	// NotStarted are the hooks that were never created, in the same order.
	NotStarted []*release.Hook

	// cause is why the run was ended from outside, if it was.
	cause error
}

// Error returns the error of a single hook unchanged, and those of several hooks in a
// line each.
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

// Unwrap returns the errors of the hooks, and the cause.
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

// Cause returns why the run was ended from outside, or nil.
func (e *RunError) Cause() error { return e.cause }
