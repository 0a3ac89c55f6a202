// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ordered-helm/helm/cmd/helm-controller/api/v1alpha1"
	"github.com/ordered-helm/helm/cmd/helm-controller/internal/decision"
)

const (
	// maxMessage is the maximum number of bytes in the message of a condition, maxError in
	// status.lastError, and maxEvent in an event (the API server accepts 1,024).
	maxMessage = 1024
	maxError   = 16 << 10
	maxEvent   = 1000
)

// report writes the status of a final decision.
func (r *run) report(ctx context.Context, d decision.Decision) (*ctrl.Result, error) {
	if r.state.Release != nil || r.state.Failure != nil {
		r.setChecked()
	}
	if r.state.Release != nil && r.state.Failure == nil && (d.Status == nil || !d.Status.ByHand) {
		r.setRelease()
	}
	if d.Status != nil {
		r.setStatus(d)
		r.reportEvent(ctx, d.Status)
	}
	return &ctrl.Result{RequeueAfter: d.After}, r.patchStatus(ctx)
}

// setChecked records that the release is compared with the current generation of the request.
func (r *run) setChecked() {
	now, s := metav1.NewTime(r.state.Now), &r.request.Status
	s.CheckedGeneration, s.HandledRequest = r.request.Generation, r.request.Annotations[v1alpha1.ReconcileAnnotation]
	if r.request.Spec.Interval != nil && r.request.Spec.Interval.Duration > 0 || s.LastCheckTime != nil {
		s.LastCheckTime = &now
	}
}

// setStatus sets the conditions for a decision.
func (r *run) setStatus(d decision.Decision) {
	status, s := d.Status, &r.request.Status
	set, remove := conditionsOf(r.request)
	s.ObservedGeneration = r.request.Generation
	if status.Phase == decision.Suspended {
		set(v1alpha1.ConditionSuspended, "True", status)
		return
	}
	remove(v1alpha1.ConditionSuspended)
	ready := metav1.ConditionFalse
	if status.Phase == decision.Ready {
		ready = metav1.ConditionTrue
	}
	set(v1alpha1.ConditionReady, ready, status)
	if status.Phase == decision.Waiting || status.Phase == decision.Failing {
		set(v1alpha1.ConditionReconciling, "True", status)
	} else {
		remove(v1alpha1.ConditionReconciling)
	}
	if status.Phase == decision.Stalled {
		set(v1alpha1.ConditionStalled, "True", status)
	} else {
		remove(v1alpha1.ConditionStalled)
	}
	if status.ByHand {
		set(v1alpha1.ConditionDeployedByHand, "True", status)
	} else {
		remove(v1alpha1.ConditionDeployedByHand)
	}
	r.setAttempt(d)
}

// setAttempt records in the status whether the last attempt has failed, and when it is repeated.
func (r *run) setAttempt(d decision.Decision) {
	s, failure := &r.request.Status, r.state.Failure
	if failure == nil {
		if d.Status.Phase == decision.Ready {
			s.LastError = ""
		}
		if s.LastAttempt != nil && d.Status.Phase == decision.Ready {
			s.LastAttempt.Failures, s.LastAttempt.RetryTime = 0, nil
		}
		return
	}
	s.LastError = truncate(failure.Message, maxError)
	if !r.hasBegun {
		s.LastAttempt = r.newAttempt(prepareOperation)
		s.LastAttempt.Failures++
	}
	s.LastAttempt.RetryTime = nil
	if d.After > 0 && d.Status.Phase == decision.Failing {
		retry := metav1.NewTime(r.state.Now.Add(d.After))
		s.LastAttempt.RetryTime = &retry
	}
}

// prepareOperation is the operation of an attempt that failed before an operation on the release began.
const prepareOperation = "prepare"

