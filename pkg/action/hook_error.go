// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/go-multierror"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/hookrunner"
	"github.com/ordered-helm/helm/internal/readiness"
)

// HookError says which hooks of an event failed, and why (docs/reference.md,
// "Hooks"). Its text is short in the first lines, which are Helm's own where hooks
// ran in Helm's order, and complete below.
type HookError struct {
	Event release.HookEvent `json:"event"`
	// Hooks are what failed, in the order in which hooks run. File is the template
	// of the hook.
	Hooks []*ResourceFailure `json:"hooks"`
	// NeverStarted are the hooks, as in "Job/migrate", that were never created.
	NeverStarted []string `json:"neverStarted,omitempty"`

	// helm is the failure in Helm's words; nil where hooks ran in parallel.
	helm error
	// cause is why the operation ended, where it was ended from outside.
	cause error
}

// ofParallelHooks reports whether an error is of hooks that ran in parallel.
func ofParallelHooks(err error) bool {
	var hook *HookError
	return errors.As(err, &hook) && hook.helm == nil
}

// hookFailure is what became of a hook that has not completed.
type hookFailure struct {
	helm      *multierror.Error
	resources resourceFailures
}

// Error is what Helm would say.
func (e *hookFailure) Error() string { return e.helm.Error() }

// Unwrap returns the failures one by one.
func (e *hookFailure) Unwrap() []error { return e.resources.Unwrap() }

// isFinal reports whether the hook has run, and failed.
func (e *hookFailure) isFinal() bool {
	for _, f := range e.resources {
		if f.State != string(readiness.Failed) || f.Reason == readiness.ReasonDeleted {
			return false
		}
	}
	return true
}

// failure puts what became of the run into the error of the operation.
func (r *hookRun) failure(err error, inHelmsOrder bool) error {
	var run *hookrunner.RunError
	if !errors.As(err, &run) {
		return err
	}
	if len(run.Failed) == 0 {
		return run.Cause()
	}
	e := &HookError{Event: r.event, cause: run.Cause()}
	for _, failed := range run.Failed {
		var ran *hookFailure
		if errors.As(failed.Err, &ran) {
			e.Hooks = append(e.Hooks, ran.resources...)
		} else {
			e.Hooks = append(e.Hooks, failureOfHook(failed))
		}
	}
	for _, h := range run.NotStarted {
		e.NeverStarted = append(e.NeverStarted, hookrunner.Title(h))
	}
	concealFailures(r.events.masker, resourceFailures(e.Hooks)) // before a summary cuts them off
	if inHelmsOrder {
		e.helm = r.events.masker.Error(run.Failed[0].Err)
	}
	return e
}

// failureOfHook is the failure of a hook that the server did not accept, or of
// which nothing is known but that it failed.
func failureOfHook(failed hookrunner.Failure) *ResourceFailure {
	message := failed.Err.Error()
	var answers *multierror.Error
	if errors.As(failed.Err, &answers) { // without what Helm says before it
		message = errors.Join(answers.Errors...).Error()
	}
	f := &ResourceFailure{
		Resource: hookrunner.Title(failed.Hook), File: failed.Hook.Path, State: NotApplied, Reason: NotApplied,
		Message: oneLine(message), Err: failed.Err, ending: "could not be created",
	}
	if failed.Created {
		f.State, f.Reason, f.ending = string(readiness.Failed), "HookFailed", "failed"
	}
	return f
}

// Unwrap returns the failures one by one, and what ended the operation.
func (e *HookError) Unwrap() []error {
	errs := resourceFailures(e.Hooks).Unwrap()
	if e.cause != nil {
		errs = append(errs, e.cause)
	}
	return errs
}

// Summary says in short what failed: in Helm's words where hooks ran in Helm's
// order, else in one line.
func (e *HookError) Summary() string {
	if e.helm != nil {
		return e.helm.Error()
	}
	if len(e.Hooks) == 1 {
		return cutTo(longestSummary, "hook "+e.Hooks[0].Error())
	}
	names := make([]string, len(e.Hooks))
	for i, f := range e.Hooks {
		names[i] = f.short()
	}
	return cutTo(longestSummary, fmt.Sprintf("%d hooks failed: %s", len(names), enumerate(names, mostInSummary)))
}

// Error is Summary, and what is known in detail on the lines after it.
func (e *HookError) Error() string {
	var ran *hookFailure
	switch {
	case e.helm == nil:
		return e.Summary() + "\n" + e.details()
	case errors.As(e.helm, &ran): // every line of it stays, and one after it
		return e.helm.Error() + e.details() + "\n"
	}
	return e.helm.Error() // which says all there is
}

// details is what is known of each hook.
func (e *HookError) details() string {
	var b strings.Builder
	for i, f := range e.Hooks {
		if i == mostInDetail {
			fmt.Fprintf(&b, "and %d more: %s\n", len(e.Hooks)-i, enumerate(subjects(e.Hooks[i:]), mostNamed))
			break
		}
		f.detail(&b)
		if f.Remedy != "" {
			fmt.Fprintf(&b, "    %s\n", f.Remedy)
		}
	}
	text := strings.TrimRight(b.String(), "\n")
	if len(e.NeverStarted) > 0 {
		text += "\nhooks never started because of that: " + enumerate(e.NeverStarted, mostNamed)
	}
	return text
}

// MarshalJSON adds the first line of the text.
func (e *HookError) MarshalJSON() ([]byte, error) {
	type plain HookError
	return json.Marshal(struct {
		Summary string `json:"summary"`
		*plain
	}{oneLine(e.Summary()), (*plain)(e)})
}
