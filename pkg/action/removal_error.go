// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/watcher"
)

// NotDeleted is the state of a resource whose deletion the server refused.
const NotDeleted = "NotDeleted"

// RemovalError says what could not be deleted in order, or was not gone in time,
// and what was not deleted because of that (docs/reference.md, "When it fails").
// Its text is one line, and one more for each thing that is known besides.
type RemovalError struct {
	// Resources are what is not gone, in the order of the removal; pods of what was
	// deleted among them.
	Resources []*ResourceFailure `json:"resources"`
	// NotDeleted are the IDs of the nodes that were not deleted.
	NotDeleted []string `json:"notDeleted,omitempty"`

	// cause is why the removal ended, where it was ended from outside.
	cause error
}

// Error is Summary, and what is known in detail on the lines after it.
func (e *RemovalError) Error() string {
	lines := []string{e.Summary()}
	for i, f := range e.Resources {
		if len(e.Resources) > 1 && i < mostInDetail {
			lines = append(lines, "  "+f.Error())
		}
		if next := i + 1; f.Remedy != "" && (next == len(e.Resources) || e.Resources[next].Remedy != f.Remedy) {
			lines = append(lines, "  "+f.Remedy)
		}
	}
	if len(e.NotDeleted) > 0 {
		lines = append(lines, "not deleted because of that: "+enumerate(e.NotDeleted, mostNamed))
	}
	return strings.Join(lines, "\n")
}

// Summary says in one line what is not gone.
func (e *RemovalError) Summary() string {
	switch len(e.Resources) {
	case 0:
		if e.cause == nil {
			return "the removal did not finish"
		}
		return e.cause.Error()
	case 1:
		return oneLine(e.Resources[0].Error())
	}
	return fmt.Sprintf("%d resources are not gone: %s", len(e.Resources), enumerate(subjects(e.Resources), mostInSummary))
}

// Unwrap returns the failures one by one, and what ended the removal.
func (e *RemovalError) Unwrap() []error {
	errs := resourceFailures(e.Resources).Unwrap()
	if e.cause != nil {
		errs = append(errs, e.cause)
	}
	return errs
}

// MarshalJSON adds the first line of the text.
func (e *RemovalError) MarshalJSON() ([]byte, error) {
	type plain RemovalError
	return json.Marshal(struct {
		Summary string `json:"summary"`
		*plain
	}{e.Summary(), (*plain)(e)})
}

// removalError makes an error of how the removal ended.
func (r *removal) removalError(ctx context.Context, err error) error {
	var ended *sequencer.ExecutionError
	if !errors.As(err, &ended) {
		return err
	}
	result := &RemovalError{cause: context.Cause(ctx)}
	for _, node := range ended.Failed {
		var failures resourceFailures
		if !errors.As(node.Err, &failures) {
			f := &ResourceFailure{State: NotDeleted, Reason: NotDeleted, Message: node.Err.Error(), Err: node.Err, ending: "could not be deleted"}
			f.cutOff(result.cause, "deleted")
			failures = resourceFailures{f}
		}
		for _, f := range failures {
			f.Node, f.Title = node.Node.ID(), node.Node.Title()
			f.foreign = f.Namespace != "" && f.Namespace != r.namespace
		}
		result.Resources = append(result.Resources, failures...)
	}
	for _, n := range ended.NotStarted {
		result.NotDeleted = append(result.NotDeleted, n.ID())
	}
	return result
}

// holderOf says what an object that is not gone is waiting for.
func holderOf(report watcher.Report) string {
	if report.Object != nil && len(report.Object.GetFinalizers()) > 0 {
		return "whoever set its finalizers"
	}
	return "it"
}

// notGone puts the end of the waiting for a group, which began at a time, into
// failures.
func notGone(err error, began time.Time) error {
	var late *watcher.NotReadyError
	if !errors.As(err, &late) {
		return err
	}
	waited := time.Since(began)
	ending, limit := "was not gone when the operation ended", ""
	var ofNode *goneTimeoutError
	var ofOperation *timeoutError
	switch {
	case errors.As(err, &ofNode):
		ending = fmt.Sprintf("was not gone within %s", ofNode.limit)
		limit = "--readiness-timeout"
	case errors.As(err, &ofOperation):
		ending = fmt.Sprintf("was not gone when the operation's time of %s was over", ofOperation.limit)
		limit = "--timeout"
	case errors.Is(err, context.Canceled):
		ending = "was not gone when the operation was cancelled"
	}
	var failures resourceFailures
	for _, report := range late.Reports {
		f := failureOf(report, late, waited)
		f.ending = ending
		if limit != "" {
			f.Remedy = fmt.Sprintf("if %s only needs more time, raise %s", holderOf(report), limit)
		}
		failures = append(failures, f)
	}
	slices.SortStableFunc(failures, func(a, b *ResourceFailure) int { return strings.Compare(a.Resource, b.Resource) })
	return failures
}
