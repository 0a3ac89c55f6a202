// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/ordered-helm/helm/internal/diagnosis/clusterreader"
	"github.com/ordered-helm/helm/internal/diagnosis/podreferences"
)

// containerDiagnosis finds out why a container of a pod is not ready. status is empty if the
// pod has no status of the container yet. init is true for init containers, including
// sidecars.
type containerDiagnosis struct {
	podDiagnosis
	spec          corev1.Container
	status        corev1.ContainerStatus
	init, sidecar bool
}

// containers returns the containers of a pod, init containers first.
func (p podDiagnosis) containers() []containerDiagnosis {
	var all []containerDiagnosis
	collect := func(specs []corev1.Container, statuses []corev1.ContainerStatus, init bool) {
		for _, spec := range specs {
			c := containerDiagnosis{podDiagnosis: p, spec: spec, init: init}
			c.sidecar = init && valueOr(spec.RestartPolicy, "") == corev1.ContainerRestartPolicyAlways
			for _, status := range statuses {
				if status.Name == spec.Name {
					c.status = status
				}
			}
			all = append(all, c)
		}
	}
	collect(p.pod.Spec.InitContainers, p.pod.Status.InitContainerStatuses, true)
	collect(p.pod.Spec.Containers, p.pod.Status.ContainerStatuses, false)
	return all
}

// diagnoseContainers adds findings about the containers of a pod that are not ready. creating
// is true if one of these containers has not been created yet.
func (p podDiagnosis) diagnoseContainers(ctx context.Context) (creating bool) {
	before := len(p.w.findings.list)
	for _, c := range p.containers() {
		if c.status.Ready || c.init && !c.sidecar && c.allowsNext() {
			continue
		}
		creating = !c.diagnose(ctx) || creating
		if c.init && !c.allowsNext() {
			break // the later containers wait for this one
		}
	}
	if creating && len(p.w.findings.list) == before {
		p.diagnoseCreating(ctx)
	}
	return creating
}

// add adds a finding about the container.
func (c containerDiagnosis) add(f finding) {
	f.Container = c.spec.Name
	c.podDiagnosis.add(f)
}

// allowsNext reports whether an init container allows the next container to start: a sidecar
// does when it has started, other init containers when they have succeeded.
func (c containerDiagnosis) allowsNext() bool {
	if c.sidecar {
		return valueOr(c.status.Started, false)
	}
	t := c.status.State.Terminated
	return t != nil && t.ExitCode == 0
}

// diagnose adds a finding about a container that is not ready. It returns false, without a
// finding, if the container has not been created yet.
func (c containerDiagnosis) diagnose(ctx context.Context) bool {
	state := c.status.State
	switch {
	case state.Running != nil:
		c.diagnoseRunning(ctx)
	case state.Terminated != nil:
		c.diagnoseTerminated()
	case state.Waiting == nil, state.Waiting.Reason == "", state.Waiting.Reason == "ContainerCreating",
		state.Waiting.Reason == "PodInitializing":
		return false
	case state.Waiting.Reason == "CrashLoopBackOff":
		c.diagnoseCrashLoop(ctx)
	case state.Waiting.Reason == "ImagePullBackOff", state.Waiting.Reason == "ErrImagePull":
		c.diagnoseImagePull(ctx)
	default:
		c.diagnoseWaiting(ctx)
	}
	return true
}

func (c containerDiagnosis) diagnoseWaiting(ctx context.Context) {
	waiting := c.status.State.Waiting
	if waiting.Reason == "CreateContainerConfigError" && c.w.references.addMissing(ctx, c.at, podreferences.OfPod(c.pod), waiting.Message) {
		return
	}
	message := cmp.Or(waiting.Message, "waiting to be started")
	c.add(finding{
		rank: rankCause, key: waiting.Reason + normalizeMessage(message, c.at.Name),
		Cause: Cause{Reason: waiting.Reason, Message: message},
	})
}

