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

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/hookrunner"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/text"
	"github.com/ordered-helm/helm/internal/wait"
	"github.com/ordered-helm/helm/internal/watcher"
)

// maxExplained is the maximum number of failed hooks whose causes are looked for.
const maxExplained = 10

// Wait implements hookrunner.Runner. If the hook fails, Wait looks for the causes before it
// returns, because the objects of the hook may be deleted afterwards.
func (r *run) Wait(ctx context.Context, h *release.Hook) error {
	stop := r.followLog(ctx, h)
	err := r.wait(ctx, h)
	stop()
	if hookrunner.IsExpectedToFail(h) {
		var ofClient *wait.ClientError
		err = invertResult(h, err, errors.As(err, &ofClient) && ctx.Err() == nil)
	}
	r.setResult(h, err)
	return err
}

func (r *run) wait(ctx context.Context, h *release.Hook) error {
	o := r.objectsOf(h)
	if o.followErr != nil {
		return o.followErr
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
		r.awaitServed(ctx, h, o)
	}
	return err
}

// incompleteError returns a *failure.IncompleteHookError with the objects of a hook that
// have not completed, and their causes. reports and notReady are the results of the wait
// for the hook. As in Helm, an object that was deleted counts as completed, unless the hook
// can run in parallel. If none is left, incompleteError returns nil.
func (r *run) incompleteError(ctx context.Context, h *release.Hook, reports []watcher.Report, notReady *watcher.NotReadyError) error {
	failed := &failure.IncompleteHookError{}
	created := r.objectsOf(h).created
	var of []watcher.Report
	for _, report := range reports {
		switch {
		case report.Status.State == readiness.Ready:
		case report.Status.Reason == readiness.ReasonDeleted && !r.isParallel(h):
			r.Events.Warnf("hook %s (%s): %s; it is treated as completed, as in Helm", hookrunner.Title(h), h.Path, report.Status.Message)
		default:
			f := failure.FromReport(report, notReady, time.Since(created))
			f.File = h.Path
			f.InNamespace(r.writer.Release().Namespace)
			setOutcome(f, report, context.Cause(ctx))
			failed.Resources, of = append(failed.Resources, f), append(of, report)
			failed.Helm = multierror.Append(failed.Helm, helmError(ctx, report))
		}
	}
	if len(failed.Resources) == 0 {
		return nil
	}
	if r.mayExplain() {
		r.completions.Explain(failed.Resources, of)
	}
	return failed
}

// awaitServed waits until the cluster serves the kinds that a hook defines with CRDs,
// because later hooks can be of these kinds. If this takes too long, it only emits a
// warning: the later hooks fail then.
func (r *run) awaitServed(ctx context.Context, h *release.Hook, o *hookObjects) {
	err := r.completions.Established(ctx, o.list)
	if err == nil {
		err = r.Cluster.AwaitKinds(ctx, cluster.DefinedKinds(o.list))
	}
	if err != nil && ctx.Err() == nil {
		r.Events.Warnf("hook %s (%s): the kinds that it defines may not be available: %v", hookrunner.Title(h), h.Path, err)
	}
}

// mayExplain returns true for the first maxExplained calls.
func (r *run) mayExplain() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.explained++
	return r.explained <= maxExplained
}

// setOutcome sets f.Outcome, which says how the wait for an object of a hook ended, and
// f.Remedy, which tells the user how to allow more time. cause is the cause of the end of
// the context, or nil if it has not ended.
func setOutcome(f *failure.Resource, report watcher.Report, cause error) {
	var hook *failure.WaitTimeoutError
	var operation *failure.TimeoutError
	switch {
	case report.Status.Reason == readiness.ReasonDeleted:
		f.Outcome = "was deleted before it completed"
	case report.Status.State == readiness.Failed, report.Forbidden != nil:
	case errors.As(cause, &hook):
		f.Outcome, f.Remedy = fmt.Sprintf("did not complete within %s", hook.Limit), "to allow more time, raise --timeout"
	case errors.As(cause, &operation):
		f.Outcome = fmt.Sprintf("did not complete before the operation timed out after %s", operation.Limit)
		f.Remedy = "to allow more time, raise --timeout"
	default:
		f.Outcome = "had not completed when the operation was cancelled"
	}
}

// helmError returns the error that Helm would return for an object that has not completed.
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
// nil, and nil if the test ran and failed. ofClient says that err is an error of the
// Kubernetes client that waited for the test. It has no details, so it counts as a failure of
// the test.
func invertResult(h *release.Hook, err error, ofClient bool) error {
	var incomplete *failure.IncompleteHookError
	switch {
	case err == nil:
		why := fmt.Errorf("%s succeeded, but the test is expected to fail", hookrunner.Title(h))
		return &failure.IncompleteHookError{Helm: multierror.Append(nil, why), Resources: failure.Resources{{
			Resource: hookrunner.Title(h), File: h.Path, State: string(readiness.Failed), Reason: "TestPassed",
			Err: why, Outcome: "succeeded, but the test is expected to fail",
		}}}
	case ofClient, errors.As(err, &incomplete) && incomplete.HasRun():
		return nil
	}
	return err
}

// hookError converts err, the result of hookrunner.Run, to the error of the operation.
// inHelmsOrder says whether no hook could run in parallel; the error then has the text of
// Helm's error.
func (r *run) hookError(err error, inHelmsOrder bool) error {
	var runError *hookrunner.RunError
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
		e.NeverStarted = append(e.NeverStarted, hookrunner.Title(h))
	}
	failure.RedactResources(r.Events.Redactor(), failure.Resources(e.Hooks)) // before a summary truncates them
	if inHelmsOrder {
		e.Helm = r.Events.Redactor().Error(runError.Failed[0].Err)
	}
	return e
}

// failureOf describes a failed hook for which there is no IncompleteHookError, for example
// because the server rejected it.
func failureOf(failed hookrunner.Failure) *failure.Resource {
	message := failed.Err.Error()
	var answers *multierror.Error
	if errors.As(failed.Err, &answers) { // without Helm's prefix
		message = errors.Join(answers.Errors...).Error()
	}
	f := &failure.Resource{
		Resource: hookrunner.Title(failed.Hook), File: failed.Hook.Path, State: failure.NotApplied, Reason: failure.NotApplied,
		Message: text.OneLine(message), Err: failed.Err, Outcome: "could not be created",
	}
	if failed.Created {
		f.State, f.Reason, f.Outcome = string(readiness.Failed), "HookFailed", "failed"
	}
	return f
}
