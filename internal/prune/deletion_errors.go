// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package prune

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ordered-helm/helm/internal/execute"
	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/watcher"
)

// removalError converts err, the error of Removal.Execute, to the error of Run. The result
// lists the objects that could not be deleted, and the nodes whose deletion was not started.
func (d *OrderedDeletion) removalError(ctx context.Context, err error) error {
	var execution *execute.Error
	if !errors.As(err, &execution) {
		return err
	}
	result := &failure.RemovalError{Cause: context.Cause(ctx)}
	for _, failed := range execution.Failed {
		var failures failure.Resources
		var hook *failure.HookError
		switch {
		case errors.As(failed.Err, &hook):
			failures = hook.Hooks
		case !errors.As(failed.Err, &failures):
			f := &failure.Resource{
				State: failure.NotDeleted, Reason: failure.NotDeleted, Message: failed.Err.Error(), Err: failed.Err, Outcome: "could not be deleted",
			}
			f.SetInterrupted(result.Cause, "deleted")
			failures = failure.Resources{f}
		}
		for _, f := range failures {
			f.Node, f.Title = failed.Vertex.ID(), failed.Vertex.Title()
			f.SetReleaseNamespace(d.Namespace)
		}
		result.Resources = append(result.Resources, failures...)
	}
	for _, v := range execution.NotStarted {
		result.NotDeleted = append(result.NotDeleted, v.ID())
	}
	return result
}

// stillExistError converts err, the error of waiting until deleted objects no longer exist,
// to a failure for each object that still existed. began is when the wait began.
func stillExistError(err error, began time.Time) error {
	var notReady *watcher.NotReadyError
	if !errors.As(err, &notReady) {
		return err
	}
	waited := time.Since(began)
	outcome, flag := "still existed when the operation ended", ""
	var ofNode *failure.WaitTimeoutError
	var ofOperation *failure.TimeoutError
	switch {
	case errors.As(err, &ofNode):
		outcome = fmt.Sprintf("still existed after %s", ofNode.Limit)
		flag = "--readiness-timeout"
	case errors.As(err, &ofOperation):
		outcome = fmt.Sprintf("still existed when the operation timed out after %s", ofOperation.Limit)
		flag = "--timeout"
	case errors.Is(err, context.Canceled):
		outcome = "still existed when the operation was cancelled"
	}
	var failures failure.Resources
	for _, report := range notReady.Reports {
		f := failure.FromReport(report, notReady, waited)
		f.Outcome = outcome
		if flag != "" {
			f.Remedy = fmt.Sprintf("to allow %s more time, increase %s", blockerOf(report), flag)
		}
		failures = append(failures, f)
	}
	slices.SortStableFunc(failures, func(a, b *failure.Resource) int { return strings.Compare(a.Resource, b.Resource) })
	return failures
}

// blockerOf returns what needs more time to complete the deletion of an object, as part of a
// message: the controllers of the object's finalizers, or the object itself.
func blockerOf(report watcher.Report) string {
	if report.Object != nil && len(report.Object.GetFinalizers()) > 0 {
		return "the controllers of its finalizers"
	}
	return "it"
}
