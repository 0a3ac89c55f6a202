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
	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/text"
	"github.com/ordered-helm/helm/internal/watcher"
)

// Helm waits as Helm's --wait does for a release without an order: until all objects are
// ready at the same time by Helm's rules. Unlike Helm, which reads the objects every two
// seconds, it watches them, and it fails immediately when one of them can never become
// ready.
type Helm struct {
	Cluster *cluster.Client
	Events  *event.Sink
	Timeout time.Duration
	// Jobs says whether to wait for Jobs.
	Jobs bool
	// Namespace is the namespace of the release.
	Namespace string
	// Explainer explains failures; it can be nil.
	Explainer *Explainer
	// Restarted tells which workloads had their pods deleted by this operation; it can be
	// nil.
	Restarted RestartedFunc
}

// Run waits until all objects of the list are ready. The list has the objects as the server
// returned them for the write. If objects do not become ready, the error is a
// *failure.DeployError.
func (w *Helm) Run(ctx context.Context, list kube.ResourceList) error {
	if !w.Cluster.HasCluster() {
		return w.Cluster.DelegateWait(list, w.Timeout, w.Jobs)
	}
	rules, err := newHelmRules(w.Cluster, w.Jobs)
	if err != nil {
		return err
	}
	tracker, err := NewTracker(ctx, w.Cluster, w.notice)
	if err != nil {
		return err
	}
	defer tracker.Close()
	group := tracker.ExpectReady(w.targets(list, rules)...)
	for _, info := range list {
		if live, ok := info.Object.(*unstructured.Unstructured); ok && live.GetResourceVersion() != "" {
			if err := group.Applied(live); err != nil {
				return err
			}
		}
	}
	began := time.Now()
	w.Events.Emit(event.Event{Type: event.Waiting, Message: "waiting for " + text.Count(len(list), "resource") + " to become ready", Resources: len(list)})
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

// wait waits until the group is ready, and emits its changes. As in Helm, the wait fails
// when an object is deleted.
func (w *Helm) wait(ctx context.Context, group *watcher.Group, rules *helmRules) error {
	timed, cancel := context.WithTimeout(ctx, w.Timeout)
	defer cancel()
	timed, fail := context.WithCancelCause(timed)
	defer fail(nil)
	_, err := group.Wait(timed, func(report watcher.Report) {
		e := ChangeEvent(report, "", w.Namespace)
		if report.Status.State != readiness.Ready {
			e.Deadline, _ = timed.Deadline()
		}
		w.Events.Emit(e)
		if report.Deleted && rules.waitsFor(report.Target.GVK.GroupKind()) {
			fail(&deletedError{report})
		}
	})
	return err
}

// notice emits a notice for the user. It omits NoticePolling, because Helm always polls.
func (w *Helm) notice(n watcher.Notice) {
	if n.Kind != watcher.NoticePolling {
		w.Events.Notice(n)
	}
}

func (w *Helm) targets(list kube.ResourceList, rules *helmRules) []watcher.Target {
	targets := make([]watcher.Target, len(list))
	for i, info := range list {
		targets[i] = TargetOf(info, "")
		targets[i].Evaluate = afterRestart(w.Cluster, info, w.Restarted, rules.evaluator(info))
	}
	return targets
}

// deployError returns an error with the objects that failed or timed out, and their causes.
// If another failure ended the wait early, objects that might still have become ready are
// only named, in Unfinished.
func (w *Helm) deployError(notReady *watcher.NotReadyError, waited time.Duration) error {
	e := &failure.DeployError{Cause: notReady.Cause}
	timedOut := errors.Is(notReady.Cause, context.DeadlineExceeded)
	var reports []watcher.Report
	for _, report := range notReady.Reports {
		f := failure.FromReport(report, notReady, waited)
		switch {
		case f.State == string(readiness.Failed), report.Deleted, report.Forbidden != nil:
		case timedOut:
			f.Outcome = fmt.Sprintf("was not ready within %s", w.Timeout)
			f.Remedy = "to allow more time, raise --timeout"
		default:
			e.Unfinished = append(e.Unfinished, f.Resource)
			continue
		}
		e.Resources = append(e.Resources, f)
		reports = append(reports, report)
	}
	w.Explainer.Explain(e.Resources, reports)
	return e
}

// deletedError ends a wait, as in Helm, when an object is deleted during the wait.
type deletedError struct{ report watcher.Report }

func (e *deletedError) Error() string {
	return fmt.Sprintf("%s was deleted while waiting for it", e.report.Target)
}
