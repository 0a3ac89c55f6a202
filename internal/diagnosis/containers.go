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

// box is a container with its status, which is empty while there is none.
type box struct {
	spec          corev1.Container
	status        corev1.ContainerStatus
	init, sidecar bool
}

// boxesOf lists a pod's containers, init containers first as they run first.
func boxesOf(pod *corev1.Pod) []box {
	var boxes []box
	collect := func(specs []corev1.Container, statuses []corev1.ContainerStatus, init bool) {
		for _, spec := range specs {
			b := box{spec: spec, init: init}
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

// done tells whether an init container lets the next one start.
func (b box) done() bool {
	if b.sidecar {
		return b.status.Started != nil && *b.status.Started
	}
	t := b.status.State.Terminated
	return t != nil && t.ExitCode == 0
}

// containers explains a pod by its containers. It tells whether some are still
// being created.
func (w *walk) containers(ctx context.Context, at ref, pod *corev1.Pod) (creating bool) {
	before := len(w.findings)
	for _, b := range boxesOf(pod) {
		if b.status.Ready || b.init && !b.sidecar && b.done() {
			continue
		}
		creating = !w.container(ctx, at, pod, b) || creating
		if b.init && !b.done() {
			break // nothing after it starts before it is done
		}
	}
	if creating && len(w.findings) == before {
		w.creating(ctx, at, pod)
	}
	return creating
}

// container explains one that is not ready. It returns false for one that has
// not been created yet.
func (w *walk) container(ctx context.Context, at ref, pod *corev1.Pod, b box) bool {
	state := b.status.State
	switch {
	case state.Running != nil:
		w.running(ctx, at, pod, b)
	case state.Terminated != nil:
		w.terminated(at, pod, b)
	case state.Waiting == nil, state.Waiting.Reason == "", state.Waiting.Reason == "ContainerCreating",
		state.Waiting.Reason == "PodInitializing":
		return false
	case state.Waiting.Reason == "CrashLoopBackOff":
		w.crashLoop(ctx, at, pod, b)
	case state.Waiting.Reason == "ImagePullBackOff", state.Waiting.Reason == "ErrImagePull":
		w.imagePull(ctx, at, pod, b)
	default:
		w.waiting(ctx, at, pod, b)
	}
	return true
}

func (w *walk) waiting(ctx context.Context, at ref, pod *corev1.Pod, b box) {
	waiting := b.status.State.Waiting
	if waiting.Reason == "CreateContainerConfigError" && w.missing(ctx, at, needsOf(pod), waiting.Message) {
		return
	}
	message := cmp.Or(waiting.Message, "it waits to be started")
	w.add(at, finding{
		rank: concrete, key: waiting.Reason + similar(message, at.name),
		Cause: Cause{Container: b.spec.Name, Reason: waiting.Reason, Message: message},
	})
}

func (w *walk) crashLoop(ctx context.Context, at ref, pod *corev1.Pod, b box) {
	last := b.status.LastTerminationState.Terminated
	if last == nil {
		w.add(at, finding{
			rank: concrete, key: "crash", log: logOf(pod, b, true),
			Cause: Cause{Container: b.spec.Name, Reason: "CrashLoopBackOff", Message: b.status.State.Waiting.Message},
		})
		return
	}
	f := crash(pod, b, last, "CrashLoopBackOff")
	w.addKiller(ctx, at, b, last, &f)
	w.add(at, f)
}

// crash describes a container that ended and is started again and again.
func crash(pod *corev1.Pod, b box, last *corev1.ContainerStateTerminated, reason string) finding {
	f := finding{
		rank: concrete, key: fmt.Sprintf("crash %d %s", last.ExitCode, last.Reason), said: last.Message,
		Cause: Cause{Container: b.spec.Name, Reason: reason, Message: exitText(b, last) + restarts(b)},
	}
	if last.Reason == "OOMKilled" {
		f.Reason = last.Reason
	}
	if last.ExitCode == 0 && pod.Spec.RestartPolicy != corev1.RestartPolicyOnFailure {
		f.Message += "; its command ends although it is to run for ever"
	}
	if started(last) {
		f.log = logOf(pod, b, true)
	}
	return f
}

// addKiller says which probe made the kubelet stop the container.
func (w *walk) addKiller(ctx context.Context, at ref, b box, last *corev1.ContainerStateTerminated, f *finding) {
	if w.brief || last.ExitCode == 0 {
		return
	}
	for _, warning := range w.warnings(ctx, at) {
		probe := probeOf(warning)
		if warning.reason == "Unhealthy" && warning.concernsContainer(b.spec.Name) && (probe == "Liveness" || probe == "Startup") {
			f.Message += "; stopped because of its probe: " + warning.message
			return
		}
	}
}

func (w *walk) imagePull(ctx context.Context, at ref, pod *corev1.Pod, b box) {
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
	w.missing(ctx, at, pullSecretsOf(pod))
	w.add(at, finding{
		rank: concrete, key: "image " + b.spec.Image,
		Cause: Cause{Container: b.spec.Name, Reason: waiting.Reason, Message: message},
	})
}

func (w *walk) running(ctx context.Context, at ref, pod *corev1.Pod, b box) {
	began := b.status.State.Running.StartedAt
	for _, warning := range w.warnings(ctx, at) {
		if warning.reason != "Unhealthy" || !warning.concernsContainer(b.spec.Name) || warning.last.Before(began.Time) {
			continue
		}
		f := w.warned(warning, concrete, "unhealthy "+similar(warning.message, at.name))
		f.Container, f.after, f.log = b.spec.Name, restarts(b), logOf(pod, b, false)
		w.add(at, f)
		return
	}
	if last := b.status.LastTerminationState.Terminated; last != nil && !b.init {
		f := crash(pod, b, last, "Restarted")
		f.Message += "; runs again, but is not ready"
		w.addKiller(ctx, at, b, last, &f)
		w.add(at, f)
		return
	}
	f := finding{
		rank: vague, key: "running", log: logOf(pod, b, false),
		Cause: Cause{Container: b.spec.Name, Reason: "NotReady", Message: "running" + w.since(began) + ", but not ready"},
	}
	switch {
	case b.init && !b.sidecar:
		f.Reason, f.Message = "Initializing", "init container, running"+w.since(began)
	case b.status.Started != nil && !*b.status.Started && b.spec.StartupProbe != nil:
		f.Message = "running" + w.since(began) + ", but has not passed its startup probe" + probeText(b.spec.StartupProbe)
	case b.spec.ReadinessProbe != nil:
		f.Message += "; readiness probe" + probeText(b.spec.ReadinessProbe)
	}
	w.add(at, f)
}

func (w *walk) terminated(at ref, pod *corev1.Pod, b box) {
	t := b.status.State.Terminated
	if t.ExitCode == 0 && (b.sidecar || pod.Spec.RestartPolicy != corev1.RestartPolicyAlways) {
		return
	}
	f := finding{
		rank: concrete, key: fmt.Sprintf("terminated %d %s", t.ExitCode, t.Reason), said: t.Message,
		Cause: Cause{Container: b.spec.Name, Reason: cmp.Or(t.Reason, "Error"), Message: exitText(b, t) + restarts(b)},
	}
	if t.ExitCode == 0 {
		f.rank = notable
	}
	if started(t) {
		f.log = logOf(pod, b, false)
	}
	w.add(at, f)
}

// creating explains a pod whose containers have not been created yet.
func (w *walk) creating(ctx context.Context, at ref, pod *corev1.Pod) {
	var troubles []warning
	var texts []string
	for _, warning := range w.warnings(ctx, at) {
		if isMountTrouble(warning.reason) {
			troubles = append(troubles, warning)
			texts = append(texts, warning.message)
		}
	}
	if w.missing(ctx, at, needsOf(pod), texts...) {
		return
	}
	for _, trouble := range troubles {
		w.add(at, w.warned(trouble, concrete, trouble.reason+similar(trouble.message, at.name)))
	}
	if troubles == nil {
		message := fmt.Sprintf("its containers are being created on node %s", pod.Spec.NodeName)
		if pod.Status.StartTime != nil {
			message += w.since(*pod.Status.StartTime)
		}
		w.add(at, finding{rank: vague, key: "creating", Cause: Cause{Reason: "ContainerCreating", Message: message}})
	}
}

// since says for how long, except to Peek.
func (w *walk) since(began metav1.Time) string {
	if w.brief || began.IsZero() {
		return ""
	}
	return " for " + duration.HumanDuration(w.now().Sub(began.Time))
}

// started tells whether a container that ended ever ran: otherwise it has no log.
func started(t *corev1.ContainerStateTerminated) bool {
	return t.Reason != "StartError" && t.Reason != "ContainerCannotRun"
}

func logOf(pod *corev1.Pod, b box, previous bool) *logSource {
	return &logSource{namespace: pod.Namespace, pod: pod.Name, container: b.spec.Name, previous: previous}
}

func restarts(b box) string {
	switch n := b.status.RestartCount; n {
	case 0:
		return ""
	case 1:
		return ", restarted once"
	default:
		return fmt.Sprintf(", restarted %d times", n)
	}
}

// exitText says how a container ended.
func exitText(b box, t *corev1.ContainerStateTerminated) string {
	if !started(t) {
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
		126: "its command cannot be executed", 127: "its command was not found",
		134: "aborted", 137: "killed", 139: "segmentation fault", 143: "asked to end",
	}
	if meaning := meanings[t.ExitCode]; meaning != "" {
		text += " (" + meaning + ")"
	}
	return text
}

// probeText says what a probe asks. Commands are not printed.
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
