// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/go-multierror"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/hookorder"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/text"
	"github.com/ordered-helm/helm/internal/wait"
	"github.com/ordered-helm/helm/internal/watcher"
)

// maxExplained is the maximum number of failed hooks for which causes are looked for in the
// cluster.
const maxExplained = 10

// Wait implements hookorder.HookActions. If a hook fails, Wait looks for causes before it
// returns, because the objects of the hook may be deleted afterwards.
func (r *eventRun) Wait(ctx context.Context, h *release.Hook) error {
	stop := r.followLog(ctx, h)
	err := r.wait(ctx, h)
	stop()
	if hookorder.IsExpectedToFail(h) {
		var clientError *wait.HookClientError
		err = invertResult(h, err, errors.As(err, &clientError) && ctx.Err() == nil)
	}
	r.setResult(h, err)
	return err
}

func (r *eventRun) wait(ctx context.Context, h *release.Hook) error {
	o := r.objectsOf(h)
	if o.watchErr != nil {
		return o.watchErr
	}
	timed := ctx
	if r.Timeout > 0 {
		var cancel context.CancelFunc
		timed, cancel = context.WithTimeoutCause(ctx, r.Timeout, failure.HookTimeout(r.Timeout))
		defer cancel()
	}
	reports, err := o.completion.Wait(timed)
	var notReady *watcher.NotReadyError
	if errors.As(err, &notReady) {
		return r.incompleteError(timed, h, reports, notReady)
	}
	if err == nil && h.Kind == object.CRDKind {
		r.awaitServedKinds(ctx, h, o)
	}
	return err
}

// incompleteError returns a *failure.IncompleteHookError for those objects of a hook that
// have not completed. reports and notReady are the results of the wait for the hook. As in
// Helm, an object that was deleted counts as completed, unless the hook can run in parallel.
// If all objects have completed, incompleteError returns nil.
func (r *eventRun) incompleteError(ctx context.Context, h *release.Hook, reports []watcher.Report, notReady *watcher.NotReadyError) error {
	failed := &failure.IncompleteHookError{}
	created := r.objectsOf(h).created
	var incomplete []watcher.Report
	for _, report := range reports {
		switch {
		case report.Status.State == readiness.Ready:
		case report.Status.Reason == readiness.ReasonDeleted && !r.isParallel(h):
			r.Events.Warnf("hook %s (%s): %s; it is treated as completed, as in stock Helm", hookorder.Title(h), h.Path, report.Status.Message)
		default:
			f := failure.FromReport(report, notReady, time.Since(created))
			f.File = h.Path
			f.SetReleaseNamespace(r.writer.Release().Namespace)
			setOutcome(f, report, context.Cause(ctx))
			failed.Resources, incomplete = append(failed.Resources, f), append(incomplete, report)
			failed.Helm = multierror.Append(failed.Helm, helmError(ctx, report))
		}
	}
	if len(failed.Resources) == 0 {
		return nil
	}
	if r.mayExplain() {
		r.hookWaiter.Explain(failed.Resources, incomplete)
	}
	return failed
}

// awaitServedKinds waits until the cluster serves the kinds of the CRDs in a hook, because later
// hooks can contain objects of these kinds. If this fails, it only emits a warning, because
// it is not certain that a later hook needs the kinds.
func (r *eventRun) awaitServedKinds(ctx context.Context, h *release.Hook, o *hookObjects) {
	err := r.hookWaiter.WaitEstablished(ctx, o.list)
	if err == nil {
		err = r.Cluster.AwaitKinds(ctx, object.DefinedKinds(o.list))
	}
	if err != nil && ctx.Err() == nil {
		r.Events.Warnf("hook %s (%s): the kinds that it defines may not be available: %v", hookorder.Title(h), h.Path, err)
	}
}

// mayExplain returns true in its first maxExplained calls.
func (r *eventRun) mayExplain() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.explained++
	return r.explained <= maxExplained
}

