// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// logText returns the log of a container: the text in the annotation, or a line that names the
// container and the pod.
func logText(pod *corev1.Pod, container string) string {
	for _, key := range []string{AnnotationLog + "." + container, AnnotationLog} {
		if text, ok := pod.Annotations[key]; ok {
			if text != "" && !strings.HasSuffix(text, "\n") {
				text += "\n"
			}
			return text
		}
	}
	return fmt.Sprintf("container %s of pod %s/%s\n", container, pod.Namespace, pod.Name)
}

// logQuery describes the requested part of a log.
type logQuery struct {
	follow, previous, timestamps bool
	// tail is the maximum number of lines, counted from the end; limit is the maximum number
	// of bytes, counted from the start. If they are negative, there is no limit.
	tail, limit int64
	since       time.Time
}

func parseLogQuery(values url.Values, now time.Time) (logQuery, error) {
	q := logQuery{tail: -1, limit: -1}
	for name, target := range map[string]*bool{"follow": &q.follow, "previous": &q.previous, "timestamps": &q.timestamps} {
		if text := values.Get(name); text != "" {
			value, err := strconv.ParseBool(text)
			if err != nil {
				return q, fmt.Errorf("%s: %q is not a boolean", name, text)
			}
			*target = value
		}
	}
	var seconds int64
	for name, target := range map[string]*int64{"tailLines": &q.tail, "limitBytes": &q.limit, "sinceSeconds": &seconds} {
		if text := values.Get(name); text != "" {
			value, err := strconv.ParseInt(text, 10, 64)
			if err != nil || value < 0 {
				return q, fmt.Errorf("%s: %q is not a number", name, text)
			}
			*target = value
		}
	}
	if seconds > 0 {
		q.since = now.Add(-time.Duration(seconds) * time.Second)
	}
	if text := values.Get("sinceTime"); text != "" {
		since, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return q, fmt.Errorf("sinceTime: %w", err)
		}
		q.since = since
	}
	return q, nil
}

// cut returns the requested part of a log. The time of all lines is written.
func (q logQuery) cut(text string, written time.Time) string {
	if written.Before(q.since) {
		return ""
	}
	lines := slices.Collect(strings.Lines(text))
	if q.tail >= 0 && int64(len(lines)) > q.tail {
		lines = lines[int64(len(lines))-q.tail:]
	}
	if q.timestamps {
		for i := range lines {
			lines[i] = written.UTC().Format(time.RFC3339Nano) + " " + lines[i]
		}
	}
	text = strings.Join(lines, "")
	if q.limit >= 0 && int64(len(text)) > q.limit {
		text = text[:q.limit]
	}
	return text
}

// findStatus returns the status of a container, or nil if it has none yet.
func findStatus(pod *corev1.Pod, container string) *corev1.ContainerStatus {
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range list {
			if list[i].Name == container {
				return &list[i]
			}
		}
	}
	return nil
}

// written returns the time at which a container has written its log, or an error if it has no
// log.
func written(pod *corev1.Pod, container string, previous bool) (time.Time, error) {
	status := findStatus(pod, container)
	switch {
	case status == nil:
		return time.Time{}, fmt.Errorf("container %q in pod %q is waiting to start: %s", container, pod.Name, reasonCreating)
	case previous && status.LastTerminationState.Terminated == nil:
		return time.Time{}, fmt.Errorf("previous terminated container %q in pod %q not found", container, pod.Name)
	case previous:
		return status.LastTerminationState.Terminated.StartedAt.Time, nil
	case status.State.Running != nil:
		return status.State.Running.StartedAt.Time, nil
	case status.State.Terminated != nil:
		return status.State.Terminated.StartedAt.Time, nil
	case status.LastTerminationState.Terminated != nil:
		return status.LastTerminationState.Terminated.StartedAt.Time, nil
	default:
		return time.Time{}, fmt.Errorf("container %q in pod %q is waiting to start: %s", container, pod.Name, status.State.Waiting.Reason)
	}
}