// newAttempt returns an attempt that begins now. It continues the count of the failures since the request was
// changed.
func (r *run) newAttempt(operation string) *v1alpha1.Attempt {
	a := &v1alpha1.Attempt{Operation: operation, Generation: r.request.Generation, StartTime: metav1.NewTime(r.state.Now)}
	if last := r.request.Status.LastAttempt; last != nil {
		a.Revision = last.Revision
		if last.Generation == a.Generation {
			a.Failures = last.Failures
		}
	}
	if r.state.Desired != nil {
		a.Inputs = r.state.Desired.Inputs
	}
	return a
}

// setProgressing sets the conditions while an operation runs.
func setProgressing(request *v1alpha1.HelmRequest, a decision.Action) {
	set, remove := conditionsOf(request)
	reason := map[decision.Action]string{
		decision.Install: "Installing", decision.Upgrade: "Upgrading", decision.Rollback: "RollingBack", decision.Uninstall: "Uninstalling",
	}[a]
	status := &decision.Status{Reason: reason, Message: fmt.Sprintf("%s of release %s is running", a, request.ReleaseName())}
	request.Status.ObservedGeneration = request.Generation
	set(v1alpha1.ConditionReconciling, "True", status)
	set(v1alpha1.ConditionReady, "Unknown", status)
	remove(v1alpha1.ConditionStalled)
	remove(v1alpha1.ConditionSuspended)
	remove(v1alpha1.ConditionDeployedByHand)
}

// conditionsOf returns functions that set and remove conditions of a request.
func conditionsOf(request *v1alpha1.HelmRequest) (set func(string, metav1.ConditionStatus, *decision.Status), remove func(string)) {
	list := &request.Status.Conditions
	set = func(kind string, value metav1.ConditionStatus, status *decision.Status) {
		meta.SetStatusCondition(list, metav1.Condition{
			Type: kind, Status: value, Reason: status.Reason, Message: truncate(status.Message, maxMessage), ObservedGeneration: request.Generation,
		})
	}
	return set, func(kind string) { meta.RemoveStatusCondition(list, kind) }
}

// truncate shortens a text to a number of bytes.
func truncate(text string, limit int) string {
	const ellipsis = "…"
	text = strings.ToValidUTF8(text, "�")
	if len(text) <= limit {
		return text
	}
	cut := text[:limit-len(ellipsis)]
	for !utf8.ValidString(cut) {
		cut = cut[:len(cut)-1]
	}
	return cut + ellipsis
}

// patchStatus writes the status if it has changed.
func (r *run) patchStatus(ctx context.Context) error {
	if equality.Semantic.DeepEqual(r.stored.Status, r.request.Status) {
		return nil
	}
	err := r.cached.Status().Patch(ctx, r.request, client.MergeFrom(r.stored))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write the status: %w", err)
	}
	r.stored = r.request.DeepCopy()
	r.written.add(r.request)
	return nil
}

// reportEvent emits an event if the status says something new that is not the result of a successful
// operation.
func (r *run) reportEvent(ctx context.Context, status *decision.Status) {
	was := meta.FindStatusCondition(r.stored.Status.Conditions, v1alpha1.ConditionReady)
	isNew := r.state.Failure != nil || was == nil || was.Reason != status.Reason || was.Message != truncate(status.Message, maxMessage)
	switch {
	case !isNew, status.Phase == decision.Waiting, status.Phase == decision.Suspended:
	case status.ByHand:
		r.recorder.Eventf(r.request, nil, corev1.EventTypeWarning, status.Reason, "Compare", "%s", truncate(status.Message, maxEvent))
	case status.Phase == decision.Failing, status.Phase == decision.Stalled:
		r.recorder.Eventf(r.request, nil, corev1.EventTypeWarning, status.Reason, "Reconcile", "%s", truncate(status.Message, maxEvent))
		ctrl.LoggerFrom(ctx).Info("the request is not ready", "reason", status.Reason, "message", status.Message)
	}
}

// event emits an event about a successful operation.
func (r *run) event(ctx context.Context, reason, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	r.recorder.Eventf(r.request, nil, corev1.EventTypeNormal, reason, "Reconcile", "%s", truncate(message, maxEvent))
	ctrl.LoggerFrom(ctx).Info(message, "reason", reason)
}
