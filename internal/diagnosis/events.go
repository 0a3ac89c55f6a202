// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxEventAge is the age up to which warning events are used.
const maxEventAge = 10 * time.Minute

// warning merges the warning events about one object that have the same reason and
// container. message is that of the newest event, last its time, and count the number of
// occurrences.
type warning struct {
	reason, message, container string
	last                       time.Time
	count                      int
}

// warningFinding returns a finding for a warning. worth becomes its rank, and key its key.
func (w *walk) warningFinding(warning warning, worth certainty, key string) finding {
	f := finding{rank: worth, key: key, Cause: Cause{
		Container: warning.container, Reason: warning.reason, Message: warning.message,
	}}
	if !w.brief {
		f.count = warning.count
	}
	return f
}

// warnings returns the recent warnings about an object, the newest first. It reads all
// warning events of the namespace with one request, which the session caches.
func (w *walk) warnings(ctx context.Context, about ref) []warning {
	namespace := cmp.Or(about.namespace, metav1.NamespaceDefault)
	events, err := list[corev1.Event](ctx, w, eventsResource, namespace, metav1.ListOptions{FieldSelector: "type=Warning"})
	if err != nil {
		return nil
	}
	type sort struct{ reason, container, detail string }
	merged := map[sort]warning{}
	for n := range events {
		event := &events[n]
		at := eventTime(event)
		if event.Type == corev1.EventTypeNormal || !isAbout(event, about) || w.now().Sub(at) > maxEventAge {
			continue
		}
		next := warning{reason: event.Reason, message: event.Message, container: containerName(event), last: at, count: eventCount(event)}
		of := sort{reason: next.reason, container: next.container}
		switch next.reason {
		case "Unhealthy":
			of.detail = probeName(next)
		case "Failed": // of a failed pull, the kubelet sends one event with the cause and one without
			of.detail, _, _ = strings.Cut(next.message, " ")
		}
		if known, ok := merged[of]; ok {
			if known.last.After(at) || known.last.Equal(at) && known.message > next.message {
				known, next = next, known
			}
			next.count += known.count
		}
		merged[of] = next
	}
	found := make([]warning, 0, len(merged))
	for _, one := range merged {
		found = append(found, one)
	}
	slices.SortFunc(found, func(a, b warning) int {
		return cmp.Or(b.last.Compare(a.last), cmp.Compare(a.reason, b.reason),
			cmp.Compare(a.container, b.container), cmp.Compare(a.message, b.message))
	})
	return found
}

// isAbout reports whether an event is about an object. It compares the UIDs if both are
// known.
func isAbout(event *corev1.Event, about ref) bool {
	object := event.InvolvedObject
	if object.UID != "" && about.uid != "" {
		return object.UID == about.uid
	}
	return object.Kind == about.kind && object.Name == about.name && object.Namespace == about.namespace
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
	_, name, found := strings.Cut(event.InvolvedObject.FieldPath, "{")
	if !found {
		return ""
	}
	return strings.TrimSuffix(name, "}")
}

// concernsContainer reports whether a warning about a pod may be about the container with
// this name: it names this container, or none.
func (w warning) concernsContainer(name string) bool {
	return w.container == "" || w.container == name
}

// probeName returns which probe failed in a warning with the reason Unhealthy: Readiness,
// Liveness or Startup.
func probeName(w warning) string {
	probe, _, _ := strings.Cut(w.message, " ")
	return probe
}

// addWarnings adds a finding for each warning about a visited object, unless the warning
// repeats other findings.
func (w *walk) addWarnings(ctx context.Context) {
	if w.brief && w.hasFinding(rankCause) {
		return
	}
	for _, at := range w.visited {
		for _, warning := range w.warnings(ctx, at.ref) {
			if at.isExplained != nil && at.isExplained(warning.reason) {
				continue
			}
			key := "event " + at.kind + warning.reason + normalizeMessage(warning.message, at.name)
			w.add(at.ref, w.warningFinding(warning, rankWarning, key))
		}
	}
}

// normalizeMessage removes the name of a pod and all digits from a message about it,
// so that the messages about the same problem of several pods of a workload are equal.
func normalizeMessage(message, name string) string {
	message = strings.ReplaceAll(message, name, "")
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, message)
}

// anyReason returns a function that reports whether its argument is one of reasons.
func anyReason(reasons ...string) func(string) bool {
	return func(reason string) bool { return slices.Contains(reasons, reason) }
}
