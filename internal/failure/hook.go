// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/go-multierror"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/text"
)

// HookError reports which hooks of an event failed, and why (docs/reference.md, "Hooks").
// Its text begins with a summary, which is Helm's own error if the hooks ran in Helm's
// order. The following lines have the details.
type HookError struct {
	Event release.HookEvent `json:"event"`
	// Hooks has the hooks that failed, in the order in which hooks run. File is the
	// template of the hook.
	Hooks []*Resource `json:"hooks"`
	// NeverStarted has the hooks, as in "Job/migrate", that were never created.
	NeverStarted []string `json:"neverStarted,omitempty"`
	// Helm is Helm's error; nil if the hooks ran in parallel.
	Helm error `json:"-"`
	// Cause is the cause of the context of the operation, if that context ended; otherwise
	// nil.
	Cause error `json:"-"`
}

// IsOfParallelHooks reports whether an error is a HookError of hooks that ran in parallel.
func IsOfParallelHooks(err error) bool {
	hook, ok := errors.AsType[*HookError](err)
	return ok && hook.Helm == nil
}

// Summary returns Helm's error if hooks ran in Helm's order, otherwise a description in one
// line.
func (e *HookError) Summary() string {
	if e.Helm != nil {
		return e.Helm.Error()
	}
	if len(e.Hooks) == 1 {
		return text.Truncate(maxSummary, "hook "+e.Hooks[0].Error())
	}
	return text.Truncate(maxSummary, fmt.Sprintf("%d hooks failed: %s", len(e.Hooks), text.List(names(e.Hooks, (*Resource).short), maxInSummary)))
}

// Error returns the summary, followed by lines with the details.
func (e *HookError) Error() string {
	switch {
	case e.Helm == nil:
		return e.Summary() + "\n" + e.details()
	case is[*IncompleteHookError](e.Helm): // the details follow Helm's unchanged text
		return e.Helm.Error() + e.details() + "\n"
	}
	return e.Helm.Error() // there are no further details
}

// details describes the failure of each hook, one detail per line.
func (e *HookError) details() string {
	var b strings.Builder
	for i, f := range e.Hooks {
		if i == maxInDetail {
			writeMore(&b, e.Hooks[i:])
			break
		}
		f.writeDetail(&b)
		if f.Remedy != "" {
			fmt.Fprintf(&b, "    %s\n", f.Remedy)
		}
	}
	line := strings.TrimRight(b.String(), "\n")
	if len(e.NeverStarted) > 0 {
		line += "\nhooks skipped (blocked by this failure): " + text.List(e.NeverStarted, maxNamed)
	}
	return line
}

// Unwrap returns each failure, and Cause if it is not nil.
func (e *HookError) Unwrap() []error { return unwrap(e.Hooks, e.Cause) }

// MarshalJSON adds the summary to the fields.
func (e *HookError) MarshalJSON() ([]byte, error) {
	type plain HookError
	return json.Marshal(struct {
		Summary string `json:"summary"`
		*plain
	}{text.OneLine(e.Summary()), (*plain)(e)})
}

// IncompleteHookError reports that a hook was created but has not completed.
type IncompleteHookError struct {
	// Helm is Helm's error.
	Helm *multierror.Error
	// Resources are the objects of the hook that have not completed.
	Resources Resources
}

// Error returns the text of Helm's error.
func (e *IncompleteHookError) Error() string { return e.Helm.Error() }

// Unwrap returns each failure.
func (e *IncompleteHookError) Unwrap() []error { return e.Resources.Unwrap() }

// HasRun reports whether the hook ran to completion and failed. It returns false if the
// hook timed out or was deleted.
func (e *IncompleteHookError) HasRun() bool {
	return !slices.ContainsFunc(e.Resources, func(f *Resource) bool {
		return f.State != string(readiness.Failed) || f.Reason == readiness.ReasonDeleted
	})
}
