// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/field"
)

// podStatus computes the status of Pods. The phases Succeeded and Failed are final, even with
// the restart policy Always: such a pod fails only if it is evicted or exceeds its deadline,
// and the kubelet does not restart it then.
func podStatus(obj *unstructured.Unstructured) Status {
	switch phase := field.String(obj.Object, "status", "phase"); phase {
	case "Succeeded":
		return ready("Succeeded", "completed successfully")
	case "Failed":
		return podFailure(obj)
	case "":
		return inProgress("PodNotObserved", "waiting for the scheduler")
	default:
		if field.FindCondition(obj.Object, "Ready").Status == conditionTrue {
			return ready("Ready", "ready")
		}
		if reason, message := podProblem(obj); reason != "" {
			return inProgress(reason, "%s", message)
		}
		return inProgress("PodNotReady", "phase %s, not ready", phase)
	}
}

// podFailure returns the status of a pod in the phase Failed. If the pod has no message, the
// status names the first container that exited with an error.
func podFailure(obj *unstructured.Unstructured) Status {
	failure := Status{
		State: Failed, Reason: cmp.Or(field.String(obj.Object, "status", "reason"), "PodFailed"),
		Message: field.String(obj.Object, "status", "message"),
	}
	if failure.Message != "" {
		return failure
	}
	failure.Message = "the pod failed"
	for _, c := range containers(obj) {
		code, ok := field.AsInt(field.Get(c, "state", "terminated", "exitCode"))
		if ok && code != 0 {
			failure.Message = fmt.Sprintf("container %s exited with code %d", field.String(c, "name"), code)
			break
		}
	}
	return failure
}

// podProblem returns why a pod is not ready, if its status field says so: the pod cannot be
// scheduled, or a container is waiting, but not just because it is being started. Otherwise
// both results are empty.
func podProblem(obj *unstructured.Unstructured) (reason, message string) {
	if scheduled := field.FindCondition(obj.Object, "PodScheduled"); scheduled.Status == "False" && scheduled.Reason != "" {
		return scheduled.Reason, conditionText(scheduled)
	}
	for _, c := range containers(obj) {
		waiting := field.Map(c, "state", "waiting")
		reason := field.String(waiting, "reason")
		switch reason {
		case "", "ContainerCreating", "PodInitializing":
			continue
		}
		message := fmt.Sprintf("container %s: %s", field.String(c, "name"), reason)
		if detail := field.String(waiting, "message"); detail != "" {
			message += ": " + detail
		}
		return reason, message
	}
	return "", ""
}

// containers returns the statuses of all containers of a pod, init containers first.
func containers(obj *unstructured.Unstructured) []map[string]any {
	return slices.Concat(field.Maps(obj.Object, "status", "initContainerStatuses"), field.Maps(obj.Object, "status", "containerStatuses"))
}
