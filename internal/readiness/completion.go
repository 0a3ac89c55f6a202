// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/field"
)

// ReasonDeleted is the Status.Reason of an object that was deleted during the wait for it.
const ReasonDeleted = "Deleted"

// ComputeCompletion returns the status of a Job or Pod that must run to completion, such as a
// hook. Unlike with Compute, a running Pod is never Ready: the state is Ready after success,
// and Failed after a failure.
func ComputeCompletion(obj *unstructured.Unstructured) Status {
	switch {
	case isJob(obj):
		return jobStatus(obj)
	case HasSucceeded(obj):
		return ready("Succeeded", "completed successfully")
	case field.String(obj.Object, "status", "phase") == "Failed":
		return podFailure(obj)
	}
	if reason, message := podProblem(obj); reason != "" {
		return inProgress(reason, "%s", message)
	}
	return inProgress("PodRunning", "not completed yet")
}

// HasSucceeded reports whether an object is a complete Job, or a Pod that has succeeded. Such
// an object stays ready, even if it is deleted later.
func HasSucceeded(obj *unstructured.Unstructured) bool {
	if isJob(obj) {
		return field.FindCondition(obj.Object, "Complete").Status == conditionTrue
	}
	kind := obj.GroupVersionKind()
	return kind.Group == "" && kind.Kind == "Pod" && field.String(obj.Object, "status", "phase") == "Succeeded"
}

func isJob(obj *unstructured.Unstructured) bool {
	kind := obj.GroupVersionKind()
	return kind.Group == "batch" && kind.Kind == "Job"
}

// MissingStatus returns the Status of an object that does not exist in the cluster. last is
// the last version of the object that was observed, or nil if there was none. The wait can
// continue, because the object may be created again.
func MissingStatus(last *unstructured.Unstructured) Status {
	status := Status{State: Missing, Reason: "NotFound", Message: "not found on the server"}
	if last == nil {
		return status
	}
	status.Reason, status.Message = ReasonDeleted, "deleted while waiting for it"
	if field.Int(last.Object, -1, "spec", "ttlSecondsAfterFinished") >= 0 && isJob(last) {
		status.Message = "deleted before its completion was observed; increase ttlSecondsAfterFinished to keep it longer"
	}
	return status
}

// TerminatingStatus returns the Status of an object that is being deleted.
func TerminatingStatus(obj *unstructured.Unstructured) Status {
	return Status{State: Terminating, Reason: "Terminating", Message: terminatingMessage(obj)}
}
