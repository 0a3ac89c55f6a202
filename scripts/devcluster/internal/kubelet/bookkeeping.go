// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// enqueueHeld enqueues the pods that wait for a missing object in the namespace of object,
// which was created or has changed.
func (k *Kubelet) enqueueHeld(object types.NamespacedName) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for name := range k.held[object.Namespace] {
		k.loop.Enqueue(name)
	}
}

// runOf returns the podRun of the pod, and creates it if the pod is new.
func (k *Kubelet) runOf(name types.NamespacedName, pod *corev1.Pod, now time.Time) *podRun {
	k.mu.Lock()
	defer k.mu.Unlock()
	known, ok := k.runs[name]
	if ok && known.uid == pod.UID {
		return known.run
	}
	if ok {
		k.ips.release(known.run.ip)
	}
	run := newPodRun(pod, k.ips.take(), now)
	k.runs[name] = &liveRun{uid: pod.UID, run: run}
	return run
}

func (k *Kubelet) forget(name types.NamespacedName) {
	k.setHeld(name, false)
	k.mu.Lock()
	defer k.mu.Unlock()
	if known, ok := k.runs[name]; ok {
		k.ips.release(known.run.ip)
		delete(k.runs, name)
	}
}

func (k *Kubelet) setHeld(name types.NamespacedName, held bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if held {
		if k.held[name.Namespace] == nil {
			k.held[name.Namespace] = map[types.NamespacedName]bool{}
		}
		k.held[name.Namespace][name] = true
		return
	}
	delete(k.held[name.Namespace], name)
	if len(k.held[name.Namespace]) == 0 {
		delete(k.held, name.Namespace)
	}
}

// missing returns which referenced objects of a pod do not exist. If an object is not in the
// caches, which can be outdated, it asks the API server.
func (k *Kubelet) missing(ctx context.Context, name types.NamespacedName, pod *corev1.Pod, run *podRun) (missing, error) {
	if run.underWay() {
		k.setHeld(name, false)
		return missing{}, nil
	}
	m, err := checker{source: k.cached, pod: pod}.check(ctx)
	if err != nil || !m.any() {
		k.setHeld(name, false)
		return m, err
	}
	// The pod is marked before the request, so that enqueueHeld enqueues it if an object is
	// created after the response.
	k.setHeld(name, true)
	m, err = checker{source: k.live, pod: pod}.check(ctx)
	if err == nil && !m.any() {
		k.setHeld(name, false)
	}
	return m, err
}

// underWay reports whether every container was started at least once.
func (r *podRun) underWay() bool {
	if !r.mounted {
		return false
	}
	for _, c := range r.containers() {
		if c.phase == phaseWaiting && c.last == nil {
			return false
		}
	}
	return true
}
