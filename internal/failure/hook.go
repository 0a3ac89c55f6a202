// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/go-multierror"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/text"
)

// HookError says which hooks of an event failed, and why (docs/reference.md, "Hooks").
// Its text is short in the first lines, which are Helm's own where hooks ran in Helm's
// order, and complete below.
type HookError struct {
	Event release.HookEvent `json:"event"`
	// Hooks are what failed, in the order in which hooks run. File is the template of
	// the hook.
	Hooks []*Resource `json:"hooks"`
	// NeverStarted are the hooks, as in "Job/migrate", that were never created.
	NeverStarted []string `json:"neverStarted,omitempty"`
	// Helm is the failure in Helm's words; nil where hooks ran in parallel.
	Helm error `json:"-"`
	// Cause is why the operation ended, where it was ended from outside.
	Cause error `json:"-"`
}

// IsOfParallelHooks reports whether an error is of hooks that ran in parallel.
func IsOfParallelHooks(err error) bool {
	var hook *HookError
	return errors.As(err, &hook) && hook.Helm == nil
}

// Summary says in short what failed: in Helm's words where hooks ran in Helm's order,
// otherwise in one line.
func (e *HookError) Summary() string {
	if e.Helm != nil {
		return e.Helm.Error()
	}
	if len(e.Hooks) == 1 {
		return text.Truncate(maxSummary, "hook "+e.Hooks[0].Error())
	}
	return text.Truncate(maxSummary, fmt.Sprintf("%d hooks failed: %s", len(e.Hooks), text.List(shortNames(e.Hooks), maxInSummary)))
}

// Error is Summary, and what is known in detail on the lines after it.
func (e *HookError) Error() string {
	var incomplete *IncompleteHookError
	switch {
	case e.Helm == nil:
		return e.Summary() + "\n" + e.details()
	case errors.As(e.Helm, &incomplete): // Helm's text stays as it is, the details follow
		return e.Helm.Error() + e.details() + "\n"
	}
	return e.Helm.Error() // which says all there is
}

// details is what is known of each hook.
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

// Unwrap returns the failures one by one, and what ended the operation.
func (e *HookError) Unwrap() []error { return unwrap(e.Hooks, e.Cause) }

// MarshalJSON adds the first line of the text.
func (e *HookError) MarshalJSON() ([]byte, error) {
	type plain HookError
	return json.Marshal(struct {
		Summary string `json:"summary"`
		*plain
	}{text.OneLine(e.Summary()), (*plain)(e)})
}

// IncompleteHookError says that a hook was created and has not completed.
type IncompleteHookError struct {
	// Helm is what Helm says of it.
	Helm *multierror.Error
	// Resources are the objects of the hook that have not completed.
	Resources Resources
}

// Error is what Helm says.
func (e *IncompleteHookError) Error() string { return e.Helm.Error() }

// Unwrap returns the failures one by one.
func (e *IncompleteHookError) Unwrap() []error { return e.Resources.Unwrap() }

// HasRun reports whether the hook ran to its end, and failed.
func (e *IncompleteHookError) HasRun() bool {
	for _, f := range e.Resources {
		if f.State != string(readiness.Failed) || f.Reason == readiness.ReasonDeleted {
			return false
		}
	}
	return true
}
