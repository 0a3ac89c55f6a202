// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"time"

	"helm.sh/helm/v3/pkg/release"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/ordered-helm/helm/cmd/helm-controller/api/v1alpha1"
	"github.com/ordered-helm/helm/cmd/helm-controller/internal/decision"
	"github.com/ordered-helm/helm/pkg/action"
)

// perform runs an operation on the release. The next step decides about its result.
func (r *run) perform(ctx context.Context, d decision.Decision) (*ctrl.Result, error) {
	if err := r.begin(ctx, d.Action); err != nil {
		return nil, err
	}
	if r.request.Generation != r.generation { // the response to the write of the status says so
		return &ctrl.Result{RequeueAfter: time.Millisecond}, nil
	}
	begun := time.Now()
	err := r.operate(r.operation, d.Action) //nolint:contextcheck // it is derived from ctx
	r.metrics.observe(d.Action, err, time.Since(begun))
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case r.isCanceled():
		ctrl.LoggerFrom(ctx).Info("the request has changed during the operation", "operation", d.Action)
		return &ctrl.Result{RequeueAfter: time.Millisecond}, r.recordRelease(ctx)
	case err != nil:
		return r.endFailed(ctx, d.Action, err)
	}
	r.request.Status.LastAttempt.Failures, r.request.Status.LastAttempt.RetryTime = 0, nil
	switch d.Action {
	case decision.CorrectDrift:
		return r.report(ctx, decision.Decision{Action: decision.Report, Status: d.Status, After: d.After})
	case decision.Uninstall:
		r.newest, r.state.Release, r.state.IsUninstalled = nil, &decision.Release{}, true
		r.event(ctx, "Uninstalled", "release %s is uninstalled", r.request.ReleaseName())
		return nil, nil
	case decision.Rollback: // the others return the revision
		if err := r.readRelease(ctx); err != nil {
			return nil, r.failed(ctx, err)
		}
	}
	r.setRelease()
	if r.state.Desired != nil {
		r.state.Desired.IsNewest = true
	}
	r.event(ctx, pastTense(d.Action), "revision %d of release %s is deployed", r.state.Release.Revision, r.request.ReleaseName())
	return nil, nil
}

func pastTense(a decision.Action) string {
	switch a {
	case decision.Install:
		return "Installed"
	case decision.Upgrade:
		return "Upgraded"
	}
	return "RolledBack"
}

// endFailed records that an operation has failed, and what it left.
func (r *run) endFailed(ctx context.Context, a decision.Action, err error) (*ctrl.Result, error) {
	if failed := r.failed(ctx, err); failed != nil {
		return nil, failed
	}
	if a == decision.Uninstall || a == decision.CorrectDrift {
		return nil, nil
	}
	if err := r.readRelease(ctx); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "the release cannot be read after the operation has failed")
		return nil, nil
	}
	r.setRelease()
	return nil, nil
}

// begin records in the status that an operation begins. Correcting drift usually changes nothing, so
// it is only recorded when it ends.
func (r *run) begin(ctx context.Context, a decision.Action) error {
	attempt := r.newAttempt(string(a))
	// If the controller is killed because of the operation, for example because of its memory, the attempt has
	// failed, so that it is not repeated immediately and again and again.
	attempt.Failures++
	retry := metav1.NewTime(r.state.Now.Add(decision.Backoff(attempt.Failures)))
	attempt.RetryTime = &retry
	if a == decision.Install || a == decision.Upgrade || a == decision.Rollback {
		attempt.Revision = r.state.Release.Revision + 1
	}
	r.request.Status.LastAttempt, r.hasBegun = attempt, true
	r.setChecked()
	if a == decision.CorrectDrift {
		return nil
	}
	setProgressing(r.request, a)
	return r.patchStatus(ctx)
}

// recordRelease writes the revision that an operation left, after it was canceled.
func (r *run) recordRelease(ctx context.Context) error {
	if err := r.readRelease(ctx); err != nil {
		return err
	}
	r.setRelease()
	return r.patchStatus(ctx)
}

// setRelease sets which release the status names, after an operation on it.
func (r *run) setRelease() {
	s := &r.request.Status
	if r.newest == nil || r.newest.Labels[v1alpha1.RequestLabel] != r.request.Name {
		s.Release, s.Chart = nil, nil
		return
	}
	s.Release = &v1alpha1.ReleaseReference{Name: r.newest.Name, Revision: int64(r.newest.Version)}
	m := r.newest.Chart.Metadata
	switch {
	case r.chart != nil && r.newest.Labels[digestLabel] == digestLabelOf(r.newest.Version, r.chart.Digest):
		deployed := r.chart.Deployed()
		s.Chart = &deployed
	case s.Chart != nil && s.Chart.FullName == m.Name+"-"+m.Version: // keeps its digest
	default:
		s.Chart = &v1alpha1.DeployedChart{Name: m.Name, Version: m.Version, FullName: m.Name + "-" + m.Version}
	}
}

// operate runs an action of Helm.
func (r *run) operate(ctx context.Context, a decision.Action) error {
	switch a {
	case decision.Install:
		return r.install(ctx)
	case decision.Upgrade:
		return r.upgrade(ctx)
	case decision.Rollback:
		return r.rollBack(ctx)
	case decision.Uninstall:
		return r.uninstall(ctx)
	case decision.CorrectDrift:
		return r.correctDrift(ctx)
	}
	return fmt.Errorf("unknown action %q", a)
}

