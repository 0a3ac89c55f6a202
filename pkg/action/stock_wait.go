// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/watcher"
)

// stockWait waits as Helm's --wait does: until all objects are ready by Helm's
// rules, at the same time. It sees by watches what Helm looks for every two
// seconds, and ends at once when something can never be ready.
type stockWait struct {
	cluster *cluster.Client
	list    kube.ResourceList
	timeout time.Duration
	jobs    bool
	// namespace is the release's.
	namespace string
	events    *events
	explain   explainer

	rules *cluster.ReadyRules
	// judge is what else a verdict on an object asks for; nil if nothing.
	judge func(*kubeInfo, readiness.Evaluator) readiness.Evaluator
}

// awaitAsHelm waits for the whole release.
func (r *rollout) awaitAsHelm(ctx context.Context, timeout time.Duration) error {
	w := &stockWait{
		cluster: r.cluster, list: r.all, timeout: timeout, jobs: r.jobs, namespace: r.namespace, events: r.events,
		explain: r.explain, judge: r.judge,
	}
	return w.run(ctx)
}

func (w *stockWait) run(ctx context.Context) error {
	if !w.cluster.Real() {
		return w.cluster.PlayWait(w.list, w.timeout, w.jobs)
	}
	var err error
	if w.rules, err = w.cluster.ReadyRules(w.jobs); err != nil {
		return err
	}
	tracker, err := newTracker(ctx, w.cluster, w.notice)
	if err != nil {
		return err
	}
	defer tracker.Close()
	group := tracker.ExpectReady(w.targets()...)
	for _, info := range w.list {
		if object, ok := info.Object.(*unstructured.Unstructured); ok && object.GetResourceVersion() != "" {
			if err := group.Applied(object); err != nil {
				return err
			}
		}
	}
	began := time.Now()
	timed, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	timed, lose := context.WithCancelCause(timed)
	defer lose(nil)
	w.events.emit(Event{Type: EventWaiting, Message: "waiting until everything is ready: " + counted(len(w.list), "resource"), Resources: len(w.list)})
	_, err = group.Wait(timed, func(report watcher.Report) { // as in Helm, what goes away has failed
		w.changed(timed, report)
		if report.Deleted && w.rules.Checks(report.Target.GVK.GroupKind()) {
			lose(&deletedError{report})
		}
	})
	var late *watcher.NotReadyError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !errors.As(err, &late):
		return err
	}
	return w.failure(late, time.Since(began))
}

// notice leaves out that objects are read every two seconds: Helm does nothing
// else.
func (w *stockWait) notice(n watcher.Notice) {
	if n.Kind != watcher.NoticePolling {
		w.events.notice(n)
	}
}

func (w *stockWait) targets() []watcher.Target {
	targets := make([]watcher.Target, len(w.list))
	for i, info := range w.list {
		evaluate := w.rules.Of(info)
		if w.judge != nil {
			evaluate = w.judge(info, evaluate)
		}
		targets[i] = watcher.Target{
			GVR: info.Mapping.Resource, GVK: info.Mapping.GroupVersionKind,
			Namespace: scopeOf(info), Name: info.Name, Evaluate: evaluate,
		}
	}
	return targets
}

// changed reports how a resource stands.
func (w *stockWait) changed(ctx context.Context, report watcher.Report) {
	e := changeOf(report, "", w.namespace)
	if report.Status.State != readiness.Ready {
		e.Deadline, _ = ctx.Deadline()
	}
	w.events.emit(e)
}

// failure says what was not ready, and why.
func (w *stockWait) failure(late *watcher.NotReadyError, waited time.Duration) error {
	e := &DeployError{cause: late.Cause}
	timedOut := errors.Is(late.Cause, context.DeadlineExceeded)
	var reports []watcher.Report
	for _, report := range late.Reports {
		f := failureOf(report, late, waited)
		switch {
		case f.State == string(readiness.Failed), report.Deleted, report.Forbidden != nil:
		case timedOut:
			f.ending = fmt.Sprintf("was not ready within %s", w.timeout)
			f.Remedy = "if it only needs more time, raise --timeout"
		default:
			e.Unfinished = append(e.Unfinished, f.Resource)
			continue
		}
		e.Resources = append(e.Resources, f)
		reports = append(reports, report)
	}
	w.explain.explain(e.Resources, reports)
	return e
}

// deletedError ends a wait, as in Helm, when an object goes away meanwhile.
type deletedError struct{ report watcher.Report }

func (e *deletedError) Error() string {
	return fmt.Sprintf("%s was deleted while it was waited for", e.report.Target)
}
