// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"context"
	"errors"
	"fmt"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/podrestart"
	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/text"
	"github.com/ordered-helm/helm/internal/watcher"
	"github.com/ordered-helm/helm/internal/watcher/notice"
)

// WaitReadyOptions are the options of Waiter.WaitReady.
type WaitReadyOptions struct {
	Timeout time.Duration
	// Jobs says whether to wait until Jobs are complete, as with --wait-for-jobs.
	Jobs bool
	// Namespace is the namespace of the release.
	Namespace string
	// Restarted, if not nil, tells which workloads this operation restarted by deleting
	// their pods.
	Restarted podrestart.Func
}

// WaitReady implements Waiter. Helm reads the objects every two seconds. WaitReady watches
// them instead, and fails as soon as one of them can no longer become ready.
func (w *watchingWaiter) WaitReady(ctx context.Context, list kube.ResourceList, o WaitReadyOptions) error {
	h := &helmWait{WaitReadyOptions: o, cluster: w.cluster, events: w.events, explainer: w.newExplainer(nil)}
	return h.run(ctx, list)
}

// WaitEstablished implements Waiter. It emits no events.
func (w *watchingWaiter) WaitEstablished(ctx context.Context, list kube.ResourceList) error {
	h := &helmWait{WaitReadyOptions: WaitReadyOptions{Timeout: EstablishTimeout}, cluster: w.cluster, events: event.NewSink(nil, nil)}
	return h.run(ctx, list)
}

// helmWait is one call of WaitReady or WaitEstablished: a wait by Helm's rules.
type helmWait struct {
	WaitReadyOptions
	cluster *cluster.Connection
	events  *event.Sink
	// explainer finds the causes of failures; it can be nil.
	explainer *Explainer
}

func (w *helmWait) run(ctx context.Context, list kube.ResourceList) error {
	rules, err := newHelmRules(w.cluster, w.Jobs)
	if err != nil {
		return err
	}
	objectWatcher, err := newWatcher(ctx, w.cluster, w.notice)
	if err != nil {
		return err
	}
	defer objectWatcher.Close()
	group := objectWatcher.ExpectReady(w.targets(list, rules)...)
	for _, info := range list {
		if live, ok := info.Object.(*unstructured.Unstructured); ok && live.GetResourceVersion() != "" {
			if err := group.Applied(live); err != nil {
				return err
			}
		}
	}
	began := time.Now()
	w.events.Emit(event.Event{Type: event.Waiting, Message: "waiting for " + text.Count(len(list), "resource") + " to become ready", Resources: len(list)})
	err = w.wait(ctx, group, rules)
	var notReady *watcher.NotReadyError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !errors.As(err, &notReady):
		return err
	}
	return w.deployError(notReady, time.Since(began))
}

// wait waits until all objects of the group are ready, and emits an event for each change
// of an object. As in Helm, it fails when an object is deleted.
func (w *helmWait) wait(ctx context.Context, group *watcher.TargetGroup, rules *helmReadinessRules) error {
	timed, cancel := context.WithTimeout(ctx, w.Timeout)
	defer cancel()
	timed, fail := context.WithCancelCause(timed)
	defer fail(nil)
	_, err := group.Wait(timed, func(report watcher.Report) {
		e := ChangeEvent(report, "", w.Namespace)
		if report.Status.State != readiness.Ready {
			e.Deadline, _ = timed.Deadline()
		}
		w.events.Emit(e)
		if report.Deleted && rules.waitsFor(report.Target.GVK.GroupKind()) {
			fail(&deletedError{report})
		}
	})
	return err
}

// notice passes a notice on to the user, except NoticePolling: it would surprise users of
// --wait to read that objects are polled, because Helm always polls.
func (w *helmWait) notice(n notice.Notice) {
	if n.Kind != notice.Polling {
		w.events.Notice(n)
	}
}

func (w *helmWait) targets(list kube.ResourceList, rules *helmReadinessRules) []watcher.Target {
	targets := make([]watcher.Target, len(list))
	for i, info := range list {
		targets[i] = targetOf(info, "")
		targets[i].Evaluate = podrestart.Evaluator(w.cluster, info, w.Restarted, rules.evaluator(info))
	}
	return targets
}

// deployError returns an error that contains the objects that failed or timed out, with the
// causes. If another failure ended the wait early, the objects that might still have become
// ready are only named, in Unfinished.
func (w *helmWait) deployError(notReady *watcher.NotReadyError, waited time.Duration) error {
	e := &failure.DeployError{Cause: notReady.Cause}
	timedOut := errors.Is(notReady.Cause, context.DeadlineExceeded)
	var reports []watcher.Report
	for _, report := range notReady.Reports {
		f := failure.FromReport(report, notReady, waited)
		switch {
		case f.State == string(readiness.Failed), report.Deleted, report.Forbidden != nil:
		case timedOut:
			f.Outcome = fmt.Sprintf("was not ready within %s", w.Timeout)
			f.Remedy = "to allow more time, increase --timeout"
		default:
			e.Unfinished = append(e.Unfinished, f.Resource)
			continue
		}
		e.Resources = append(e.Resources, f)
		reports = append(reports, report)
	}
	w.explainer.Explain(e.Resources, reports)
	return e
}

// deletedError is the cause with which a wait by Helm's rules fails after an object was
// deleted.
type deletedError struct{ report watcher.Report }

func (e *deletedError) Error() string {
	return fmt.Sprintf("%s was deleted while waiting for it", e.report.Target)
}
