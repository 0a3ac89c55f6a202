// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"errors"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/hookorder"
	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/watcher"
)

// TestInvertResult checks the results of a test that is expected to fail.
func TestInvertResult(t *testing.T) {
	deleted := failedJob("a")
	deleted.Err.(*failure.IncompleteHookError).Resources[0].Reason = readiness.ReasonDeleted //nolint:errorlint // it is not wrapped
	unknown := errors.New("nobody knows")
	h := jobHook("a")
	h.Events = []release.HookEvent{hookorder.EventTestFailure}
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"passed", nil, "1 error occurred:\n\t* Job/a succeeded, but the test is expected to fail\n\n"},
		{"failed", failedJob("a").Err, ""},
		{"timed out", timedOutJob("a").Err, timedOutJob("a").Err.Error()},
		{"deleted", deleted.Err, deleted.Err.Error()},
		{"not observed", unknown, "nobody knows"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := invertResult(h, c.err, false)
			if (got == nil) != (c.want == "") || got != nil && got.Error() != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
	if err := invertResult(h, unknown, true); err != nil {
		t.Errorf("without a cluster: %v", err)
	}
	if err := invertResult(h, nil, true); err == nil {
		t.Error("without a cluster: no error for a test that has passed")
	}
	got := newRunWithoutCluster(event.NewSink(nil, nil), release.HookTest).hookError(&hookorder.RunError{Failed: []hookorder.HookFailure{{Hook: h, Created: true, Err: invertResult(h, nil, false)}}}, false).Error()
	want := "hook Job/a succeeded, but the test is expected to fail\n  Job/a (shop/templates/a.yaml)"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestSetOutcome checks the outcome of the wait for a hook, and Helm's message for it.
func TestSetOutcome(t *testing.T) {
	report := func(kind string, state readiness.State, reason string) watcher.Report {
		return watcher.Report{
			Target: watcher.Target{GVK: schema.GroupVersionKind{Version: "v1", Kind: kind}, Namespace: "shop", Name: "a"},
			Status: readiness.Status{State: state, Reason: reason, Message: "it is so"},
		}
	}
	running := report("Job", readiness.InProgress, "JobRunning")
	forbidden := running
	forbidden.Forbidden = errors.New("you may not")
	const moreTime = "to allow more time, increase --timeout"
	for _, c := range []struct {
		name                  string
		report                watcher.Report
		cause                 error
		outcome, remedy, helm string
	}{
		{"a Job that failed", report("Job", readiness.Failed, "BackoffLimitExceeded"), nil, "before", "", "job a failed: BackoffLimitExceeded"},
		{"a Pod that failed", report("Pod", readiness.Failed, "PodFailed"), nil, "before", "", "pod a failed"},
		{"a Job that was deleted", report("Job", readiness.Failed, readiness.ReasonDeleted), nil, "was deleted before it completed", "", "Job shop/a: Failed: it is so"},
		{"a Pod that failed when the timeout was over", report("Pod", readiness.Failed, "PodFailed"), failure.HookTimeout(5 * time.Second), "before", "", "pod a failed"},
		{"timeout of the hook", running, failure.HookTimeout(5 * time.Second), "did not complete within 5s", moreTime, "timed out waiting for the condition"},
		{"timeout of the operation", running, &failure.TimeoutError{Limit: time.Minute}, "did not complete before the operation timed out after 1m0s", moreTime, "timed out waiting for the condition"},
		{"cancelled", running, errors.New("interrupted"), "had not completed when the operation was cancelled", "", "context canceled"},
		{"not allowed to read it", forbidden, nil, "before", "", "Job shop/a: InProgress: it is so"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &failure.Resource{Outcome: "before"}
			setOutcome(f, c.report, c.cause)
			if f.Outcome != c.outcome || f.Remedy != c.remedy {
				t.Errorf("it %s; %s", f.Outcome, f.Remedy)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if errors.Is(c.cause, context.DeadlineExceeded) {
				ctx, cancel = context.WithTimeoutCause(ctx, 0, c.cause)
				defer cancel()
				<-ctx.Done()
			} else if c.cause != nil {
				cancel()
			}
			if got := helmError(ctx, c.report).Error(); got != c.helm {
				t.Errorf("Helm would say %q, got %q", c.helm, got)
			}
		})
	}
	if err := failure.HookTimeout(5 * time.Second); err.Error() != "the hook did not complete within 5s" || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}
