// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/ordered-helm/helm/internal/readiness"
)

// countAgain is after what time pods are counted again.
const countAgain = 500 * time.Millisecond

// ConfirmReady checks the verdict that a workload is ready against its pods: after
// they were deleted, the status from which it comes may be that from before. It
// holds if as many pods are ready, and not being deleted, as the status counts, or
// if pods may not be listed. Any other verdict, and that on what counts no pods,
// stands as it is.
func (c *Client) ConfirmReady(ctx context.Context, info *resource.Info, obj *unstructured.Unstructured, verdict readiness.Status) readiness.Status {
	claimed := readyPods(obj)
	if verdict.State != readiness.Ready || claimed == 0 || podSelector(info) == "" {
		return verdict
	}
	ready, err := c.countReady(ctx, info)
	switch {
	case apierrors.IsForbidden(err), err == nil && ready >= claimed:
		return verdict
	case err != nil:
		return readiness.Status{State: readiness.InProgress, Reason: "PodsUnknown", Message: fmt.Sprintf("its pods cannot be counted: %v", err), RecheckAfter: countAgain}
	}
	return readiness.Status{
		State: readiness.InProgress, Reason: "PodsRestarting", RecheckAfter: countAgain,
		Message: fmt.Sprintf("its pods were deleted, ready: %d of %d", ready, claimed),
	}
}

// readyPods is how many ready pods the status of a workload counts.
func readyPods(obj *unstructured.Unstructured) int64 {
	field := "readyReplicas"
	if obj.GetKind() == "DaemonSet" {
		field = "numberReady"
	}
	count, _, _ := unstructured.NestedInt64(obj.Object, "status", field)
	return count
}

// countReady counts the ready pods that an object selects.
func (c *Client) countReady(ctx context.Context, info *resource.Info) (int64, error) {
	client, err := c.Observer()
	if err != nil {
		return 0, err
	}
	pods, err := client.Resource(PodResource()).Namespace(info.Namespace).List(ctx, metav1.ListOptions{LabelSelector: podSelector(info)})
	if err != nil {
		return 0, err
	}
	ready := int64(0)
	for i := range pods.Items {
		if pod := &pods.Items[i]; pod.GetDeletionTimestamp() == nil && isReady(pod) {
			ready++
		}
	}
	return ready, nil
}

func isReady(pod *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(pod.Object, "status", "conditions")
	for _, item := range conditions {
		if c, _ := item.(map[string]any); c["type"] == "Ready" {
			return c["status"] == "True"
		}
	}
	return false
}
