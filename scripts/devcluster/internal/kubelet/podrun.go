// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// event is an event about a pod. kind is its type, such as Warning. field is the path of the
// container that it is about; empty if it is about the whole pod.
type event struct {
	kind, reason, message, field string
}

// podRun is the simulated state of a pod.
type podRun struct {
	ip      string
	started time.Time
	mounted bool
	// stopping is the time at which the deletion of the pod was first observed.
	stopping time.Time
	held     string
	inits    []*containerRun
	mains    []*containerRun
}

func newPodRun(pod *corev1.Pod, ip string, now time.Time) *podRun {
	r := &podRun{ip: ip, started: now}
	for _, c := range pod.Spec.InitContainers {
		role := roleInit
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			role = roleSidecar
		}
		r.inits = append(r.inits, newContainerRun(c, role))
	}
	for _, c := range pod.Spec.Containers {
		r.mains = append(r.mains, newContainerRun(c, roleMain))
	}
	reason := reasonCreating
	if len(r.inits) > 0 {
		reason = reasonInitializing
	}
	for _, c := range r.containers() {
		c.waiting.Reason = reason
	}
	return r
}

func newContainerRun(c corev1.Container, role containerRole) *containerRun {
	return &containerRun{name: c.Name, image: c.Image, role: role, startupProbe: c.StartupProbe != nil}
}

func (r *podRun) containers() []*containerRun { return slices.Concat(r.inits, r.mains) }

// advance updates the state of the pod to the current time. It returns the time at which it
// must be called again, or the zero time if it must be called only after another change, and
// the events to create.
func (r *podRun) advance(now time.Time, pod *corev1.Pod, missing missing) (wake time.Time, events []event) {
	if r.done(pod) {
		return time.Time{}, nil
	}
	if !r.mounted {
		if missing.mount != "" {
			if r.held != missing.mount {
				events = append(events, event{kind: corev1.EventTypeWarning, reason: "FailedMount", message: missing.mount})
			}
			r.held = missing.mount
			return time.Time{}, events
		}
		r.mounted, r.held = true, ""
	}
	c := circumstances{now: now, pod: pod, missing: missing.environment, events: &events}
	for _, init := range r.inits {
		wake = earliest(wake, init.step(c))
		if !init.passed() {
			return wake, events
		}
	}
	for _, main := range r.mains {
		wake = earliest(wake, main.step(c))
	}
	if r.done(pod) {
		r.endSidecars(now)
		return time.Time{}, events
	}
	return wake, events
}

// passed reports whether the containers after this init container can start.
func (r *containerRun) passed() bool {
	if r.role == roleSidecar {
		return r.isStarted() || r.restarts > 0
	}
	return r.phase == phaseExited && r.exitCode == 0
}

// isStarted reports whether the container is running and its startup probe, if it has one,
// has passed.
func (r *containerRun) isStarted() bool {
	return r.phase == phaseRunning && (r.ready || !r.startupProbe)
}

// endSidecars ends the sidecars with exit code 0 if the main containers have ended.
func (r *podRun) endSidecars(now time.Time) {
	for _, c := range r.inits {
		if c.role == roleSidecar && c.phase == phaseRunning {
			c.phase, c.finished, c.exitCode, c.ready = phaseExited, now, 0, false
		}
	}
}

// done reports whether all containers have ended and none is restarted.
func (r *podRun) done(pod *corev1.Pod) bool {
	for _, init := range r.inits {
		if init.role == roleInit && init.phase == phaseExited && init.exitCode != 0 && !init.restartable(pod, init.exitCode) {
			return true
		}
	}
	for _, main := range r.mains {
		if main.phase != phaseExited || main.restartable(pod, main.exitCode) {
			return false
		}
	}
	return true
}

// kill ends all containers.
func (r *podRun) kill(now time.Time) {
	for _, c := range r.containers() {
		c.kill(now)
	}
}

func earliest(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}
