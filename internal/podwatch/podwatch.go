// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package podwatch watches the pods of workloads, and the events about these pods. Package
// waitlimit decides from them whether a workload makes progress (docs/reference.md, "Time").
// Unlike package watcher, it lists and stores all matching objects, but only for the few
// workloads that have not been ready for a while.
package podwatch

import (
	"context"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/ordered-helm/helm/internal/object"
)

var (
	events      = schema.GroupVersionResource{Version: "v1", Resource: "events"}
	replicaSets = appsv1.SchemeGroupVersion.WithResource("replicasets")
)

// Watcher watches the pods of the workloads for which Follow was called. It is safe for
// concurrent use.
type Watcher struct {
	client dynamic.Interface
	// start runs a function in a new goroutine, with a context that Close cancels. wg counts
	// these goroutines.
	start  func(func(context.Context))
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu sync.Mutex
	// events contains the feeds of events by namespace and field selector. Workloads in the
	// same namespace share one.
	events map[[2]string]*feed[corev1.Event]
}

// New returns a Watcher that runs until ctx ends or Close is called. It sends no requests
// before Follow is called. client must not limit the rate of its requests.
func New(ctx context.Context, client dynamic.Interface) *Watcher {
	w := &Watcher{client: client, events: map[[2]string]*feed[corev1.Event]{}}
	ctx, w.cancel = context.WithCancel(ctx)
	w.start = func(run func(context.Context)) { w.wg.Go(func() { run(ctx) }) }
	return w
}

// Close ends all watches, and returns when all goroutines of the Watcher have ended.
func (w *Watcher) Close() {
	w.cancel()
	w.wg.Wait()
}

// State is what a Follower has observed.
type State struct {
	// Pods are the pods of the current generation of the workload, except those that are
	// being deleted.
	Pods []*corev1.Pod
	// Events contains the events about each of the pods, in no particular order. EventsKnown
	// is false if events could not be read.
	Events      map[types.UID][]*corev1.Event
	EventsKnown bool
}

// Follower observes the pods of one workload.
type Follower struct {
	pods   *feed[corev1.Pod]        // nil if the workload is a Pod itself
	sets   *feed[appsv1.ReplicaSet] // nil unless the workload is a Deployment
	events *feed[corev1.Event]
}

// Follow starts to watch the pods of obj, and returns when they have been read or ctx ends. It
// returns nil if obj is of a kind whose pods are not known. obj can be a Pod itself.
func (w *Watcher) Follow(ctx context.Context, obj *unstructured.Unstructured) *Follower {
	f, namespace := &Follower{}, obj.GetNamespace()
	fieldSelector := "involvedObject.kind=Pod"
	if IsPod(obj) {
		fieldSelector += ",involvedObject.name=" + obj.GetName()
	} else {
		selector := podSelector(obj)
		if selector == "" {
			return nil
		}
		f.pods = startFeed[corev1.Pod](w, object.PodResource(), namespace, metav1.ListOptions{LabelSelector: selector})
		if isDeployment(obj) {
			f.sets = startFeed[appsv1.ReplicaSet](w, replicaSets, namespace, metav1.ListOptions{LabelSelector: selector})
		}
	}
	f.events = w.eventsIn(namespace, fieldSelector)
	f.pods.await(ctx)
	f.sets.await(ctx)
	f.events.await(ctx)
	return f
}

// eventsIn returns the feed of the events with a field selector in a namespace.
func (w *Watcher) eventsIn(namespace, fieldSelector string) *feed[corev1.Event] {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := [2]string{namespace, fieldSelector}
	if w.events[key] == nil {
		w.events[key] = startFeed[corev1.Event](w, events, namespace, metav1.ListOptions{FieldSelector: fieldSelector})
	}
	return w.events[key]
}

// Changes returns a number that increases whenever State may return something else for the
// same version of the workload.
func (f *Follower) Changes() int {
	if f == nil {
		return 0
	}
	return f.pods.countChanges() + f.sets.countChanges() + f.events.countChanges()
}

// State returns what is known now about the pods of obj, the current version of the
// workload. It returns false if the pods could not be read. A nil Follower knows only the pod
// that obj is, if it is one.
func (f *Follower) State(obj *unstructured.Unstructured) (State, bool) {
	if f == nil {
		f = &Follower{}
	}
	pods, known := f.currentPods(obj)
	if !known {
		return State{}, false
	}
	s := State{Pods: pods, Events: map[types.UID][]*corev1.Event{}}
	list, known := f.events.list()
	s.EventsKnown = known
	for _, event := range list {
		s.Events[event.InvolvedObject.UID] = append(s.Events[event.InvolvedObject.UID], event)
	}
	return s, true
}

// currentPods returns the pods of the current generation of obj. It returns false if they
// could not be read.
func (f *Follower) currentPods(obj *unstructured.Unstructured) ([]*corev1.Pod, bool) {
	if IsPod(obj) {
		pod, err := convert[corev1.Pod](obj)
		return []*corev1.Pod{pod}, err == nil
	}
	pods, known := f.pods.list()
	if !known || f.sets == nil {
		return selectPods(obj, nil, pods), known
	}
	sets, known := f.sets.list()
	return selectPods(obj, sets, pods), known
}

// EventTime returns the time of the last occurrence of an event. The field that contains it
// depends on the API version with which the event was written.
func EventTime(e *corev1.Event) metav1.Time {
	if e.Series != nil && !e.Series.LastObservedTime.IsZero() {
		return metav1.Time{Time: e.Series.LastObservedTime.Time}
	}
	for _, at := range []metav1.Time{e.LastTimestamp, {Time: e.EventTime.Time}, e.FirstTimestamp} {
		if !at.IsZero() {
			return at
		}
	}
	return e.CreationTimestamp
}
