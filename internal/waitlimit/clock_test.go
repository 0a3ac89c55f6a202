// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package waitlimit

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordered-helm/helm/internal/podwatch"
)

// started is the time at which the resources in the tests are applied.
var started = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// after returns the time that is some seconds after started.
func after(seconds float64) time.Time {
	return started.Add(time.Duration(seconds * float64(time.Second)))
}

// stamp returns a timestamp as in the API: it is rounded down to a second.
func stamp(seconds float64) metav1.Time {
	return metav1.Time{Time: after(seconds).Truncate(time.Second)}
}

// resource returns a resource of the second generation with a status.
func resource(observedGeneration int64, status map[string]any) *unstructured.Unstructured {
	status["observedGeneration"] = observedGeneration
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": "web", "uid": "web", "generation": int64(2), "creationTimestamp": started.Format(time.RFC3339)},
		"status":   status,
	}}
}

// counts returns a resource whose status contains these numbers.
func counts(updated, ready, available int64) *unstructured.Unstructured {
	return resource(2, map[string]any{"updatedReplicas": updated, "readyReplicas": ready, "availableReplicas": available})
}

func phase(name string) *unstructured.Unstructured { return resource(2, map[string]any{"phase": name}) }

// noNode is not a time.
const noNode = -1

// podAt returns a pod with one container, named app, that was created and scheduled at these
// times. It has no node if scheduled is noNode.
func podAt(name string, created, scheduled float64) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), CreationTimestamp: stamp(created)},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app"}}},
		Status:     corev1.PodStatus{Phase: corev1.PodPending},
	}
	if scheduled != noNode {
		at := stamp(scheduled)
		pod.Spec.NodeName, pod.Status.StartTime = "node", &at
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: at}}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}}}
	}
	return pod
}

// running returns a pod whose container was started at a time, after some restarts.
func running(name string, created, startedAt float64, restarts int32) *corev1.Pod {
	pod := podAt(name, created, created)
	pod.Status.Phase = corev1.PodRunning
	pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: stamp(startedAt)}}
	pod.Status.ContainerStatuses[0].RestartCount = restarts
	return pod
}

// eventAt returns an event about the container app. It first and last occurred at these times.
func eventAt(reason string, first, last float64) *corev1.Event {
	return &corev1.Event{
		InvolvedObject: corev1.ObjectReference{FieldPath: "spec.containers{app}"},
		Reason:         reason, FirstTimestamp: stamp(first), LastTimestamp: stamp(last),
	}
}

// state returns the state of one pod with events about it.
func state(pod *corev1.Pod, events ...*corev1.Event) podwatch.State {
	return podwatch.State{Pods: []*corev1.Pod{pod}, Events: map[types.UID][]*corev1.Event{pod.UID: events}, EventsKnown: true}
}

// observation is something that is observed at a time, in seconds: a version of the resource,
// or the state of its pods.
type observation struct {
	at    float64
	obj   *unstructured.Unstructured
	ready bool
	pods  *podwatch.State
}

func pods(s podwatch.State) *podwatch.State { return &s }

