// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/watcher/observation"
)

// isOther reports whether obj is not the object that was observed before, but another one
// with the same name: it has a different UID.
func (i *watchedObject) isOther(obj *unstructured.Unstructured) bool {
	return obj != nil && i.uid != "" && obj.GetUID() != "" && obj.GetUID() != i.uid
}

// readinessStatus is the statusFunc of ExpectReady. It calls the target's Evaluator.
func (i *watchedObject) readinessStatus(ctx context.Context, o observation.Observation) readiness.Status {
	if o.Object == nil {
		return readiness.MissingStatus(i.report.Object)
	}
	if i.isOther(o.Object) {
		i.report.Replaced, i.finished = true, false
	}
	i.report.Object, i.uid = o.Object, o.Object.GetUID()
	succeeded := readiness.HasSucceeded(o.Object)
	if succeeded && o.Object.GetDeletionTimestamp() != nil {
		// A later deletion, such as by ttlSecondsAfterFinished, does not matter.
		o.Object = withoutDeletionTimestamp(o.Object)
	} else if o.Gone && !succeeded {
		return readiness.MissingStatus(i.report.Object)
	}
	status := i.target.Evaluate(ctx, o.Object)
	switch {
	case status.State != readiness.Ready && o.Gone:
		return readiness.MissingStatus(i.report.Object)
	case status.State == readiness.Ready && succeeded:
		i.finished = true
		i.report.Deleted = false
	case status.State == readiness.Ready && o.Object.GetDeletionTimestamp() != nil:
		return readiness.TerminatingStatus(o.Object)
	}
	return status
}

// deletionStatus is the statusFunc of WaitDeleted. The state Ready means that the object no
// longer exists.
func (i *watchedObject) deletionStatus(_ context.Context, o observation.Observation) readiness.Status {
	if i.uid == "" {
		i.uid = i.target.UID
	}
	if o.Gone || i.isOther(o.Object) {
		i.finished, i.report.Deleted = true, true
		return readiness.Status{State: readiness.Ready, Reason: "Gone", Message: "deleted"}
	}
	i.report.Object, i.uid = o.Object, o.Object.GetUID()
	if o.Object.GetDeletionTimestamp() != nil {
		return readiness.TerminatingStatus(o.Object)
	}
	return readiness.Status{State: readiness.InProgress, Reason: "NotDeleted", Message: "still exists, and is not being deleted"}
}

// withoutDeletionTimestamp returns a copy of an object without its deletion timestamp. Its
// status is computed as if the object were not being deleted.
func withoutDeletionTimestamp(obj *unstructured.Unstructured) *unstructured.Unstructured {
	revived := obj.DeepCopy()
	revived.SetDeletionTimestamp(nil)
	return revived
}

// completionStatus is the statusFunc of ExpectCompletion. The state Ready means that the Job
// or Pod has succeeded.
func (i *watchedObject) completionStatus(_ context.Context, o observation.Observation) readiness.Status {
	switch {
	case i.finished:
		return i.report.Status // a later object with the same name is a different one
	case o.Object == nil || i.isOther(o.Object):
		return i.deletedBeforeCompletion()
	}
	i.report.Object, i.uid = o.Object, o.Object.GetUID()
	status := readiness.ComputeCompletion(o.Object)
	switch {
	case status.State != readiness.InProgress:
		i.finished, i.report.Deleted = true, false
	case o.Gone:
		return i.deletedBeforeCompletion()
	case o.Object.GetDeletionTimestamp() != nil:
		return readiness.TerminatingStatus(o.Object)
	}
	return status
}

// deletedBeforeCompletion returns the status of an object that was deleted before it
// completed: Failed, which is final.
func (i *watchedObject) deletedBeforeCompletion() readiness.Status {
	status := readiness.MissingStatus(i.report.Object)
	i.finished, i.report.Deleted = true, true
	status.State, status.Reason = readiness.Failed, readiness.ReasonDeleted
	return status
}