func (c containerDiagnosis) diagnoseCrashLoop(ctx context.Context) {
	last := c.status.LastTerminationState.Terminated
	if last == nil {
		c.add(finding{
			rank: rankCause, key: "crash", log: c.log(true),
			Cause: Cause{Reason: "CrashLoopBackOff", Message: c.status.State.Waiting.Message},
		})
		return
	}
	f := c.crashFinding(last, "CrashLoopBackOff")
	c.addFailedProbe(ctx, last, &f)
	c.add(f)
}

// crashFinding returns a finding about a container that exited and was restarted. last is the
// state of the last exit. The Reason of the finding is reason, unless a better one is known.
func (c containerDiagnosis) crashFinding(last *corev1.ContainerStateTerminated, reason string) finding {
	f := finding{
		rank: rankCause, key: fmt.Sprintf("crash %d %s", last.ExitCode, last.Reason), terminationMessage: last.Message,
		Cause: Cause{Reason: reason, Message: c.exitText(last) + c.restartText()},
	}
	if last.Reason == "OOMKilled" {
		f.Reason = last.Reason
	}
	if last.ExitCode == 0 && c.pod.Spec.RestartPolicy != corev1.RestartPolicyOnFailure {
		f.Message += "; the command exited, but this container is expected to keep running"
	}
	if hasStarted(last) {
		f.log = c.log(true)
	}
	return f
}

// addFailedProbe finds out whether the kubelet stopped the container because of a failed
// probe. If so, it adds the failure to the message of f.
func (c containerDiagnosis) addFailedProbe(ctx context.Context, last *corev1.ContainerStateTerminated, f *finding) {
	if c.w.brief || last.ExitCode == 0 {
		return
	}
	for _, warning := range c.w.cluster.Warnings(ctx, c.at) {
		probe := warning.Probe()
		if warning.Reason == "Unhealthy" && warning.ConcernsContainer(c.spec.Name) && (probe == "Liveness" || probe == "Startup") {
			f.Message += "; stopped because a probe failed: " + warning.Message
			return
		}
	}
}

func (c containerDiagnosis) diagnoseImagePull(ctx context.Context) {
	waiting := c.status.State.Waiting
	_, detail, found := strings.Cut(waiting.Message, "ErrImagePull: ")
	if !found && waiting.Reason == "ErrImagePull" {
		detail = waiting.Message
	}
	if detail == "" && !c.w.brief {
		for _, warning := range c.w.cluster.Warnings(ctx, c.at) {
			if warning.Reason == "Failed" && warning.ConcernsContainer(c.spec.Name) &&
				strings.HasPrefix(warning.Message, "Failed to pull image") {
				_, detail, _ = strings.Cut(warning.Message, ": ")
				break
			}
		}
	}
	message := fmt.Sprintf("cannot pull image %q", c.spec.Image)
	if detail != "" {
		message += ": " + detail
	}
	c.w.references.addMissing(ctx, c.at, podreferences.ImagePullSecrets(c.pod))
	c.add(finding{
		rank: rankCause, key: "image " + c.spec.Image,
		Cause: Cause{Reason: waiting.Reason, Message: message},
	})
}

func (c containerDiagnosis) diagnoseRunning(ctx context.Context) {
	began := c.status.State.Running.StartedAt
	for _, warning := range c.w.cluster.Warnings(ctx, c.at) {
		if warning.Reason != "Unhealthy" || !warning.ConcernsContainer(c.spec.Name) || warning.Last.Before(began.Time) {
			continue
		}
		f := c.w.warningFinding(warning, rankCause, "unhealthy "+normalizeMessage(warning.Message, c.at.Name))
		f.suffix, f.log = c.restartText(), c.log(false)
		c.add(f)
		return
	}
	if last := c.status.LastTerminationState.Terminated; last != nil && !c.init {
		f := c.crashFinding(last, "Restarted")
		f.Message += "; running again, but not ready"
		c.addFailedProbe(ctx, last, &f)
		c.add(f)
		return
	}
	f := finding{
		rank: rankUnexplained, key: "running", log: c.log(false),
		Cause: Cause{Reason: "NotReady", Message: "running" + c.w.durationSince(began) + ", but not ready"},
	}
	switch {
	case c.init && !c.sidecar:
		f.Reason, f.Message = "Initializing", "init container, running"+c.w.durationSince(began)
	case !valueOr(c.status.Started, true) && c.spec.StartupProbe != nil:
		f.Message = "running" + c.w.durationSince(began) + ", but has not passed its startup probe" + probeText(c.spec.StartupProbe)
	case c.spec.ReadinessProbe != nil:
		f.Message += "; readiness probe" + probeText(c.spec.ReadinessProbe)
	}
	c.add(f)
}

