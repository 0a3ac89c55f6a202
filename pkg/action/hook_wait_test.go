// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/hookrunner"
	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/watcher"
)

// TestReversed is what becomes of a test that is to fail.
func TestReversed(t *testing.T) {
	deleted := ranInVain("a")
	deleted.Err.(*hookFailure).resources[0].Reason = readiness.ReasonDeleted //nolint:errorlint // it was made so
	plain := errors.New("nobody knows")
	h := jobHook("a")
	h.Events = []release.HookEvent{hookrunner.EventTestFailure}
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"it has passed", nil, "1 error occurred:\n\t* Job/a has passed, and is a test that is to fail\n\n"},
		{"it has failed", ranInVain("a").Err, ""},
		{"it is too slow", tooSlow("a").Err, tooSlow("a").Err.Error()},
		{"it was deleted", deleted.Err, deleted.Err.Error()},
		{"it could not be observed", plain, "nobody knows"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := reversed(h, c.err, false)
			if (got == nil) != (c.want == "") || got != nil && got.Error() != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
	if err := reversed(h, plain, true); err != nil {
		t.Errorf("without a cluster: %v", err)
	}
	if err := reversed(h, nil, true); err == nil {
		t.Error("without a cluster a test that is to fail has passed, and that is no error")
	}
	r := &hookRun{operation: &operation{events: newEvents(nil)}, event: release.HookTest}
	got := r.failure(&hookrunner.RunError{Failed: []hookrunner.Failure{{Hook: h, Created: true, Err: reversed(h, nil, false)}}}, false).Error()
	want := "hook Job/a has passed, and is a test that is to fail\n  Job/a (shop/templates/a.yaml) has passed, and is a test that is to fail"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestConcludeHook says how the waiting ended, and what Helm would say.
func TestConcludeHook(t *testing.T) {
	report := func(kind string, state readiness.State, reason string) watcher.Report {
		return watcher.Report{
			Target: watcher.Target{GVK: schema.GroupVersionKind{Version: "v1", Kind: kind}, Namespace: "shop", Name: "a"},
			Status: readiness.Status{State: state, Reason: reason, Message: "it is so"},
		}
	}
	running := report("Job", readiness.InProgress, "JobRunning")
	denied := running
	denied.Forbidden = errors.New("you may not")
	const moreTime = "if it only needs more time, raise --timeout"
	for _, c := range []struct {
		name                 string
		report               watcher.Report
		cause                error
		ending, remedy, helm string
	}{
		{"a Job that failed", report("Job", readiness.Failed, "BackoffLimitExceeded"), nil, "before", "", "job a failed: BackoffLimitExceeded"},
		{"a Pod that failed", report("Pod", readiness.Failed, "PodFailed"), nil, "before", "", "pod a failed"},
		{"one that was deleted", report("Job", readiness.Failed, readiness.ReasonDeleted), nil, "is gone and had not completed", "", "Job shop/a: Failed: it is so"},
		{"one that failed when its time was over", report("Pod", readiness.Failed, "PodFailed"), &hookTimeoutError{5 * time.Second}, "before", "", "pod a failed"},
		{"its own time", running, &hookTimeoutError{5 * time.Second}, "had not completed within 5s", moreTime, "timed out waiting for the condition"},
		{"the operation's time", running, &timeoutError{time.Minute}, "had not completed when the time of the operation, 1m0s, was over", moreTime, "timed out waiting for the condition"},
		{"cancelled", running, errors.New("interrupted"), "had not completed when the operation was cancelled", "", "context canceled"},
		{"hidden", denied, nil, "before", "", "Job shop/a: InProgress: it is so"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &ResourceFailure{ending: "before"}
			concludeHook(f, c.report, c.cause)
			if f.ending != c.ending || f.Remedy != c.remedy {
				t.Errorf("it %s; %s", f.ending, f.Remedy)
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
			if got := inHelmsWords(ctx, c.report).Error(); got != c.helm {
				t.Errorf("Helm would say %q, got %q", c.helm, got)
			}
		})
	}
	if err := (&hookTimeoutError{5 * time.Second}); err.Error() != "the hook had not completed within 5s" || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestCheckParallelHooks(t *testing.T) {
	for limit, want := range map[int]string{0: "", 1: "", 1000: "", -1: "at most -1 hooks at once is no limit: 0 is none"} {
		err := checkParallelHooks(limit)
		if (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%d: got %v", limit, err)
		}
	}
	cfg := &Configuration{Log: t.Logf} // nothing is asked of it
	install, upgrade, rollback, uninstall, tests := NewInstall(cfg), NewUpgrade(cfg), NewRollback(cfg), NewUninstall(cfg), NewReleaseTesting(cfg)
	install.MaxParallelHooks, upgrade.MaxParallelHooks, rollback.MaxParallelHooks, uninstall.MaxParallelHooks, tests.MaxParallelHooks = -1, -1, -1, -1, -1
	for name, run := range map[string]func() error{
		"install":   func() error { _, err := install.RunWithContext(t.Context(), nil, nil); return err },
		"upgrade":   func() error { _, err := upgrade.RunWithContext(t.Context(), "rel", nil, nil); return err },
		"rollback":  func() error { return rollback.RunWithContext(t.Context(), "rel") },
		"uninstall": func() error { _, err := uninstall.RunWithContext(t.Context(), "rel"); return err },
		"test":      func() error { _, err := tests.RunWithContext(t.Context(), "rel"); return err },
	} {
		if err := run(); err == nil || err.Error() != "at most -1 hooks at once is no limit: 0 is none" {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
