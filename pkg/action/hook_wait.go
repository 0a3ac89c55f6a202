// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/go-multierror"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/hookrunner"
	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/watcher"
)

// Wait waits until the hook has completed, and looks into why it has not before
// anything of it is cleaned up.
func (r *hookRun) Wait(ctx context.Context, h *release.Hook) error {
	unfollow := r.followLog(ctx, h)
	err := r.wait(ctx, h)
	unfollow()
	if hookrunner.IsExpectedToFail(h) {
		err = reversed(h, err, r.tracker == nil && ctx.Err() == nil)
	}
	r.completed(h, err)
	return err
}

func (r *hookRun) wait(ctx context.Context, h *release.Hook) error {
	o := r.objectsOf(h)
	switch {
	case o.trouble != nil:
		return o.trouble
	case r.tracker == nil:
		return r.cluster.PlayWaitCompleted(o.list, r.timeout)
	case o.group == nil && h.Kind == crdKind:
		r.awaitServed(ctx, h, o)
		return nil
	case o.group == nil:
		return nil
	}
	if r.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, r.timeout, &hookTimeoutError{r.timeout})
		defer cancel()
	}
	reports, err := o.group.Wait(ctx, nil)
	var late *watcher.NotReadyError
	if !errors.As(err, &late) {
		return err
	}
	failed := &hookFailure{}
	var of []watcher.Report
	for _, report := range reports {
		switch {
		case report.Status.State == readiness.Ready:
		case report.Status.Reason == readiness.ReasonDeleted && !r.isParallel(h):
			r.events.warn(fmt.Sprintf("hook %s (%s): %s; it counts as completed, as in Helm", hookrunner.Title(h), h.Path, report.Status.Message))
		default:
			f := failureOf(report, late, time.Since(o.created))
			f.File, f.foreign = h.Path, f.Namespace != "" && f.Namespace != r.ledger.rel.Namespace
			concludeHook(f, report, context.Cause(ctx))
			failed.resources, of = append(failed.resources, f), append(of, report)
			failed.helm = multierror.Append(failed.helm, inHelmsWords(ctx, report))
		}
	}
	if len(failed.resources) == 0 {
		return nil
	}
	if r.mayExplain() {
		r.explain.explain(failed.resources, of)
	}
	return failed
}

// awaitServed waits until the cluster has the kinds that a hook defines: hooks after
// it may be of them. If that takes too long, it is these that fail.
func (r *hookRun) awaitServed(ctx context.Context, h *release.Hook, o *hookObjects) {
	served := &stockWait{cluster: r.cluster, list: o.list, timeout: crdTimeout, events: newEvents(nil)}
	err := served.run(ctx)
	if err == nil {
		err = r.cluster.AwaitKinds(ctx, cluster.DefinedKinds(o.list))
	}
	if err != nil && ctx.Err() == nil {
		r.events.warn(fmt.Sprintf("hook %s (%s): the kinds that it defines may not be found: %v", hookrunner.Title(h), h.Path, err))
	}
}

// mayExplain counts the failures that are looked into.
func (r *hookRun) mayExplain() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.explained++
	return r.explained <= mostExplained
}

// concludeHook says how the waiting for an object of a hook ended.
func concludeHook(f *ResourceFailure, report watcher.Report, cause error) {
	var hook *hookTimeoutError
	var operation *timeoutError
	switch {
	case report.Status.Reason == readiness.ReasonDeleted:
		f.ending = "is gone and had not completed"
	case report.Status.State == readiness.Failed, report.Forbidden != nil:
	case errors.As(cause, &hook):
		f.ending, f.Remedy = fmt.Sprintf("had not completed within %s", hook.limit), "if it only needs more time, raise --timeout"
	case errors.As(cause, &operation):
		f.ending = fmt.Sprintf("had not completed when the time of the operation, %s, was over", operation.limit)
		f.Remedy = "if it only needs more time, raise --timeout"
	default:
		f.ending = "had not completed when the operation was cancelled"
	}
}

// inHelmsWords is what Helm says of an object that has not completed.
func inHelmsWords(ctx context.Context, report watcher.Report) error {
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

// hookTimeoutError is why waiting ends for a hook that takes too long.
type hookTimeoutError struct{ limit time.Duration }

func (e *hookTimeoutError) Error() string {
	return fmt.Sprintf("the hook had not completed within %s", e.limit)
}

// Unwrap makes it a context.DeadlineExceeded, like the end of any other time.
func (e *hookTimeoutError) Unwrap() error { return context.DeadlineExceeded }

// reversed is what became of a test that is to fail. Played is whether it ran where
// there is no cluster: its failure says no more than that.
func reversed(h *release.Hook, err error, played bool) error {
	var failed *hookFailure
	switch {
	case err == nil:
		why := fmt.Errorf("%s has passed, and is a test that is to fail", hookrunner.Title(h))
		return &hookFailure{helm: multierror.Append(nil, why), resources: resourceFailures{{
			Resource: hookrunner.Title(h), File: h.Path, State: string(readiness.Failed), Reason: "TestPassed",
			Err: why, ending: "has passed, and is a test that is to fail",
		}}}
	case played, errors.As(err, &failed) && failed.isFinal():
		return nil
	}
	return err
}
