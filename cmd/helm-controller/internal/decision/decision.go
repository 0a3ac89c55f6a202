// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package decision decides what the controller does next about a HelmRequest. It reads and changes
// nothing: the caller tells it what is desired and what is there (State), does what it returns, and
// asks again.
package decision

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/ordered-helm/helm/cmd/helm-controller/api/v1alpha1"
)

// Action is what to do next.
type Action string

// The actions. Those below Report only serve the next decision; the others change the request or its release.
const (
	// Report means that nothing is to be done now, apart from writing the status.
	Report Action = "report"
	// ReadRelease means that State.Release is needed.
	ReadRelease Action = "read-release"
	// LoadChart means that State.Desired is needed.
	LoadChart Action = "load-chart"

	AddFinalizer    Action = "add-finalizer"
	RemoveFinalizer Action = "remove-finalizer"
	Install         Action = "install"
	Upgrade         Action = "upgrade"
	Rollback        Action = "rollback"
	CorrectDrift    Action = "correct-drift"
	Uninstall       Action = "uninstall"
)

// Decision is an Action with its parameters.
type Decision struct {
	Action Action
	// Status is the status to write; nil if it does not change.
	Status *Status
	// After is the time after which to decide again; 0 if only a change can lead to another
	// decision.
	After time.Duration
}

// Phase summarizes a Status.
type Phase int

// The phases, and the conditions that they stand for.
const (
	// Ready: the request is deployed (Ready is True).
	Ready Phase = iota
	// Waiting: something else has to happen first (Ready is False, Reconciling is True).
	Waiting
	// Failing: an action has failed, and is tried again (Ready is False, Reconciling is True).
	Failing
	// Stalled: the request has to be changed (Ready is False, Stalled is True).
	Stalled
	// Suspended: the request is suspended (Suspended is True; the other conditions stay).
	Suspended
)

// Status is a status to write.
type Status struct {
	Phase           Phase
	Reason, Message string
	// ByHand says that another program has deployed the newest revision.
	ByHand bool
}

// The reasons of conditions that this package decides on. Failure.Reason contains others.
const (
	ReasonDeployed                = "Deployed"
	ReasonRolledBack              = "RolledBack"
	ReasonDeployedByHand          = "DeployedByHand"
	ReasonFailedByHand            = "FailedByHand"
	ReasonOperationByHand         = "OperationByHand"
	ReasonSuspended               = "Suspended"
	ReasonDependencyNotReady      = "DependencyNotReady"
	ReasonDependentNotUninstalled = "DependentNotUninstalled"
	ReasonDependencyCycle         = "DependencyCycle"
	ReasonNoServiceAccount        = "NoServiceAccount"
	ReasonPermissionRefused       = "PermissionRefused"
	ReasonReleaseNameChanged      = "ReleaseNameChanged"
	ReasonReleaseClaimed          = "ReleaseClaimed"
	ReasonReleaseNotOwned         = "ReleaseNotOwned"
	ReasonRevisionNotFound        = "RevisionNotFound"
	ReasonChartDigestChanged      = "ChartDigestChanged"
)

// Decide returns what to do next.
func Decide(s State) Decision {
	switch {
	case s.Failure != nil:
		return decideFailure(s)
	case !s.Request.DeletionTimestamp.IsZero():
		return decideDeletion(s)
	}
	return decideDeployment(s)
}

func decideDeployment(s State) Decision {
	r := s.Request
	if r.Spec.Suspend {
		return report(&Status{Phase: Suspended, Reason: ReasonSuspended, Message: "spec.suspend is set: the controller does not change the release"}, 0)
	}
	if refused := refuse(s); refused != nil {
		return report(refused, 0)
	}
	if !slices.Contains(r.Finalizers, v1alpha1.Finalizer) {
		return Decision{Action: AddFinalizer}
	}
	if !s.isDue() && isConcluded(s) {
		return Decision{Action: Report, After: s.timeUntilDue()}
	}
	if after := s.timeUntilRetry(); after > 0 {
		return Decision{Action: Report, After: after}
	}
	if waiting := s.awaitDependencies(); waiting != nil && (s.isRequested() || !isReady(s)) {
		return report(waiting, 0)
	}
	if s.Release == nil {
		return Decision{Action: ReadRelease}
	}
	if s.Release.Revision > 0 && s.Release.Request != r.Name && !r.Spec.Adopt {
		return report(notOwned(s), 0)
	}
	return decideRevision(s)
}

// isConcluded reports whether nothing has changed since the status was written, and the status does
// not say that something is still to be done.
func isConcluded(s State) bool {
	if s.isRequested() || s.KnownRevision != nil && s.isByHand(*s.KnownRevision) {
		return false
	}
	conditions := s.Request.Status.Conditions
	if isStalled(s) {
		return !isRefusal(meta.FindStatusCondition(conditions, v1alpha1.ConditionStalled).Reason)
	}
	return isReady(s) && !meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionSuspended)
}

func isReady(s State) bool {
	return meta.IsStatusConditionTrue(s.Request.Status.Conditions, v1alpha1.ConditionReady)
}

func isStalled(s State) bool {
	return meta.IsStatusConditionTrue(s.Request.Status.Conditions, v1alpha1.ConditionStalled)
}

