// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package recreation

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/objectwriter"
	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/wait"
	"github.com/ordered-helm/helm/internal/watcher"
)

// propagationOf returns how the deletion of an object propagates: a StatefulSet leaves its pods and claims behind.
func propagationOf(info *object.Info) metav1.DeletionPropagation {
	if info.Mapping.GroupVersionKind.GroupKind() == statefulSet {
		return metav1.DeletePropagationOrphan
	}
	return metav1.DeletePropagationBackground
}

// deleteAndWait deletes an object, and waits until it and, except for a StatefulSet, its pods no longer exist.
func (r *Recreator) deleteAndWait(ctx context.Context, info *object.Info, live *unstructured.Unstructured) error {
	if r.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, r.Timeout, failure.DeletionTimeout(r.Timeout))
		defer cancel()
	}
	began := time.Now()
	list, policy := kube.ResourceList{object.WithState(info, live)}, propagationOf(info)
	waiter, err := r.Waiter.NewDeletionWaiter(ctx)
	if err != nil {
		return err
	}
	defer waiter.Close()
	await, err := waiter.Expect(ctx, list, nil, policy)
	if err != nil {
		return err
	}
	deletion, errs := r.Writer.Delete(ctx, list, objectwriter.DeleteOptions{Propagation: policy})
	if len(errs) > 0 {
		return fmt.Errorf("delete it: %w", errors.Join(errs...))
	}
	err = await(ctx, deletion.Terminating, func(report watcher.Report) { r.reportDeletion(ctx, report) })
	if notReady, ok := errors.AsType[*watcher.NotReadyError](err); ok {
		return stillExists(notReady, time.Since(began))
	}
	return err
}

// reportDeletion emits an event about an object or pod that is being deleted.
func (r *Recreator) reportDeletion(ctx context.Context, report watcher.Report) {
	e := wait.ChangeEvent(report, "", r.Owner.Namespace)
	if report.Status.State == readiness.Ready {
		e.State, e.Message = "Gone", "deleted, to be created again"
	} else {
		e.Deadline, _ = ctx.Deadline()
	}
	r.Events.Emit(e)
}

// stillExists returns the error about objects that still exist after they were deleted. It names their finalizers. It
// does not wrap err, because the rest of the operation must not mistake it for its own end.
func stillExists(err *watcher.NotReadyError, waited time.Duration) error {
	var states []string
	for _, report := range err.Reports {
		state := report.Target.GVK.Kind + "/" + report.Target.Name
		if report.Status.Message != "" {
			state += " is " + report.Status.Message
		}
		states = append(states, state)
	}
	return fmt.Errorf("it was deleted, but still exists after %s: %s", waited.Round(time.Second), strings.Join(states, "; "))
}

// create creates an object, and returns its new state.
func (r *Recreator) create(ctx context.Context, info *object.Info) (*unstructured.Unstructured, error) {
	states, err := r.Writer.Create(ctx, kube.ResourceList{info})
	if err != nil {
		return nil, err
	}
	return object.AsUnstructured(states.Of(info).Object)
}

// createCopy creates an object as it was before. It omits fields that the server rejects, such as an address that
// another object has now, and warns about them.
func (r *Recreator) createCopy(ctx context.Context, info *object.Info, c *storedCopy) (*unstructured.Unstructured, error) {
	target := *info
	content := restorable(c.live)
	target.Object = content
	var omitted []string
	for {
		state, err := r.create(ctx, &target)
		if err == nil {
			if len(omitted) > 0 {
				r.Events.Warnf("%s was created again as it was before, except for %s, which could not be set", object.Describe(info), strings.Join(omitted, ", "))
			}
			return state, nil
		}
		rejected := withoutRejected(content, err)
		if len(rejected) == 0 || len(omitted) > maxOmitted {
			return nil, fmt.Errorf("create %s as it was before, from Secret %s: %w", object.IDOf(info), c.secret, err)
		}
		omitted = append(omitted, rejected...)
	}
}

// maxOmitted limits how many rejected fields createCopy omits.
const maxOmitted = 20
