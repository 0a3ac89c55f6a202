// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
)

// containerState is a container of a pod: its spec, and its status, which is empty if there
// is none yet. init is true for init containers, including those that are sidecars.
type containerState struct {
	spec          corev1.Container
	status        corev1.ContainerStatus
	init, sidecar bool
}

// containerStates returns the containers of a pod, init containers first.
func containerStates(pod *corev1.Pod) []containerState {
	var boxes []containerState
	collect := func(specs []corev1.Container, statuses []corev1.ContainerStatus, init bool) {
		for _, spec := range specs {
			b := containerState{spec: spec, init: init}
			b.sidecar = init && spec.RestartPolicy != nil && *spec.RestartPolicy == corev1.ContainerRestartPolicyAlways
			for _, status := range statuses {
				if status.Name == spec.Name {
					b.status = status
				}
			}
			boxes = append(boxes, b)
		}
	}
	collect(pod.Spec.InitContainers, pod.Status.InitContainerStatuses, true)
	collect(pod.Spec.Containers, pod.Status.ContainerStatuses, false)
	return boxes
}

// allowsNext reports whether an init container lets the next container start: a sidecar
// when it has started, any other when it has completed.
func (b containerState) allowsNext() bool {
	if b.sidecar {
		return b.status.Started != nil && *b.status.Started
	}
	t := b.status.State.Terminated
	return t != nil && t.ExitCode == 0
}

// diagnoseContainers adds findings about the containers of a pod that are not ready.
// creating is true if some of them have not been created yet.
func (w *walk) diagnoseContainers(ctx context.Context, at ref, pod *corev1.Pod) (creating bool) {
	before := len(w.findings)
	for _, b := range containerStates(pod) {
		if b.status.Ready || b.init && !b.sidecar && b.allowsNext() {
			continue
		}
		creating = !w.diagnoseContainer(ctx, at, pod, b) || creating
		if b.init && !b.allowsNext() {
			break // later containers wait for it
		}
	}
	if creating && len(w.findings) == before {
		w.diagnoseCreating(ctx, at, pod)
	}
	return creating
}

// diagnoseContainer adds a finding about a container that is not ready. It returns false,
// without a finding, if the container has not been created yet.
func (w *walk) diagnoseContainer(ctx context.Context, at ref, pod *corev1.Pod, b containerState) bool {
	state := b.status.State
	switch {
	case state.Running != nil:
		w.diagnoseRunning(ctx, at, pod, b)
	case state.Terminated != nil:
		w.diagnoseTerminated(at, pod, b)
	case state.Waiting == nil, state.Waiting.Reason == "", state.Waiting.Reason == "ContainerCreating",
		state.Waiting.Reason == "PodInitializing":
		return false
	case state.Waiting.Reason == "CrashLoopBackOff":
		w.diagnoseCrashLoop(ctx, at, pod, b)
	case state.Waiting.Reason == "ImagePullBackOff", state.Waiting.Reason == "ErrImagePull":
		w.diagnoseImagePull(ctx, at, pod, b)
	default:
		w.diagnoseWaiting(ctx, at, pod, b)
	}
	return true
}

func (w *walk) diagnoseWaiting(ctx context.Context, at ref, pod *corev1.Pod, b containerState) {
	waiting := b.status.State.Waiting
	if waiting.Reason == "CreateContainerConfigError" && w.addMissingObjects(ctx, at, podReferences(pod), waiting.Message) {
		return
	}
	message := cmp.Or(waiting.Message, "waiting to be started")
	w.add(at, finding{
		rank: rankCause, key: waiting.Reason + normalizeMessage(message, at.name),
		Cause: Cause{Container: b.spec.Name, Reason: waiting.Reason, Message: message},
	})
}

func (w *walk) diagnoseCrashLoop(ctx context.Context, at ref, pod *corev1.Pod, b containerState) {
	last := b.status.LastTerminationState.Terminated
	if last == nil {
		w.add(at, finding{
			rank: rankCause, key: "crash", log: containerLog(pod, b, true),
			Cause: Cause{Container: b.spec.Name, Reason: "CrashLoopBackOff", Message: b.status.State.Waiting.Message},
		})
		return
	}
	f := crashFinding(pod, b, last, "CrashLoopBackOff")
	w.addFailedProbe(ctx, at, b, last, &f)
	w.add(at, f)
}