// decideRevision decides whether the newest revision of the release is what the request asks for.
func decideRevision(s State) Decision {
	r, rel := s.Request, s.Release
	if t := rel.Target; t != nil && !t.Exists {
		return report(&Status{Phase: Stalled, Reason: ReasonRevisionNotFound, Message: fmt.Sprintf("release %s has no revision %d to roll back to; it has %s", r.ReleaseName(), *r.Spec.RollbackTo, listRevisions(t.Revisions))}, 0)
	}
	if rel.Revision > 0 && s.isByHand(rel.Revision) && !s.isRequested() {
		return decideByHand(s)
	}
	if rel.Target != nil {
		if rel.Target.IsNewest && rel.Status == release.StatusDeployed {
			return s.keep(&Status{Phase: Ready, Reason: ReasonRolledBack, Message: fmt.Sprintf("revision %d has the content of revision %d; the chart, the values and the order of the request are not deployed while spec.rollbackTo is set", rel.Revision, *r.Spec.RollbackTo)})
		}
		return Decision{Action: Rollback}
	}
	if s.Desired == nil {
		return Decision{Action: LoadChart}
	}
	switch {
	case isDigestChanged(s):
		return report(digestChanged(s), s.interval())
	case s.hasStalledWith(s.Desired.Inputs):
		return Decision{Action: Report, After: s.interval()}
	case rel.Revision == 0 || rel.Status == release.StatusUninstalled:
		return Decision{Action: Install}
	case s.Desired.IsNewest && rel.Status == release.StatusDeployed:
		return s.keep(&Status{Phase: Ready, Reason: ReasonDeployed, Message: fmt.Sprintf("revision %d of release %s is deployed with chart %s", rel.Revision, r.ReleaseName(), s.Desired.Chart.FullName)})
	}
	return Decision{Action: Upgrade}
}

// hasStalledWith reports whether the last attempt had the same inputs and stalled, so that another one would fail,
// too.
func (s State) hasStalledWith(inputs string) bool {
	a := s.Request.Status.LastAttempt
	return a != nil && a.Inputs == inputs && isStalled(s) && !s.isRequested()
}

// keep returns the decision for a release that is as the request asks for: correct its drift if that
// is due, and report status.
func (s State) keep(status *Status) Decision {
	if s.isDue() || s.hasFailedToCorrectDrift() {
		return Decision{Action: CorrectDrift, Status: status, After: s.interval()}
	}
	return report(status, s.timeUntilDue())
}

// decideByHand decides about a release whose newest revision was not deployed by the controller. Until
// the request changes, the revision stays.
func decideByHand(s State) Decision {
	rel, status := s.Release, &Status{ByHand: true}
	const hint = "; to deploy the request again, change it or its annotation " + v1alpha1.ReconcileAnnotation
	switch {
	case rel.Status == release.StatusDeployed:
		status.Phase, status.Reason = Ready, ReasonDeployedByHand
		status.Message = fmt.Sprintf("revision %d of release %s was not deployed by the controller%s", rel.Revision, s.Request.ReleaseName(), hint)
		return s.keep(status)
	case rel.Status.IsPending() || rel.Status == release.StatusUninstalling:
		status.Phase, status.Reason = Waiting, ReasonOperationByHand
		status.Message = fmt.Sprintf("revision %d of release %s is %s: another program is working on it", rel.Revision, s.Request.ReleaseName(), rel.Status)
		return report(status, pollInterval)
	}
	status.Phase, status.Reason = Stalled, ReasonFailedByHand
	status.Message = fmt.Sprintf("revision %d of release %s, which the controller has not deployed, is %s%s", rel.Revision, s.Request.ReleaseName(), rel.Status, hint)
	return report(status, s.interval())
}

// hasFailedToCorrectDrift reports whether the last attempt to correct drift has failed, and is repeated now.
func (s State) hasFailedToCorrectDrift() bool {
	a := s.Request.Status.LastAttempt
	return a != nil && a.Operation == string(CorrectDrift) && a.RetryTime != nil
}

func notOwned(s State) *Status {
	by := "another program has installed it"
	if s.Release.Request != "" {
		by = fmt.Sprintf("HelmRequest %s has installed it", s.Release.Request)
	}
	return &Status{Phase: Stalled, Reason: ReasonReleaseNotOwned, Message: fmt.Sprintf("release %s exists, and %s: choose another spec.releaseName, or set spec.adopt to take it over", s.Request.ReleaseName(), by)}
}

// isDigestChanged reports whether the version of the chart that is deployed has other contents now. A
// Secret or ConfigMap belongs to whoever wrote the request, and can change.
func isDigestChanged(s State) bool {
	source, was, is := s.Request.Spec.Chart, s.Request.Status.Chart, s.Desired.Chart
	return was != nil && was.Digest != "" && was.FullName == is.FullName && was.Digest != is.Digest &&
		source.Digest == "" && source.Secret == nil && source.ConfigMap == nil
}

func digestChanged(s State) *Status {
	is := s.Desired.Chart
	return &Status{Phase: Stalled, Reason: ReasonChartDigestChanged, Message: fmt.Sprintf("the contents of chart %s have changed since it was deployed: their digest was %s, and is %s; to deploy them, set spec.chart.digest to the new digest", is.FullName, s.Request.Status.Chart.Digest, is.Digest)}
}

func listRevisions(revisions []int64) string {
	if len(revisions) == 0 {
		return "none"
	}
	var list []string
	for _, r := range revisions {
		list = append(list, fmt.Sprint(r))
	}
	return strings.Join(list, ", ")
}

func report(status *Status, after time.Duration) Decision {
	return Decision{Action: Report, Status: status, After: after}
}
