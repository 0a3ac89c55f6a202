// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hookorder

import (
	"fmt"
	"strings"

	"helm.sh/helm/v3/pkg/release"
)

// HookFailure describes why one hook failed. Package hooks converts it to a failure.HookError,
// which users see.
type HookFailure struct {
	Hook *release.Hook
	// Err is the error that a method of HookActions returned.
	Err error
	// Created reports whether the object of the hook was created.
	Created bool
}

// RunError reports that some hooks of an event failed or were skipped.
type RunError struct {
	// Failed lists the hooks that failed, in the order of the buckets. It is empty if the
	// context of Run was done before any hook failed.
	Failed []HookFailure
	// NotStarted lists the skipped hooks, in the same order: those that were not created
	// because of the failures or because the context was done.
	NotStarted []*release.Hook
	// Cause is context.Cause of the context of Run. It is nil if the context was not done.
	Cause error
}

// Error returns the error of a single failed hook unchanged, and lists those of several
// hooks one per line.
func (e *RunError) Error() string {
	switch len(e.Failed) {
	case 0:
		return fmt.Sprint(e.Cause)
	case 1:
		return e.Failed[0].Err.Error()
	}
	lines := make([]string, len(e.Failed))
	for i, f := range e.Failed {
		lines[i] = fmt.Sprintf("hook %s (%s): %v", Title(f.Hook), f.Hook.Path, f.Err)
	}
	return fmt.Sprintf("%d hooks failed:\n%s", len(lines), strings.Join(lines, "\n"))
}

// Unwrap returns the errors of the failed hooks and, if it is set, Cause.
func (e *RunError) Unwrap() []error {
	var errs []error
	for _, f := range e.Failed {
		errs = append(errs, f.Err)
	}
	if e.Cause != nil {
		errs = append(errs, e.Cause)
	}
	return errs
}
