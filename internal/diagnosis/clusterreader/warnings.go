// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package clusterreader

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxEventAge is the age up to which warning events are used.
const maxEventAge = 10 * time.Minute

// Warning merges the warning events about one object that have the same reason and
// container. Message is that of the newest event, Last its time, and Count the number of
// occurrences.
type Warning struct {
	Reason, Message, Container string
	Last                       time.Time
	Count                      int
}

// ConcernsContainer reports whether a warning about a pod may be about the container with
// this name: it names this container, or none.
func (w Warning) ConcernsContainer(name string) bool {
	return w.Container == "" || w.Container == name
}

// Probe returns which probe failed in a warning with the reason Unhealthy: Readiness,
// Liveness or Startup.
func (w Warning) Probe() string {
	probe, _, _ := strings.Cut(w.Message, " ")
	return probe
}

// Warnings returns the recent warnings about an object, the newest first. It reads all
// warning events of the namespace with one request, which the session caches.
func (r *Reader) Warnings(ctx context.Context, about Ref) []Warning {
	namespace := cmp.Or(about.Namespace, metav1.NamespaceDefault)
	events, err := List[corev1.Event](ctx, r, eventsResource, namespace, metav1.ListOptions{FieldSelector: "type=Warning"})
	if err != nil {
		return nil
	}
	type sort struct{ reason, container, detail string }
	merged := map[sort]Warning{}
	for n := range events {
		event := &events[n]
		at := eventTime(event)
		if event.Type == corev1.EventTypeNormal || !isAbout(event, about) || r.now().Sub(at) > maxEventAge {
			continue
		}
		next := Warning{Reason: event.Reason, Message: event.Message, Container: containerName(event), Last: at, Count: eventCount(event)}
		of := sort{reason: next.Reason, container: next.Container}
		switch next.Reason {
		case "Unhealthy":
			of.detail = next.Probe()
		case "Failed": // of a failed pull, the kubelet sends one event with the cause and one without
			of.detail, _, _ = strings.Cut(next.Message, " ")
		}
		if known, ok := merged[of]; ok {
			if known.Last.After(at) || known.Last.Equal(at) && known.Message > next.Message {
				known, next = next, known
			}
			next.Count += known.Count
		}
		merged[of] = next
	}
	return slices.SortedFunc(maps.Values(merged), func(a, b Warning) int {
		return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.Reason, b.Reason),
			cmp.Compare(a.Container, b.Container), cmp.Compare(a.Message, b.Message))
	})
}

// isAbout reports whether an event is about an object. It compares the UIDs if both are
// known.
func isAbout(event *corev1.Event, about Ref) bool {
	object := event.InvolvedObject
	if object.UID != "" && about.UID != "" {
		return object.UID == about.UID
	}
	return object.Kind == about.Kind && object.Name == about.Name && object.Namespace == about.Namespace
}

// eventTime returns when the event occurred last. Which field has this time depends on the
// API with which the event was written.
func eventTime(event *corev1.Event) time.Time {
	times := []time.Time{event.LastTimestamp.Time, event.EventTime.Time, event.FirstTimestamp.Time}
	if event.Series != nil {
		times = append(times, event.Series.LastObservedTime.Time)
	}
	newest := slices.MaxFunc(times, time.Time.Compare)
	if newest.IsZero() {
		return event.CreationTimestamp.Time
	}
	return newest
}

func eventCount(event *corev1.Event) int {
	count := int(event.Count)
	if event.Series != nil {
		count = max(count, int(event.Series.Count))
	}
	return max(count, 1)
}

// containerName returns the container that an event is about, from a field path such as
// spec.containers{app}; empty if there is none.
func containerName(event *corev1.Event) string {
	_, name, _ := strings.Cut(event.InvolvedObject.FieldPath, "{")
	return strings.TrimSuffix(name, "}")
}
