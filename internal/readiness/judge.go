// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// isOther reports an object that has taken the name of the one judged so far.
func (i *item) isOther(obj *unstructured.Unstructured) bool {
	return obj != nil && i.uid != "" && obj.GetUID() != "" && obj.GetUID() != i.uid
}

// judgeReadiness is the verdict of a group that waits until its targets are
// ready.
func (i *item) judgeReadiness(ctx context.Context, o observation) Status {
	if o.object == nil {
		return i.missing()
	}
	if i.isOther(o.object) {
		i.report.Replaced, i.finished = true, false
	}
	i.report.Object, i.uid = o.object, o.object.GetUID()
	ranToEnd := hasRunToEnd(o.object)
	if ranToEnd && o.object.GetDeletionTimestamp() != nil {
		// Its deletion (by its ttlSecondsAfterFinished, say) undoes nothing.
		o.object = undeleted(o.object)
	} else if o.gone && !ranToEnd {
		return i.missing()
	}
	verdict := i.target.Evaluate(ctx, o.object)
	switch {
	case verdict.State != Ready && o.gone:
		return i.missing()
	case verdict.State == Ready && ranToEnd:
		i.finished = true
		i.report.Deleted = false
	case verdict.State == Ready && o.object.GetDeletionTimestamp() != nil:
		return Status{State: Terminating, Reason: "Terminating", Message: terminatingMessage(o.object)}
	}
	return verdict
}

// missing: the object may be created again, so its absence is not final.
func (i *item) missing() Status {
	status := Status{State: Missing, Reason: "NotFound", Message: "it is not on the server"}
	last := i.report.Object
	if last == nil {
		return status
	}
	status.Reason, status.Message = "Deleted", "somebody deleted it while it was waited for"
	if number(last, -1, "spec", "ttlSecondsAfterFinished") >= 0 && isJob(last) {
		status.Message = "it is gone, and whether it had completed was not seen; a longer ttlSecondsAfterFinished would keep it"
	}
	return status
}

// judgeAbsence is the verdict of a group that waits until its targets are gone.
func (i *item) judgeAbsence(_ context.Context, o observation) Status {
	if i.uid == "" {
		i.uid = i.target.UID
	}
	if o.gone || i.isOther(o.object) {
		i.finished, i.report.Deleted = true, true
		return ready("Gone", "gone")
	}
	i.report.Object, i.uid = o.object, o.object.GetUID()
	if o.object.GetDeletionTimestamp() != nil {
		return Status{State: Terminating, Reason: "Terminating", Message: terminatingMessage(o.object)}
	}
	return inProgress("NotDeleted", "still there, not being deleted so far")
}

// hasRunToEnd reports a Job or Pod that has done its work: nothing that happens
// to it later takes that back.
func hasRunToEnd(obj *unstructured.Unstructured) bool {
	if isJob(obj) {
		return conditionOf(obj, "Complete").status == conditionTrue
	}
	kind := obj.GroupVersionKind()
	return kind.Group == "" && kind.Kind == "Pod" && text(obj, "status", "phase") == "Succeeded"
}

func isJob(obj *unstructured.Unstructured) bool {
	kind := obj.GroupVersionKind()
	return kind.Group == "batch" && kind.Kind == "Job"
}

// undeleted returns a copy that does not say that it is being deleted.
func undeleted(obj *unstructured.Unstructured) *unstructured.Unstructured {
	revived := obj.DeepCopy()
	revived.SetDeletionTimestamp(nil)
	return revived
}
