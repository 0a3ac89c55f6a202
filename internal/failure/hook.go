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

// HookError reports which hooks of an event, such as pre-install, failed and why
// (docs/reference.md, "Hooks"). The first line of its text is a summary, and the following
// lines contain the details. If the hooks ran in Helm's order, the text begins with Helm's
// error instead of a summary.
type HookError struct {
	Event release.HookEvent `json:"event"`
	// Hooks contains the hooks that failed, in the order in which hooks run. The field File
	// of each is the template of the hook.
	Hooks []*Resource `json:"hooks"`
	// NeverStarted names the hooks, as in "Job/migrate", that were skipped because of the
	// failures.
	NeverStarted []string `json:"neverStarted,omitempty"`
	// Helm is the error that Helm would return; nil if hooks ran in parallel.
	Helm error `json:"-"`
	// Cause is the cause of the operation's context if that context is done; otherwise nil.
	Cause error `json:"-"`
}

// IsOfParallelHooks reports whether err is or wraps a HookError of hooks that ran in
// parallel.
func IsOfParallelHooks(err error) bool {
	hook, ok := errors.AsType[*HookError](err)
	return ok && hook.Helm == nil
}

// Summary returns Helm's error if the hooks ran in Helm's order, otherwise one line that
// names the failed hooks.
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
	case is[*IncompleteHookError](e.Helm): // the details follow the unchanged text of Helm's error
		return e.Helm.Error() + e.details() + "\n"
	}
	return e.Helm.Error() // it contains everything that is known
}

// details describes the failure of each hook, with one detail per line, and names the
// skipped hooks.
func (e *HookError) details() string {
	var b strings.Builder
	summary := e.Summary()
	for i, f := range e.Hooks {
		if i == maxInDetail {
			writeMore(&b, e.Hooks[i:])
			break
		}
		f.writeDetail(&b, summary)
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

// Unwrap returns Hooks and, if it is not nil, Cause.
func (e *HookError) Unwrap() []error { return unwrap(e.Hooks, e.Cause) }

// MarshalJSON encodes the fields and, as "summary", the result of Summary in one line.
func (e *HookError) MarshalJSON() ([]byte, error) {
	type plain HookError
	return json.Marshal(struct {
		Summary string `json:"summary"`
		*plain
	}{text.OneLine(e.Summary()), (*plain)(e)})
}

// IncompleteHookError reports that a hook was created but did not complete: it failed,
// timed out or was deleted.
type IncompleteHookError struct {
	// Helm is the error that Helm would return. IncompleteHookError has the same text.
	Helm *multierror.Error
	// Resources contains the failures of the hook's objects.
	Resources Resources
}

// Error returns the text of the field Helm.
func (e *IncompleteHookError) Error() string { return e.Helm.Error() }

// Unwrap returns Resources.
func (e *IncompleteHookError) Unwrap() []error { return e.Resources.Unwrap() }

// HasRun reports whether the hook ran and failed. It returns false if the hook timed out or
// was deleted.
func (e *IncompleteHookError) HasRun() bool {
	return !slices.ContainsFunc(e.Resources, func(f *Resource) bool {
		return f.State != string(readiness.Failed) || f.Reason == readiness.ReasonDeleted
	})
}