// TestClock checks for how long resources have stood still at the end of a case.
func TestClock(t *testing.T) {
	for _, c := range []struct {
		name         string
		observations []observation
		at, want     float64
	}{
		{name: "nothing is observed", at: 10, want: 10},
		{name: "nothing changes", at: 10, want: 10, observations: []observation{{at: 0, obj: counts(0, 0, 0)}, {at: 5, obj: counts(0, 0, 0)}}},
		{name: "more replicas are updated", at: 10, want: 6, observations: []observation{{at: 4, obj: counts(1, 0, 0)}}},
		{name: "more replicas are ready", at: 10, want: 2, observations: []observation{{at: 4, obj: counts(2, 0, 0)}, {at: 8, obj: counts(2, 1, 0)}}},
		{name: "more replicas are available", at: 10, want: 1, observations: []observation{{at: 4, obj: counts(2, 1, 0)}, {at: 9, obj: counts(2, 1, 1)}}},
		{name: "fewer replicas are ready", at: 10, want: 6, observations: []observation{{at: 4, obj: counts(2, 2, 2)}, {at: 8, obj: counts(2, 1, 1)}}},
		{name: "as many replicas are ready again", at: 10, want: 6, observations: []observation{{at: 4, obj: counts(2, 2, 2)}, {at: 8, obj: counts(2, 1, 1)}, {at: 9, obj: counts(2, 2, 2)}}},
		{
			name: "the status is that of the previous generation", at: 10, want: 4,
			observations: []observation{{at: 0, obj: resource(1, map[string]any{"updatedReplicas": int64(3)})}, {at: 6, obj: resource(2, map[string]any{"updatedReplicas": int64(1)})}},
		},
		{name: "a phase", at: 10, want: 4, observations: []observation{{at: 2, obj: phase("Pending")}, {at: 6, obj: phase("Running")}}},
		{name: "a phase that has occurred before", at: 10, want: 6, observations: []observation{{at: 2, obj: phase("A")}, {at: 4, obj: phase("B")}, {at: 6, obj: phase("A")}, {at: 8, obj: phase("B")}}},
		{name: "time while it is ready does not count", at: 20, want: 5, observations: []observation{{at: 2, obj: phase("A"), ready: true}, {at: 15, obj: phase("A")}}},
		{
			name: "time while it is not ready is added up", at: 20, want: 7,
			observations: []observation{
				{at: 2, obj: phase("A"), ready: true}, {at: 10, obj: phase("A")}, {at: 12, obj: phase("A"), ready: true}, {at: 15, obj: phase("A")},
			},
		},
		{name: "a pod without a node", at: 30, want: 0, observations: []observation{{at: 10, pods: pods(state(podAt("a", 0, noNode)))}}},
		{
			name: "a pod that got a node, and then stands still", at: 30, want: 10 - 1, // its timestamp is rounded
			observations: []observation{{at: 10, pods: pods(state(podAt("a", 0, noNode)))}, {at: 21, pods: pods(state(podAt("a", 0, 21)))}},
		},
		{name: "a pod that had got a node before it was observed", at: 12, want: 12 - 7, observations: []observation{{at: 10, pods: pods(state(podAt("a", 0, 6)))}}},
		{name: "an image is being pulled", at: 60, want: 1, observations: []observation{{at: 10, pods: pods(state(podAt("a", 0, 0), eventAt("Pulling", 2, 2)))}}},
		{
			name: "an image was pulled", at: 20, want: 19 - 4, // from 2 to 6, because timestamps are rounded
			observations: []observation{{at: 10, pods: pods(state(podAt("a", 0, 0), eventAt("Pulling", 2, 2), eventAt("Pulled", 5, 5)))}},
		},
		{
			name: "an image cannot be pulled", at: 20, want: 18,
			observations: []observation{{at: 10, pods: pods(state(podAt("a", 0, 0), eventAt("Pulling", 2, 2), eventAt("Failed", 2, 2), eventAt("BackOff", 3, 9)))}},
		},
		{
			name: "the next attempt to pull an image", at: 30, want: 14,
			observations: []observation{
				{at: 10, pods: pods(state(podAt("a", 0, 0), eventAt("Failed", 2, 2), eventAt("BackOff", 3, 9)))},
				{at: 15, pods: pods(state(podAt("a", 0, 0), eventAt("Pulling", 2, 15), eventAt("Failed", 2, 2), eventAt("BackOff", 3, 9)))},
			},
		},
		{
			name: "the event of another container", at: 20, want: 19,
			observations: []observation{{at: 10, pods: pods(state(podAt("a", 0, 0), &corev1.Event{Reason: "Pulling", InvolvedObject: corev1.ObjectReference{FieldPath: "spec.containers{b}"}, LastTimestamp: stamp(2)}))}},
		},
		{
			name: "an image is pulled, and the container starts", at: 30, want: 5,
			observations: []observation{
				{at: 10, pods: pods(state(podAt("a", 0, 0), eventAt("Pulling", 2, 2)))},
				{at: 25, pods: pods(state(running("a", 0, 25, 0), eventAt("Pulling", 2, 2)))},
			},
		},
		{name: "a container started shortly before it was observed", at: 12, want: 3, observations: []observation{{at: 10, pods: pods(state(running("a", 0, 8, 0)))}}},
		{name: "a container is restarted again and again", at: 12, want: 11, observations: []observation{{at: 10, pods: pods(state(running("a", 0, 9, 3)))}}},
		{
			name: "an event says when the container first started", at: 12, want: 5,
			observations: []observation{{at: 10, pods: pods(state(running("a", 0, 9, 3), eventAt("Started", 6, 9)))}},
		},
		{
			name: "a restart", at: 20, want: 19,
			observations: []observation{{at: 10, pods: pods(state(running("a", 0, 0, 0)))}, {at: 15, pods: pods(state(running("a", 0, 15, 1)))}},
		},
		{
			name: "one more pod", at: 20, want: 5,
			observations: []observation{
				{at: 10, pods: pods(state(podAt("a", 0, 0)))},
				{at: 15, pods: &podwatch.State{Pods: []*corev1.Pod{podAt("a", 0, 0), podAt("b", 15, 15)}}},
			},
		},
		{
			name: "a pod is replaced", at: 20, want: 19,
			observations: []observation{{at: 10, pods: pods(state(running("a", 0, 0, 0)))}, {at: 15, pods: pods(state(running("b", 14, 15, 0)))}},
		},
		{
			name: "one of two pods has no node", at: 40, want: 0,
			observations: []observation{{at: 10, pods: &podwatch.State{Pods: []*corev1.Pod{running("a", 0, 1, 5), podAt("b", 0, noNode)}}}},
		},
		{
			name: "events may not be read", at: 20, want: 19,
			observations: []observation{{at: 10, pods: &podwatch.State{Pods: []*corev1.Pod{podAt("a", 0, 0)}}}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			clock := newClock(started)
			// It was created at once, so the clocks of the cluster and the caller agree.
			clock.observe(resource(2, map[string]any{}), false, started)
			for _, o := range c.observations {
				if o.pods != nil {
					clock.observePods(*o.pods, after(o.at))
				} else {
					clock.observe(o.obj, o.ready, after(o.at))
				}
			}
			if got := clock.standstill(after(c.at)).Seconds(); got != c.want {
				t.Errorf("stood still for %gs, want %gs", got, c.want)
			}
		})
	}
}

