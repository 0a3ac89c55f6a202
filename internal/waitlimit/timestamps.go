// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package waitlimit

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/field"
	"github.com/ordered-helm/helm/internal/podwatch"
)

// objectTimes returns timestamps of a resource. All of them are in the past.
func objectTimes(obj *unstructured.Unstructured) []time.Time {
	times := []time.Time{obj.GetCreationTimestamp().Time}
	for _, c := range field.Maps(obj.Object, "status", "conditions") {
		for _, name := range []string{"lastTransitionTime", "lastUpdateTime"} {
			if at, err := time.Parse(time.RFC3339, field.String(c, name)); err == nil {
				times = append(times, at)
			}
		}
	}
	return times
}

// podTimes returns timestamps of pods, and of the events about them.
func podTimes(s podwatch.State) []time.Time {
	var times []time.Time
	for _, pod := range s.Pods {
		times = append(times, pod.CreationTimestamp.Time)
		for _, c := range pod.Status.Conditions {
			times = append(times, c.LastTransitionTime.Time)
		}
		for _, c := range containers(pod) {
			times = append(times, lastStart(c))
		}
		for _, event := range s.Events[pod.UID] {
			times = append(times, podwatch.EventTime(event).Time)
		}
	}
	return times
}
