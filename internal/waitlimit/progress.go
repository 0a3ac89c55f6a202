// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package waitlimit

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/field"
	"github.com/ordered-helm/helm/internal/podwatch"
)

// replicaFields are the fields in the status of workloads that increase when a workload makes
// progress. The last three are those of DaemonSets.
var replicaFields = []string{
	"updatedReplicas", "readyReplicas", "availableReplicas", "updatedNumberScheduled", "numberReady", "numberAvailable",
}

// replicaCounts returns the numbers in the status of a resource. It returns none if the
// status is not that of the current generation.
func replicaCounts(obj *unstructured.Unstructured) map[string]int64 {
	counts := map[string]int64{}
	if field.Int(obj.Object, obj.GetGeneration(), "status", "observedGeneration") < obj.GetGeneration() {
		return counts
	}
	for _, name := range replicaFields {
		counts[name] = field.Int(obj.Object, 0, "status", name)
	}
	return counts
}

// currentPhase returns the phase of a resource, or "" if it has none.
func currentPhase(obj *unstructured.Unstructured) string {
	return field.String(obj.Object, "status", "phase")
}

// podCounts returns the numbers that increase when pods make progress. They are numbers of all
// pods together, so that pods that are replaced again and again do not count as progress.
func podCounts(pods []*corev1.Pod) map[string]int64 {
	counts := map[string]int64{"pods": int64(len(pods))}
	for _, pod := range pods {
		if pod.Status.Phase == corev1.PodRunning || pod.Status.Phase == corev1.PodSucceeded {
			counts["running pods"]++
		}
		if readyCondition(pod) != nil {
			counts["ready pods"]++
		}
		for _, c := range containers(pod) {
			if hasStarted(c) {
				counts["started containers"]++
			}
		}
	}
	return counts
}

// lastProgress returns the time of the last progress of pods according to their timestamps.
func lastProgress(s podwatch.State) time.Time {
	var last time.Time
	for _, pod := range s.Pods {
		last = laterOf(last, pod.CreationTimestamp.Time)
		if c := readyCondition(pod); c != nil {
			last = laterOf(last, c.LastTransitionTime.Time)
		}
		for _, c := range containers(pod) {
			if hasStarted(c) {
				last = laterOf(last, firstStart(c, pod, s.Events[pod.UID]))
			}
		}
	}
	return last
}

// containers returns the statuses of all containers of a pod.
func containers(pod *corev1.Pod) []*corev1.ContainerStatus {
	var all []*corev1.ContainerStatus
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range list {
			all = append(all, &list[i])
		}
	}
	return all
}

func readyCondition(pod *corev1.Pod) *corev1.PodCondition { return trueCondition(pod, corev1.PodReady) }

// trueCondition returns the condition of a pod with this type, or nil if it is not true.
func trueCondition(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == kind && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	return nil
}

// hasStarted reports whether a container has ever started.
func hasStarted(c *corev1.ContainerStatus) bool {
	return c.State.Running != nil || c.State.Terminated != nil || c.LastTerminationState.Terminated != nil || c.RestartCount > 0
}

// lastStart returns the time at which a container last started; zero if that is not known.
func lastStart(c *corev1.ContainerStatus) time.Time {
	switch {
	case c.State.Running != nil:
		return c.State.Running.StartedAt.Time
	case c.State.Terminated != nil:
		return c.State.Terminated.StartedAt.Time
	case c.LastTerminationState.Terminated != nil:
		return c.LastTerminationState.Terminated.StartedAt.Time
	}
	return time.Time{}
}

// firstStart returns the time at which a container first started. If it was restarted, the
// events about its pod may contain this time. Otherwise, it is the time at which the pod was
// accepted by its node.
func firstStart(c *corev1.ContainerStatus, pod *corev1.Pod, events []*corev1.Event) time.Time {
	if c.RestartCount == 0 {
		return lastStart(c)
	}
	var first time.Time
	for _, event := range events {
		if at := event.FirstTimestamp.Time; event.Reason == "Started" && containerOf(event) == c.Name && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	if first.IsZero() && pod.Status.StartTime != nil {
		return pod.Status.StartTime.Time
	}
	return first
}