// TestClockWithOtherClock checks that the result is the same if the clock of the cluster is
// wrong, because only differences between its timestamps count.
func TestClockWithOtherClock(t *testing.T) {
	for _, offset := range []float64{-3600, -7, 0, 7, 3600} {
		clock := newClock(started)
		obj := counts(0, 0, 0)
		obj.SetCreationTimestamp(stamp(offset))
		clock.observe(obj, false, started)
		clock.observePods(state(running("a", offset, offset+4, 0), eventAt("Pulling", offset+1, offset+1)), after(10))
		if got := clock.standstill(after(10)); got != 5*time.Second {
			t.Errorf("offset %gs: stood still for %s", offset, got)
		}
	}
}

// TestClockProperties checks with random sequences that a resource that makes progress within
// less than ten seconds, again and again, never stands still for ten seconds, whatever else is
// observed meanwhile. A resource whose numbers only repeat does.
func TestClockProperties(t *testing.T) {
	const limit = 10 * time.Second
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 10))
		clock, at, reached := newClock(started), 0.0, [3]int64{}
		// repeat observes numbers that are not higher than before, after some time.
		repeat := func(seconds float64) {
			at += seconds
			clock.observe(counts(random.Int64N(reached[0]+1), random.Int64N(reached[1]+1), random.Int64N(reached[2]+1)), false, after(at))
		}
		check := func(expired bool) {
			if got := clock.standstill(after(at)); (got >= limit) != expired {
				t.Fatalf("seed %d: at %gs, with %v, it has stood still for %s", seed, at, reached, got)
			}
		}
		for range 20 {
			for range random.IntN(4) {
				repeat(random.Float64() * 3)
				check(false)
			}
			reached[random.IntN(3)]++
			at += random.Float64() * 0.9
			clock.observe(counts(reached[0], reached[1], reached[2]), false, after(at))
			check(false)
		}
		for end := at + 10; at < end; {
			repeat(random.Float64() * 3)
		}
		check(true)
	}
}

// TestClockPodProperties checks the same for pods, which are replaced and restarted at random.
func TestClockPodProperties(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 11))
		clock, at, name := newClock(started), 10.0, 0
		clock.observe(counts(0, 0, 0), false, started)
		// observe observes some pods, of which some run, after some time.
		observe := func(number, run int, seconds float64) {
			at += seconds
			s := podwatch.State{}
			for n := range number {
				name++
				pod := podAt(fmt.Sprint(name), at, at)
				if n < run {
					pod = running(fmt.Sprint(name), at, at, random.Int32N(5))
				}
				s.Pods = append(s.Pods, pod)
			}
			clock.observePods(s, after(at))
		}
		for number := range 6 {
			observe(number, 0, random.Float64()*9)
			observe(number, number, random.Float64()*9)
			if got := clock.standstill(after(at)); number > 0 && got > 0 {
				t.Fatalf("seed %d: %d pods run, but it stood still for %s", seed, number, got)
			}
		}
		for end := at + 10; at < end; {
			number := random.IntN(6)
			observe(number, random.IntN(number+1), random.Float64()*3)
		}
		if got := clock.standstill(after(at)); got < 10*time.Second {
			t.Fatalf("seed %d: its pods were only replaced, but it stood still for %s", seed, got)
		}
	}
}
