// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package podrestart confirms that workloads are ready whose pods an operation has deleted
// (docs/reference.md, "Upgrade"): the status of such a workload may still describe the deleted
// pods.
package podrestart

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/readiness"
)

// podCheckInterval is the interval between counts of the pods of a restarted workload.
const podCheckInterval = 500 * time.Millisecond

// Func tells whether this operation restarted a workload, by deleting its pods after
// it wrote the workload. If so, it returns the workload as the server returned it for the
// write, otherwise nil.
type Func func(*object.Info) *object.Info

// Evaluator returns an Evaluator that calls evaluate. If this operation has restarted the
// object, the Evaluator checks a ready status with confirmReady. restarted can be nil.
func Evaluator(c *cluster.Connection, info *object.Info, restarted Func, evaluate readiness.Evaluator) readiness.Evaluator {
	if restarted == nil {
		return evaluate
	}
	return func(ctx context.Context, live *unstructured.Unstructured) readiness.Status {
		status := evaluate(ctx, live)
		if workload := restarted(info); workload != nil {
			return confirmReady(ctx, c, workload, live, status)
		}
		return status
	}
}

// confirmReady checks the ready status of a restarted workload, which may still describe the
// deleted pods. It counts the pods that are ready and not being deleted. If they are fewer
// than the number in the status of the live object, the result is InProgress. Otherwise, or
// if they cannot be compared, for example because the account is not allowed to list pods,
// confirmReady returns status.
func confirmReady(ctx context.Context, c *cluster.Connection, info *object.Info, live *unstructured.Unstructured, status readiness.Status) readiness.Status {
	expected := readyReplicas(live)
	if status.State != readiness.Ready || expected == 0 || object.PodSelector(info) == "" {
		return status
	}
	ready, err := countReadyPods(ctx, c, info)
	switch {
	case apierrors.IsForbidden(err), err == nil && ready >= expected:
		return status
	case err != nil:
		return readiness.Status{State: readiness.InProgress, Reason: "PodsUnknown", Message: fmt.Sprintf("cannot count its pods: %v", err), RecheckAfter: podCheckInterval}
	}
	return readiness.Status{
		State: readiness.InProgress, Reason: "PodsRestarting", RecheckAfter: podCheckInterval,
		Message: fmt.Sprintf("its pods were deleted; new pods ready: %d of %d", ready, expected),
	}
}

// readyReplicas returns the number of ready pods in the status of a workload.
func readyReplicas(obj *unstructured.Unstructured) int64 {
	field := "readyReplicas"
	if obj.GetKind() == "DaemonSet" {
		field = "numberReady"
	}
	count, _, _ := unstructured.NestedInt64(obj.Object, "status", field)
	return count
}

// countReadyPods counts the ready pods that match the pod selector of a workload. It omits
// pods that are being deleted.
func countReadyPods(ctx context.Context, c *cluster.Connection, info *object.Info) (int64, error) {
	client, err := c.DynamicNoRetry()
	if err != nil {
		return 0, err
	}
	pods, err := client.Resource(object.PodResource()).Namespace(info.Namespace).List(ctx, metav1.ListOptions{LabelSelector: object.PodSelector(info)})
	if err != nil {
		return 0, err
	}
	ready := int64(0)
	for i := range pods.Items {
		if pod := &pods.Items[i]; pod.GetDeletionTimestamp() == nil && isPodReady(pod) {
			ready++
		}
	}
	return ready, nil
}

func isPodReady(pod *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(pod.Object, "status", "conditions")
	for _, item := range conditions {
		if c, _ := item.(map[string]any); c["type"] == "Ready" {
			return c["status"] == "True"
		}
	}
	return false
}
