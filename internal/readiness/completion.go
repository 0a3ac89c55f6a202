// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ReasonDeleted is the Reason of what was gone before it had completed.
const ReasonDeleted = "Deleted"

// ExpectCompletion is Expect for Jobs and Pods that run to an end: each is Ready
// when it has completed, and Failed when it has failed or is gone before it had
// completed. What becomes of it later does not matter.
func (t *Tracker) ExpectCompletion(targets ...Target) *Group {
	return t.newGroup(targets, (*item).judgeCompletion)
}

// judgeCompletion is the verdict of a group that waits until its targets have
// completed.
func (i *item) judgeCompletion(_ context.Context, o observation) Status {
	switch {
	case i.finished:
		return i.report.Status // an object of the same name that comes later is another one
	case o.object == nil || i.isOther(o.object):
		return i.lost()
	}
	i.report.Object, i.uid = o.object, o.object.GetUID()
	verdict := completion(o.object)
	switch {
	case verdict.State != InProgress:
		i.finished, i.report.Deleted = true, false
	case o.gone:
		return i.lost()
	case o.object.GetDeletionTimestamp() != nil:
		return Status{State: Terminating, Reason: "Terminating", Message: terminatingMessage(o.object)}
	}
	return verdict
}

// completion judges a Job or Pod by whether it has run to its end.
func completion(obj *unstructured.Unstructured) Status {
	switch {
	case isJob(obj):
		return jobStatus(obj)
	case hasRunToEnd(obj):
		return ready("Succeeded", "completed successfully")
	case text(obj, "status", "phase") == "Failed":
		return podFailure(obj)
	}
	if reason, message := podTrouble(obj); reason != "" {
		return inProgress(reason, "%s", message)
	}
	return inProgress("PodRunning", "it has not completed")
}

// lost is the verdict on what was gone before it had completed.
func (i *item) lost() Status {
	verdict := i.missing()
	i.finished, i.report.Deleted = true, true
	verdict.State, verdict.Reason = Failed, ReasonDeleted
	return verdict
}