// labels returns the labels of the releases that the request deploys.
func (r *run) labels() map[string]string {
	return map[string]string{v1alpha1.RequestLabel: r.request.Name, digestLabel: digestLabelOf(int(r.state.Release.Revision)+1, r.chart.Digest)}
}

func (r *run) timeout() time.Duration {
	timeout := defaultTimeout
	if t := r.request.Spec.Timeout; t != nil {
		timeout = t.Duration
	}
	return min(timeout, r.options.MaxTimeout)
}

// defaultTimeout is the default of spec.timeout.
const defaultTimeout = 5 * time.Minute

// waits returns the options of actions for spec.waitStrategy.
func (r *run) waits() (strategy action.WaitStrategy, wait bool) {
	switch r.request.Spec.WaitStrategy {
	case v1alpha1.WaitUnordered:
		return action.WaitStrategyNone, true
	case v1alpha1.WaitNone:
		return action.WaitStrategyNone, false
	}
	return action.WaitStrategyOrdered, true
}

func (r *run) historyMax() int {
	if m := r.request.Spec.HistoryMax; m != nil {
		return int(*m)
	}
	return defaultHistoryMax
}

// defaultHistoryMax is the default of spec.historyMax.
const defaultHistoryMax = 10

func (r *run) install(ctx context.Context) error {
	i := action.NewInstall(r.cfg)
	i.ReleaseName, i.Namespace, i.Labels = r.request.ReleaseName(), r.request.Namespace, r.labels()
	i.WaitStrategy, i.Wait = r.waits()
	i.Timeout, i.Atomic, i.AcceptPermissions = r.timeout(), r.request.Spec.Atomic, r.state.Permissions()
	i.CRDs, i.OrderFile = action.CRDPolicy(r.request.Spec.CRDs), r.order
	i.Replace = r.newest != nil // it is uninstalled
	i.OnEvent = r.logEvents(ctx)
	rel, err := i.RunWithContext(ctx, r.chart.Chart, r.values.Merged)
	return r.setNewest(rel, err)
}

func (r *run) upgrade(ctx context.Context) error {
	u := action.NewUpgrade(r.cfg)
	u.Namespace, u.Labels, u.ResetValues, u.MaxHistory = r.request.Namespace, r.labels(), true, r.historyMax()
	u.WaitStrategy, u.Wait = r.waits()
	u.Timeout, u.Atomic, u.AcceptPermissions = r.timeout(), r.request.Spec.Atomic, r.state.Permissions()
	u.CRDs, u.OrderFile, u.OnEvent = action.CRDPolicy(r.request.Spec.CRDs), r.order, r.logEvents(ctx)
	rel, err := u.RunWithContext(ctx, r.request.ReleaseName(), r.chart.Chart, r.values.Merged)
	return r.setNewest(rel, err)
}

// setNewest sets the newest revision after an action, unless that has failed. It returns err.
func (r *run) setNewest(rel *release.Release, err error) error {
	if err == nil {
		r.newest = rel
		r.state.Release = &decision.Release{Revision: int64(rel.Version), Status: rel.Info.Status, Request: rel.Labels[v1alpha1.RequestLabel]}
	}
	return err
}

func (r *run) rollBack(ctx context.Context) error {
	b := action.NewRollback(r.cfg)
	b.Version, b.MaxHistory = int(*r.request.Spec.RollbackTo), 0 // the target must stay; the next upgrade deletes old revisions
	b.Labels = map[string]string{v1alpha1.RequestLabel: r.request.Name}
	strategy, wait := r.waits()
	b.IgnoreOrder, b.Wait = strategy == action.WaitStrategyNone, wait
	b.Timeout, b.AcceptPermissions = r.timeout(), r.state.Permissions()
	b.OnEvent = r.logEvents(ctx)
	return b.RunWithContext(ctx, r.request.ReleaseName())
}

func (r *run) uninstall(ctx context.Context) error {
	u := action.NewUninstall(r.cfg)
	u.Timeout, u.AcceptPermissions, u.IgnoreNotFound = r.timeout(), r.state.Permissions(), true
	u.Wait = r.request.Spec.WaitStrategy != v1alpha1.WaitNone
	u.OnEvent = r.logEvents(ctx)
	_, err := u.RunWithContext(ctx, r.request.ReleaseName())
	return err
}

// logEvents returns a function that logs what an operation does.
func (r *run) logEvents(ctx context.Context) func(action.Event) {
	log := ctrl.LoggerFrom(ctx)
	return func(e action.Event) {
		switch e.Type {
		case action.EventWarning:
			log.Info("warning", "message", r.redact(e.Message))
		case action.EventCRDApplied:
			log.Info(string(e.Type), "resource", e.Resource, "message", e.Message)
		case action.EventNodeReady, action.EventNodeFailed, action.EventNodeDeleted, action.EventHookDone:
			log.V(1).Info(string(e.Type), "node", e.Node, "message", r.redact(e.Message))
		}
	}
}