// crashFinding returns a finding about a container that exits and is restarted repeatedly.
// last is the last exit, and reason the Reason of the finding if no better one is known.
func crashFinding(pod *corev1.Pod, b containerState, last *corev1.ContainerStateTerminated, reason string) finding {
	f := finding{
		rank: rankCause, key: fmt.Sprintf("crash %d %s", last.ExitCode, last.Reason), terminationMessage: last.Message,
		Cause: Cause{Container: b.spec.Name, Reason: reason, Message: exitText(b, last) + restartText(b)},
	}
	if last.Reason == "OOMKilled" {
		f.Reason = last.Reason
	}
	if last.ExitCode == 0 && pod.Spec.RestartPolicy != corev1.RestartPolicyOnFailure {
		f.Message += "; its command exits, but it must run until it is stopped"
	}
	if hasStarted(last) {
		f.log = containerLog(pod, b, true)
	}
	return f
}

// addFailedProbe looks for a failed probe because of which the kubelet stopped the
// container, and adds it to the message of f.
func (w *walk) addFailedProbe(ctx context.Context, at ref, b containerState, last *corev1.ContainerStateTerminated, f *finding) {
	if w.brief || last.ExitCode == 0 {
		return
	}
	for _, warning := range w.warnings(ctx, at) {
		probe := probeName(warning)
		if warning.reason == "Unhealthy" && warning.concernsContainer(b.spec.Name) && (probe == "Liveness" || probe == "Startup") {
			f.Message += "; stopped because a probe failed: " + warning.message
			return
		}
	}
}

func (w *walk) diagnoseImagePull(ctx context.Context, at ref, pod *corev1.Pod, b containerState) {
	waiting := b.status.State.Waiting
	_, detail, found := strings.Cut(waiting.Message, "ErrImagePull: ")
	if !found && waiting.Reason == "ErrImagePull" {
		detail = waiting.Message
	}
	if detail == "" && !w.brief {
		for _, warning := range w.warnings(ctx, at) {
			if warning.reason == "Failed" && warning.concernsContainer(b.spec.Name) &&
				strings.HasPrefix(warning.message, "Failed to pull image") {
				_, detail, _ = strings.Cut(warning.message, ": ")
				break
			}
		}
	}
	message := fmt.Sprintf("cannot pull image %q", b.spec.Image)
	if detail != "" {
		message += ": " + detail
	}
	w.addMissingObjects(ctx, at, imagePullSecrets(pod))
	w.add(at, finding{
		rank: rankCause, key: "image " + b.spec.Image,
		Cause: Cause{Container: b.spec.Name, Reason: waiting.Reason, Message: message},
	})
}

func (w *walk) diagnoseRunning(ctx context.Context, at ref, pod *corev1.Pod, b containerState) {
	began := b.status.State.Running.StartedAt
	for _, warning := range w.warnings(ctx, at) {
		if warning.reason != "Unhealthy" || !warning.concernsContainer(b.spec.Name) || warning.last.Before(began.Time) {
			continue
		}
		f := w.warningFinding(warning, rankCause, "unhealthy "+normalizeMessage(warning.message, at.name))
		f.Container, f.suffix, f.log = b.spec.Name, restartText(b), containerLog(pod, b, false)
		w.add(at, f)
		return
	}
	if last := b.status.LastTerminationState.Terminated; last != nil && !b.init {
		f := crashFinding(pod, b, last, "Restarted")
		f.Message += "; running again, but not ready"
		w.addFailedProbe(ctx, at, b, last, &f)
		w.add(at, f)
		return
	}
	f := finding{
		rank: rankUnexplained, key: "running", log: containerLog(pod, b, false),
		Cause: Cause{Container: b.spec.Name, Reason: "NotReady", Message: "running" + w.durationSince(began) + ", but not ready"},
	}
	switch {
	case b.init && !b.sidecar:
		f.Reason, f.Message = "Initializing", "init container, running"+w.durationSince(began)
	case b.status.Started != nil && !*b.status.Started && b.spec.StartupProbe != nil:
		f.Message = "running" + w.durationSince(began) + ", but has not passed its startup probe" + probeText(b.spec.StartupProbe)
	case b.spec.ReadinessProbe != nil:
		f.Message += "; readiness probe" + probeText(b.spec.ReadinessProbe)
	}
	w.add(at, f)
}

