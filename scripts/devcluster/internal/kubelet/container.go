// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

type containerRole int

const (
	roleMain containerRole = iota
	roleInit
	// roleSidecar is an init container that keeps running after it has started.
	roleSidecar
)

type containerPhase int

const (
	phaseWaiting containerPhase = iota
	phaseRunning
	phaseExited
)

const (
	// The delay before a restart, which doubles with each failure. A real kubelet starts with
	// ten seconds and ends with five minutes, which is too long for tests.
	initialBackOff = time.Second
	maxBackOff     = 30 * time.Second
	// pullErrorShown is how long the status shows ErrImagePull after a failed pull, before it
	// shows ImagePullBackOff.
	pullErrorShown = 300 * time.Millisecond

	reasonCreating     = "ContainerCreating"
	reasonInitializing = "PodInitializing"
	reasonCrashLoop    = "CrashLoopBackOff"
	reasonErrPull      = "ErrImagePull"
	reasonPullBackOff  = "ImagePullBackOff"
	reasonConfigError  = "CreateContainerConfigError"
	reasonCreateError  = "CreateContainerError"
)

// containerRun is the simulated state of a container.
type containerRun struct {
	name  string
	image string
	role  containerRole
	// startupProbe is true if the container has a startup probe. It then counts as started
	// only when it is ready.
	startupProbe bool

	phase    containerPhase
	waiting  corev1.ContainerStateWaiting
	started  time.Time
	finished time.Time
	exitCode int32
	ready    bool
	// pulling is the time at which the pull of the image began. pulled is true when it is
	// complete.
	pulling time.Time
	pulled  bool
	// warned is true if an event has reported that the running container is unhealthy.
	warned bool

	restarts int32
	failures int
	last     *corev1.ContainerStateTerminated
	// retry is the time at which a waiting container is started again.
	retry time.Time
	// shownUntil is the time until which the status shows ErrImagePull.
	shownUntil time.Time
}

// circumstances contains the data that determine the next state of a container.
type circumstances struct {
	now time.Time
	pod *corev1.Pod
	// missing describes, for each container, what is missing for its environment.
	missing map[string]string
	events  *[]event
}

func (c circumstances) warn(reason, format string, args ...any) {
	*c.events = append(*c.events, event{kind: corev1.EventTypeWarning, reason: reason, message: fmt.Sprintf(format, args...)})
}

// note creates an event about a container that is not a warning.
func (c circumstances) note(r *containerRun, reason, format string, args ...any) {
	field := "spec.containers{" + r.name + "}"
	if r.role != roleMain {
		field = "spec.initContainers{" + r.name + "}"
	}
	*c.events = append(*c.events, event{kind: corev1.EventTypeNormal, reason: reason, message: fmt.Sprintf(format, args...), field: field})
}

// step updates the state of the container to the current time. It returns the time at which it
// must be called again, or the zero time if it must be called only after another change.
func (r *containerRun) step(c circumstances) time.Time {
	b, err := behaviorOf(c.pod, r.name, r.role)
	if err != nil {
		if r.phase == phaseWaiting && r.wait(reasonCreateError, err.Error()) {
			c.warn("Failed", "Error: %s", err)
		}
		return time.Time{}
	}
	for {
		var wake time.Time
		var again bool
		switch r.phase {
		case phaseWaiting:
			wake, again = r.stepWaiting(c, b)
		case phaseRunning:
			wake, again = r.stepRunning(c, b)
		case phaseExited:
			wake, again = r.stepExited(c, b)
		}
		if !again {
			return wake
		}
	}
}

func (r *containerRun) stepWaiting(c circumstances, b behavior) (time.Time, bool) {
	if r.restarts == 0 && r.last == nil {
		if b.now(r.failures) == modeImagePull {
			return r.stepPull(c)
		}
		if due := r.pull(c, b); c.now.Before(due) {
			return due, false
		}
		if missing := c.missing[r.name]; missing != "" {
			if r.wait(reasonConfigError, missing) {
				c.warn("Failed", "Error: %s", missing)
			}
			return time.Time{}, false
		}
	}
	if r.last != nil {
		// A container that no longer crashes does not have to wait.
		if r.loops(c.pod, b) && c.now.Before(r.retry) {
			return r.retry, false
		}
		r.restarts++
	}
	r.phase, r.started, r.ready, r.warned = phaseRunning, c.now, false, false
	return time.Time{}, true
}

// pull simulates that the image is being pulled, and returns the time at which the pull is
// complete.
func (r *containerRun) pull(c circumstances, b behavior) time.Time {
	if b.pull == 0 || r.pulled {
		return time.Time{}
	}
	if r.pulling.IsZero() {
		r.pulling = c.now
		c.note(r, "Pulling", "Pulling image %q", r.image)
	}
	due := r.pulling.Add(b.pull)
	if !c.now.Before(due) {
		r.pulled = true
		c.note(r, "Pulled", "Successfully pulled image %q in %s", r.image, b.pull)
	}
	return due
}

