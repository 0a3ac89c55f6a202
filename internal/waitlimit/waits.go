// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package waitlimit

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/ordered-helm/helm/internal/podwatch"
)

// reasonPulling is the reason of the event that says that a kubelet pulls an image.
const reasonPulling = "Pulling"

// span is a span of time. The time until is zero if the span has not ended.
type span struct{ from, until time.Time }

// anyPodWaits reports whether any pod is waiting now: for a node, or for the image of a
// container.
func anyPodWaits(s podwatch.State) bool {
	return slices.ContainsFunc(podWaits(s, true), func(w span) bool { return w.until.IsZero() })
}

// podWaits returns the time spans in which pods waited for their images and, if nodes is set,
// for their nodes. They are in the time of the cluster.
func podWaits(s podwatch.State, nodes bool) []span {
	var waits []span
	for _, pod := range s.Pods {
		if nodes {
			waits = append(waits, waitForNode(pod)...)
		}
		for _, name := range containerNames(pod) {
			waits = append(waits, pull(pod, name, s.Events[pod.UID])...)
		}
	}
	return waits
}

// waitForNode returns the time span in which a pod waited for a node, if there is any.
func waitForNode(pod *corev1.Pod) []span {
	from := pod.CreationTimestamp.Time
	if pod.Spec.NodeName == "" {
		return []span{{from: from}}
	}
	if c := trueCondition(pod, corev1.PodScheduled); c != nil && c.LastTransitionTime.After(from) {
		return []span{{from, c.LastTransitionTime.Time}}
	}
	return nil
}

// containerNames returns the names of the containers of a pod. Those that have no status yet are
// included.
func containerNames(pod *corev1.Pod) []string {
	var names []string
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		names = append(names, c.Name)
	}
	return names
}

// pull returns the time span in which the image of a container was last pulled, if there is
// any. It ends with the next event about the container, for example because the image could
// not be pulled, or when the container starts.
func pull(pod *corev1.Pod, container string, events []*corev1.Event) []span {
	var from, until time.Time
	for _, event := range events {
		if at := podwatch.EventTime(event).Time; event.Reason == reasonPulling && containerOf(event) == container && at.After(from) {
			from = at
		}
	}
	if from.IsZero() {
		return nil
	}
	next := func(at time.Time) { // timestamps are rounded to seconds: events of the same second follow the pull
		if !at.Before(from) && (until.IsZero() || at.Before(until)) {
			until = at
		}
	}
	for _, event := range events {
		if event.Reason != reasonPulling && containerOf(event) == container {
			next(podwatch.EventTime(event).Time)
		}
	}
	for _, c := range containers(pod) {
		if start := lastStart(c); c.Name == container && !start.IsZero() {
			next(start)
		}
	}
	return []span{{from, until}}
}

// containerOf returns the name of the container that an event is about, from a field path such
// as spec.containers{app}. It returns "" if there is none.
func containerOf(event *corev1.Event) string {
	_, name, _ := strings.Cut(event.InvolvedObject.FieldPath, "{")
	return strings.TrimSuffix(name, "}")
}

// totalLength returns the length of the union of spans, all of which have ended.
func totalLength(spans []span) time.Duration {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Or(a.from.Compare(b.from), a.until.Compare(b.until)) })
	total, end := time.Duration(0), time.Time{}
	for _, s := range spans {
		if from := laterOf(s.from, end); s.until.After(from) {
			total += s.until.Sub(from)
			end = s.until
		}
	}
	return total
}
