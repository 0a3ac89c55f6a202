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

// maxEventAge is the maximum age of the warning events that are used.
const maxEventAge = 10 * time.Minute

// Warning summarizes the warning events about one object that have the same reason and
// container. Message and Last are the message and the time of the newest event, and Count is
// the number of occurrences.
type Warning struct {
	Reason, Message, Container string
	Last                       time.Time
	Count                      int
}

// ConcernsContainer reports whether a warning about a pod may concern the container with this
// name, because the warning names this container or none.
func (w Warning) ConcernsContainer(name string) bool {
	return w.Container == "" || w.Container == name
}

// Probe returns the type of the failed probe (Readiness, Liveness or Startup) if the reason
// of the warning is Unhealthy.
func (w Warning) Probe() string {
	probe, _, _ := strings.Cut(w.Message, " ")
	return probe
}

// Warnings returns the recent warnings about an object, the newest first. It reads the warning
// events of the whole namespace with one request, whose result is cached.
func (r *Reader) Warnings(ctx context.Context, about ObjectRef) []Warning {
	namespace := cmp.Or(about.Namespace, metav1.NamespaceDefault)
	events, err := List[corev1.Event](ctx, r, eventsResource, namespace, metav1.ListOptions{FieldSelector: "type=Warning"})
	if err != nil {
		return nil
	}
	type mergeKey struct{ reason, container, detail string }
	merged := map[mergeKey]Warning{}
	for n := range events {
		event := &events[n]
		at := eventTime(event)
		if event.Type == corev1.EventTypeNormal || !isAbout(event, about) || r.now().Sub(at) > maxEventAge {
			continue
		}
		next := Warning{Reason: event.Reason, Message: event.Message, Container: containerName(event), Last: at, Count: eventCount(event)}
		key := mergeKey{reason: next.Reason, container: next.Container}
		switch next.Reason {
		case "Unhealthy":
			key.detail = next.Probe()
		case "Failed": // after a failed pull, the kubelet sends an event with the cause and one without
			key.detail, _, _ = strings.Cut(next.Message, " ")
		}
		if known, ok := merged[key]; ok {
			if known.Last.After(at) || known.Last.Equal(at) && known.Message > next.Message {
				known, next = next, known
			}
			next.Count += known.Count
		}
		merged[key] = next
	}
	return slices.SortedFunc(maps.Values(merged), func(a, b Warning) int {
		return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.Reason, b.Reason),
			cmp.Compare(a.Container, b.Container), cmp.Compare(a.Message, b.Message))
	})
}

// isAbout reports whether an event concerns an object. It compares only the UIDs if both are
// known.
func isAbout(event *corev1.Event, about ObjectRef) bool {
	object := event.InvolvedObject
	if object.UID != "" && about.UID != "" {
		return object.UID == about.UID
	}
	return object.Kind == about.Kind && object.Name == about.Name && object.Namespace == about.Namespace
}

// eventTime returns the time of the last occurrence of an event. The field that contains it
// depends on the API version with which the event was written.
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

// containerName returns the name of the container that an event concerns, from a field path
// such as spec.containers{app}. It returns "" if there is none.
func containerName(event *corev1.Event) string {
	_, name, _ := strings.Cut(event.InvolvedObject.FieldPath, "{")
	return strings.TrimSuffix(name, "}")
}