func (r *containerRun) stepPull(c circumstances) (time.Time, bool) {
	if !c.now.Before(r.retry) {
		r.failures++
		r.shownUntil = c.now.Add(pullErrorShown)
		r.retry = c.now.Add(pullErrorShown + backOff(r.failures))
		message := fmt.Sprintf("failed to pull and unpack image %q: not found", r.image)
		r.wait(reasonErrPull, message)
		c.warn("Failed", "Failed to pull image %q: %s", r.image, message)
		c.warn("Failed", "Error: %s", reasonErrPull)
	}
	if c.now.Before(r.shownUntil) {
		return r.shownUntil, false
	}
	if r.wait(reasonPullBackOff, fmt.Sprintf("Back-off pulling image %q", r.image)) {
		c.warn("Failed", "Error: %s", reasonPullBackOff)
	}
	return r.retry, false
}

func (r *containerRun) stepRunning(c circumstances, b behavior) (time.Time, bool) {
	due := r.started.Add(b.after)
	switch b.now(r.failures) {
	case modeComplete, modeFail:
		r.ready = b.now(r.failures) == modeComplete
		if c.now.Before(due) {
			return due, false
		}
		r.exitCode = 0
		if !r.ready {
			r.exitCode = 1
		}
		r.phase, r.finished, r.ready = phaseExited, c.now, false
		return time.Time{}, true
	case modeReady:
		r.ready = r.ready || !c.now.Before(due)
		if !r.ready {
			return due, false
		}
	default:
		if !r.warned && r.role != roleInit {
			c.warn("Unhealthy", "Readiness probe failed: annotation %s is %q", AnnotationPod, modeNever)
		}
		r.ready, r.warned = false, true
	}
	return time.Time{}, false
}

func (r *containerRun) stepExited(c circumstances, b behavior) (time.Time, bool) {
	if !r.restartable(c.pod, r.exitCode) {
		return time.Time{}, false
	}
	terminated := r.terminated(c.pod)
	r.last = &terminated
	r.failures++
	r.phase = phaseWaiting
	if r.failures == 1 {
		// Like a kubelet, it does not wait before the first restart.
		r.retry = c.now
		return time.Time{}, true
	}
	pause := backOff(r.failures - 1)
	r.retry = c.now.Add(pause)
	id := fmt.Sprintf("%s_%s(%s)", c.pod.Name, c.pod.Namespace, c.pod.UID)
	r.wait(reasonCrashLoop, fmt.Sprintf("back-off %s restarting failed container=%s pod=%s", pause, r.name, id))
	c.warn("BackOff", "Back-off restarting failed container %s in pod %s", r.name, id)
	return r.retry, !r.loops(c.pod, b)
}

// loops reports whether the container would exit and be restarted again after a restart.
func (r *containerRun) loops(pod *corev1.Pod, b behavior) bool {
	switch b.now(r.failures) {
	case modeFail:
		return r.restartable(pod, 1)
	case modeComplete:
		return r.restartable(pod, 0)
	default:
		return false
	}
}

// restartable reports whether a container that exits with code is restarted.
func (r *containerRun) restartable(pod *corev1.Pod, code int32) bool {
	switch {
	case r.role == roleSidecar:
		return true
	case pod.Spec.RestartPolicy == corev1.RestartPolicyNever:
		return false
	case pod.Spec.RestartPolicy == corev1.RestartPolicyOnFailure || r.role == roleInit:
		return code != 0
	default:
		return true
	}
}

// wait sets the reason and the message of the state waiting, and reports whether they have
// changed.
func (r *containerRun) wait(reason, message string) bool {
	fresh := corev1.ContainerStateWaiting{Reason: reason, Message: message}
	changed := r.waiting != fresh
	r.waiting = fresh
	return changed
}

// kill ends the container with its pod.
func (r *containerRun) kill(now time.Time) {
	switch r.phase {
	case phaseRunning:
		// This is the exit code of a program that SIGTERM has killed.
		r.exitCode = 143
	case phaseWaiting:
		r.exitCode, r.started = 137, now
	case phaseExited:
		return
	}
	r.phase, r.finished, r.ready = phaseExited, now, false
}

func (r *containerRun) terminated(pod *corev1.Pod) corev1.ContainerStateTerminated {
	t := corev1.ContainerStateTerminated{
		ExitCode:    r.exitCode,
		Reason:      "Completed",
		StartedAt:   apiTime(r.started),
		FinishedAt:  apiTime(r.finished),
		ContainerID: containerID(pod, r.name, r.restarts),
	}
	if r.exitCode != 0 {
		t.Reason = "Error"
	}
	return t
}

func backOff(failures int) time.Duration {
	d := initialBackOff
	for range failures - 1 {
		if d *= 2; d >= maxBackOff {
			return maxBackOff
		}
	}
	return d
}