// setOutcome sets f.Outcome, which says how the wait for an object of a hook ended, and
// f.Remedy, which says how to allow more time. cause is the cause with which the context
// ended; nil if it has not ended.
func setOutcome(f *failure.Resource, report watcher.Report, cause error) {
	var hook *failure.WaitTimeoutError
	var operation *failure.TimeoutError
	switch {
	case report.Status.Reason == readiness.ReasonDeleted:
		f.Outcome = "was deleted before it completed"
	case report.Status.State == readiness.Failed, report.Forbidden != nil:
	case errors.As(cause, &hook):
		f.Outcome, f.Remedy = fmt.Sprintf("did not complete within %s", hook.Limit), "to allow more time, increase --timeout"
	case errors.As(cause, &operation):
		f.Outcome = fmt.Sprintf("did not complete before the operation timed out after %s", operation.Limit)
		f.Remedy = "to allow more time, increase --timeout"
	default:
		f.Outcome = "had not completed when the operation was cancelled"
	}
}

// helmError returns the error with which Helm would report an object that has not completed.
func helmError(ctx context.Context, report watcher.Report) error {
	switch {
	case report.Status.State == readiness.Failed && report.Status.Reason != readiness.ReasonDeleted:
		if report.Target.GVK.Kind == "Job" {
			return fmt.Errorf("job %s failed: %s", report.Target.Name, report.Status.Reason)
		}
		return fmt.Errorf("pod %s failed", report.Target.Name)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return errors.New("timed out waiting for the condition")
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return errors.New(report.String())
}

// invertResult returns the result of a test that is expected to fail: an error if err is
// nil, and nil if the test has run and failed. isClientError says whether err comes from the
// wait of a custom Kubernetes client. Such an error does not say whether the test has run,
// so it counts as a failure of the test.
func invertResult(h *release.Hook, err error, isClientError bool) error {
	var incomplete *failure.IncompleteHookError
	switch {
	case err == nil:
		why := fmt.Errorf("%s succeeded, but the test is expected to fail", hookorder.Title(h))
		return &failure.IncompleteHookError{Helm: multierror.Append(nil, why), Resources: failure.Resources{{
			Resource: hookorder.Title(h), File: h.Path, State: string(readiness.Failed), Reason: "TestPassed",
			Err: why, Outcome: "succeeded, but the test is expected to fail",
		}}}
	case isClientError, errors.As(err, &incomplete) && incomplete.HasRun():
		return nil
	}
	return err
}

// hookError converts err, the result of hookorder.Run, to the error of the operation.
// isHelmOrder says whether all hooks had to run sequentially, as in Helm; the error then has
// the same text as Helm's.
func (r *eventRun) hookError(err error, isHelmOrder bool) error {
	var runError *hookorder.RunError
	if !errors.As(err, &runError) {
		return err
	}
	if len(runError.Failed) == 0 {
		return runError.Cause
	}
	e := &failure.HookError{Event: r.event, Cause: runError.Cause}
	for _, failed := range runError.Failed {
		var incomplete *failure.IncompleteHookError
		if errors.As(failed.Err, &incomplete) {
			e.Hooks = append(e.Hooks, incomplete.Resources...)
		} else {
			e.Hooks = append(e.Hooks, failureOf(failed))
		}
	}
	for _, h := range runError.NotStarted {
		e.NeverStarted = append(e.NeverStarted, hookorder.Title(h))
	}
	failure.RedactResources(r.Events.Redactor(), failure.Resources(e.Hooks)) // before a summary truncates them
	if isHelmOrder {
		e.Helm = r.Events.Redactor().Error(runError.Failed[0].Err)
	}
	return e
}

// failureOf describes a failed hook whose error is not an IncompleteHookError, for example
// because the server rejected the hook.
func failureOf(failed hookorder.HookFailure) *failure.Resource {
	message := failed.Err.Error()
	var answers *multierror.Error
	if errors.As(failed.Err, &answers) { // without Helm's prefix
		message = errors.Join(answers.Errors...).Error()
	}
	f := &failure.Resource{
		Resource: hookorder.Title(failed.Hook), File: failed.Hook.Path, State: failure.NotApplied, Reason: failure.NotApplied,
		Message: text.OneLine(message), Err: failed.Err, Outcome: "could not be created",
	}
	if failed.Created {
		f.State, f.Reason, f.Outcome = string(readiness.Failed), "HookFailed", "failed"
	}
	return f
}
