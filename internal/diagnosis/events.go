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

// maxEventAge is how old the events may be that count.
const maxEventAge = 10 * time.Minute

// warning stands for the events of one reason about one object, or one
// container of it: it is the newest of them.
type warning struct {
	reason, message, container string
	last                       time.Time
	count                      int
}

// warningFinding makes a finding of a warning.
func (w *walk) warningFinding(warning warning, worth certainty, key string) finding {
	f := finding{rank: worth, key: key, Cause: Cause{
		Container: warning.container, Reason: warning.reason, Message: warning.message,
	}}
	if !w.brief {
		f.count = warning.count
	}
	return f
}

// warnings returns the recent warnings about an object, the newest first. All
// warnings of a namespace are read at once.
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
		case "Failed": // a kubelet tells why a pull failed, and then, in a word, that it did
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

func isAbout(event *corev1.Event, about ref) bool {
	object := event.InvolvedObject
	if object.UID != "" && about.uid != "" {
		return object.UID == about.uid
	}
	return object.Kind == about.kind && object.Name == about.name && object.Namespace == about.namespace
}

// eventTime is when the event was seen last. Which field says so depends on the
// API by which it was written.
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

// containerName reads the container from a path such as spec.containers{app}.
func containerName(event *corev1.Event) string {
	_, name, found := strings.Cut(event.InvolvedObject.FieldPath, "{")
	if !found {
		return ""
	}
	return strings.TrimSuffix(name, "}")
}

// concernsContainer tells whether a warning about a pod is about this container.
// Some do not say which one they are about.
func (w warning) concernsContainer(name string) bool {
	return w.container == "" || w.container == name
}

// probeName is the probe that an Unhealthy event is about: Readiness, Liveness or
// Startup.
func probeName(w warning) string {
	probe, _, _ := strings.Cut(w.message, " ")
	return probe
}

// addWarnings adds the warnings of all objects on the way, save those that only repeat
// what was found there.
func (w *walk) addWarnings(ctx context.Context) {
	if w.brief && w.hasFinding(rankCause) {
		return
	}
	for _, at := range w.visited {
		for _, warning := range w.warnings(ctx, at.ref) {
			if at.isExplained != nil && at.isExplained(warning.reason) {
				continue
			}
			key := "event " + at.kind + warning.reason + withoutNamesAndNumbers(warning.message, at.name)
			w.add(at.ref, w.warningFinding(warning, rankWarning, key))
		}
	}
}

// withoutNamesAndNumbers is the message without what differs between pods of one workload:
// names and numbers.
func withoutNamesAndNumbers(message, name string) string {
	message = strings.ReplaceAll(message, name, "")
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, message)
}

// anyReason makes a test for reasons.
func anyReason(reasons ...string) func(string) bool {
	return func(reason string) bool { return slices.Contains(reasons, reason) }
}
