// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// status returns the status that a kubelet would write for the pod at the time now. killed is
// true if the pod was deleted and its containers have ended.
func (r *podRun) status(now time.Time, pod *corev1.Pod, killed bool) corev1.PodStatus {
	s := *pod.Status.DeepCopy()
	s.ObservedGeneration = pod.Generation
	s.Phase = r.phase(pod, killed)
	started := apiTime(r.started)
	if s.StartTime == nil {
		s.StartTime = &started
	}
	s.QOSClass = pod.Status.QOSClass
	r.setAddresses(&s, pod)
	s.InitContainerStatuses = statuses(pod, r.inits)
	s.ContainerStatuses = statuses(pod, r.mains)

	ended := s.Phase == corev1.PodSucceeded || s.Phase == corev1.PodFailed
	set := func(kind corev1.PodConditionType, ok bool, reason, message string) {
		setCondition(&s, now, corev1.PodCondition{
			Type: kind, Status: conditionStatus(ok), Reason: reason, Message: message, ObservedGeneration: pod.Generation,
		})
	}
	set(corev1.PodReadyToStartContainers, r.mounted && !ended && !killed, "", "")

	initialized, reason, message := r.initialized(s.Phase)
	set(corev1.PodInitialized, initialized, reason, message)

	ready, reason, message := r.containersReady(s.Phase)
	set(corev1.ContainersReady, ready, reason, message)
	if gate := closedGate(pod); ready && gate != "" {
		ready, reason = false, "ReadinessGatesNotReady"
		message = fmt.Sprintf("corresponding condition of pod readiness gate %q does not exist or is not true.", gate)
	}
	set(corev1.PodReady, ready, reason, message)
	return s
}

func (r *podRun) phase(pod *corev1.Pod, killed bool) corev1.PodPhase {
	if r.done(pod) || killed {
		for _, c := range r.inits {
			if c.role == roleInit && c.exitCode != 0 {
				return corev1.PodFailed
			}
		}
		for _, c := range r.mains {
			if c.phase != phaseExited || c.exitCode != 0 {
				return corev1.PodFailed
			}
		}
		return corev1.PodSucceeded
	}
	for _, c := range r.mains {
		if c.phase == phaseRunning || c.last != nil {
			return corev1.PodRunning
		}
	}
	return corev1.PodPending
}

func (r *podRun) setAddresses(s *corev1.PodStatus, pod *corev1.Pod) {
	host := nodeAddress(pod.Spec.NodeName)
	s.HostIP, s.HostIPs = host, []corev1.HostIP{{IP: host}}
	switch {
	case pod.Spec.HostNetwork:
		s.PodIP, s.PodIPs = host, []corev1.PodIP{{IP: host}}
	case r.mounted:
		s.PodIP, s.PodIPs = r.ip, []corev1.PodIP{{IP: r.ip}}
	}
}

func (r *podRun) initialized(phase corev1.PodPhase) (ok bool, reason, message string) {
	if phase == corev1.PodSucceeded {
		return true, "PodCompleted", ""
	}
	var incomplete []string
	for _, c := range r.inits {
		if !c.passed() && (c.role == roleInit || c.phase != phaseExited) {
			incomplete = append(incomplete, c.name)
		}
	}
	if len(incomplete) > 0 || !r.mounted && len(r.inits) > 0 {
		return false, "ContainersNotInitialized", fmt.Sprintf("containers with incomplete status: [%s]", strings.Join(incomplete, " "))
	}
	return true, "", ""
}

func (r *podRun) containersReady(phase corev1.PodPhase) (ok bool, reason, message string) {
	switch phase {
	case corev1.PodSucceeded:
		return false, "PodCompleted", ""
	case corev1.PodFailed:
		return false, "PodFailed", ""
	}
	var unready []string
	for _, c := range r.inits {
		if c.role == roleSidecar && !c.ready {
			unready = append(unready, c.name)
		}
	}
	for _, c := range r.mains {
		if !c.ready {
			unready = append(unready, c.name)
		}
	}
	if len(unready) > 0 {
		return false, "ContainersNotReady", fmt.Sprintf("containers with unready status: [%s]", strings.Join(unready, " "))
	}
	return true, "", ""
}

// closedGate returns the condition type of the first readiness gate of the pod that is not
// True, or an empty string.
func closedGate(pod *corev1.Pod) corev1.PodConditionType {
	open := map[corev1.PodConditionType]bool{}
	for _, c := range pod.Status.Conditions {
		open[c.Type] = c.Status == corev1.ConditionTrue
	}
	for _, gate := range pod.Spec.ReadinessGates {
		if !open[gate.ConditionType] {
			return gate.ConditionType
		}
	}
	return ""
}

func statuses(pod *corev1.Pod, runs []*containerRun) []corev1.ContainerStatus {
	var all []corev1.ContainerStatus
	for _, r := range runs {
		all = append(all, r.status(pod))
	}
	return all
}

func (r *containerRun) status(pod *corev1.Pod) corev1.ContainerStatus {
	started := r.isStarted()
	s := corev1.ContainerStatus{
		Name:         r.name,
		Image:        r.image,
		Ready:        r.ready && r.role != roleInit || r.role == roleInit && r.passed(),
		Started:      &started,
		RestartCount: r.restarts,
	}
	if r.last != nil {
		last := *r.last
		s.LastTerminationState.Terminated = &last
	}
	switch r.phase {
	case phaseWaiting:
		waiting := r.waiting
		s.State.Waiting = &waiting
		if r.last != nil {
			s.ContainerID = r.last.ContainerID
		}
	case phaseRunning:
		s.State.Running = &corev1.ContainerStateRunning{StartedAt: apiTime(r.started)}
		s.ContainerID = containerID(pod, r.name, r.restarts)
	case phaseExited:
		terminated := r.terminated(pod)
		s.State.Terminated = &terminated
		s.ContainerID = terminated.ContainerID
	}
	if s.ContainerID != "" {
		s.ImageID = r.image + "@sha256:" + digest(r.image)
	}
	return s
}

func containerID(pod *corev1.Pod, container string, restarts int32) string {
	return "devcluster://" + digest(fmt.Sprintf("%s/%s/%d", pod.UID, container, restarts))
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func conditionStatus(ok bool) corev1.ConditionStatus {
	if ok {
		return corev1.ConditionTrue
	}
	return corev1.ConditionFalse
}

// apiTime truncates a time to seconds, as the API does. Otherwise, a status would never equal
// the stored one, and would be written again and again.
func apiTime(t time.Time) metav1.Time { return metav1.NewTime(t.Truncate(time.Second)) }

// setCondition sets a condition. Its time of the last transition changes only if its status
// does.
func setCondition(s *corev1.PodStatus, now time.Time, fresh corev1.PodCondition) {
	for i := range s.Conditions {
		old := &s.Conditions[i]
		if old.Type != fresh.Type {
			continue
		}
		fresh.LastTransitionTime, fresh.LastProbeTime = old.LastTransitionTime, old.LastProbeTime
		if old.Status != fresh.Status {
			fresh.LastTransitionTime = apiTime(now)
		}
		*old = fresh
		return
	}
	fresh.LastTransitionTime = apiTime(now)
	s.Conditions = append(s.Conditions, fresh)
}