func (w *walk) diagnoseTerminated(at ref, pod *corev1.Pod, b containerState) {
	t := b.status.State.Terminated
	if t.ExitCode == 0 && (b.sidecar || pod.Spec.RestartPolicy != corev1.RestartPolicyAlways) {
		return
	}
	f := finding{
		rank: rankCause, key: fmt.Sprintf("terminated %d %s", t.ExitCode, t.Reason), terminationMessage: t.Message,
		Cause: Cause{Container: b.spec.Name, Reason: cmp.Or(t.Reason, "Error"), Message: exitText(b, t) + restartText(b)},
	}
	if t.ExitCode == 0 {
		f.rank = rankWarning
	}
	if hasStarted(t) {
		f.log = containerLog(pod, b, false)
	}
	w.add(at, f)
}

// diagnoseCreating adds findings about a pod whose containers have not been created yet:
// missing objects that the pod refers to, or else warnings about volumes or networks.
func (w *walk) diagnoseCreating(ctx context.Context, at ref, pod *corev1.Pod) {
	var troubles []warning
	var texts []string
	for _, warning := range w.warnings(ctx, at) {
		if isStartProblem(warning.reason) {
			troubles = append(troubles, warning)
			texts = append(texts, warning.message)
		}
	}
	if w.addMissingObjects(ctx, at, podReferences(pod), texts...) {
		return
	}
	for _, trouble := range troubles {
		w.add(at, w.warningFinding(trouble, rankCause, trouble.reason+normalizeMessage(trouble.message, at.name)))
	}
	if troubles == nil {
		message := fmt.Sprintf("creating its containers on node %s", pod.Spec.NodeName)
		if pod.Status.StartTime != nil {
			message += w.durationSince(*pod.Status.StartTime)
		}
		w.add(at, finding{rank: rankUnexplained, key: "creating", Cause: Cause{Reason: "ContainerCreating", Message: message}})
	}
}

// durationSince returns " for" and the time since began, for a message. It returns "" in
// DiagnoseBriefly.
func (w *walk) durationSince(began metav1.Time) string {
	if w.brief || began.IsZero() {
		return ""
	}
	return " for " + duration.HumanDuration(w.now().Sub(began.Time))
}

// hasStarted reports whether a terminated container ran at all. If it could not be started,
// it has no log.
func hasStarted(t *corev1.ContainerStateTerminated) bool {
	return t.Reason != "StartError" && t.Reason != "ContainerCannotRun"
}

// containerLog identifies the log of a container; previous means that of the instance
// before the last restart.
func containerLog(pod *corev1.Pod, b containerState, previous bool) *logSource {
	return &logSource{namespace: pod.Namespace, pod: pod.Name, container: b.spec.Name, previous: previous}
}

func restartText(b containerState) string {
	switch n := b.status.RestartCount; n {
	case 0:
		return ""
	case 1:
		return ", restarted once"
	default:
		return fmt.Sprintf(", restarted %d times", n)
	}
}

// exitText returns how a container terminated, for a message.
func exitText(b containerState, t *corev1.ContainerStateTerminated) string {
	if !hasStarted(t) {
		return "cannot be started"
	}
	text := fmt.Sprintf("exited with code %d", t.ExitCode)
	if t.Reason == "OOMKilled" {
		if limit := b.spec.Resources.Limits.Memory(); !limit.IsZero() {
			return text + ", ran out of memory (limit " + limit.String() + ")"
		}
		return text + ", ran out of memory"
	}
	meanings := map[int32]string{
		126: "command cannot be executed", 127: "command not found",
		134: "aborted", 137: "killed", 139: "segmentation fault", 143: "terminated",
	}
	if meaning := meanings[t.ExitCode]; meaning != "" {
		text += " (" + meaning + ")"
	}
	return text
}

// probeText returns what a probe checks, for a message. It omits the command of an exec
// probe.
func probeText(p *corev1.Probe) string {
	switch {
	case p.HTTPGet != nil:
		return fmt.Sprintf(": GET port %s, path %s", p.HTTPGet.Port.String(), p.HTTPGet.Path)
	case p.TCPSocket != nil:
		return fmt.Sprintf(": TCP port %s", p.TCPSocket.Port.String())
	case p.GRPC != nil:
		return fmt.Sprintf(": gRPC port %d", p.GRPC.Port)
	case p.Exec != nil:
		return ": a command in the container"
	}
	return ""
}