func (c containerDiagnosis) diagnoseTerminated() {
	t := c.status.State.Terminated
	if t.ExitCode == 0 && (c.sidecar || c.pod.Spec.RestartPolicy != corev1.RestartPolicyAlways) {
		return
	}
	f := finding{
		rank: rankCause, key: fmt.Sprintf("terminated %d %s", t.ExitCode, t.Reason), terminationMessage: t.Message,
		Cause: Cause{Reason: cmp.Or(t.Reason, "Error"), Message: c.exitText(t) + c.restartText()},
	}
	if t.ExitCode == 0 {
		f.rank = rankWarning
	}
	if hasStarted(t) {
		f.log = c.log(false)
	}
	c.add(f)
}

// diagnoseCreating adds findings about a pod whose containers have not been created yet: the
// referenced objects that are missing, or else the warnings about volumes or networks.
func (p podDiagnosis) diagnoseCreating(ctx context.Context) {
	var startProblems []clusterreader.Warning
	var texts []string
	for _, warning := range p.w.cluster.Warnings(ctx, p.at) {
		if isStartProblem(warning.Reason) {
			startProblems = append(startProblems, warning)
			texts = append(texts, warning.Message)
		}
	}
	if p.w.references.addMissing(ctx, p.at, podreferences.OfPod(p.pod), texts...) {
		return
	}
	for _, problem := range startProblems {
		p.add(p.w.warningFinding(problem, rankCause, problem.Reason+normalizeMessage(problem.Message, p.at.Name)))
	}
	if startProblems == nil {
		message := fmt.Sprintf("creating its containers on node %s", p.pod.Spec.NodeName)
		if p.pod.Status.StartTime != nil {
			message += p.w.durationSince(*p.pod.Status.StartTime)
		}
		p.add(finding{rank: rankUnexplained, key: "creating", Cause: Cause{Reason: "ContainerCreating", Message: message}})
	}
}

// hasStarted reports whether a terminated container had been started. If not, it has no log.
func hasStarted(t *corev1.ContainerStateTerminated) bool {
	return t.Reason != "StartError" && t.Reason != "ContainerCannotRun"
}

// log returns the logSource of a container. If previous is true, it is the log of the
// instance before the last restart.
func (c containerDiagnosis) log(previous bool) *logSource {
	return &logSource{namespace: c.pod.Namespace, pod: c.pod.Name, container: c.spec.Name, previous: previous}
}

func (c containerDiagnosis) restartText() string {
	switch n := c.status.RestartCount; n {
	case 0:
		return ""
	case 1:
		return ", restarted once"
	default:
		return fmt.Sprintf(", restarted %d times", n)
	}
}

// exitText describes how a container terminated, as a part of a message.
func (c containerDiagnosis) exitText(t *corev1.ContainerStateTerminated) string {
	if !hasStarted(t) {
		return "cannot be started"
	}
	text := fmt.Sprintf("exited with code %d", t.ExitCode)
	if t.Reason == "OOMKilled" {
		if limit := c.spec.Resources.Limits.Memory(); !limit.IsZero() {
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

// probeText describes what a probe checks, as a part of a message. It omits the command of
// an exec probe.
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
