// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ordered-helm/helm/internal/diagnosis/clusterreader"
	"github.com/ordered-helm/helm/internal/diagnosis/podreferences"
)

var (
	// isStartProblem reports whether warnings with a reason explain why the containers of a
	// pod cannot be created yet.
	isStartProblem = anyReason("FailedMount", "FailedAttachVolume", "FailedMapVolume", "FailedCreatePodSandBox",
		"FailedCreatePodContainer", "NetworkNotReady")
	// isInPodStatus reports whether warnings with a reason only repeat the status of a pod.
	isInPodStatus = anyReason("BackOff", "Failed", "Unhealthy", "InspectFailed", "ErrImageNeverPull", "FailedScheduling",
		"FailedToRetrieveImagePullSecret", "Evicted", "FailedPostStartHook")
)

func podRef(pod *corev1.Pod) clusterreader.ObjectRef {
	return clusterreader.ObjectRef{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}
}

// podDiagnosis finds out why a pod is not ready. owner is the workload that owns the pod. It
// is empty if the pod is the subject or was found through a Service.
type podDiagnosis struct {
	w     *subjectDiagnosis
	at    clusterreader.ObjectRef
	pod   *corev1.Pod
	owner workload
}

func (p podDiagnosis) add(f finding) { p.w.findings.add(p.at, f) }

// diagnosePodSubject adds findings about a pod that is the subject.
func diagnosePodSubject(ctx context.Context, w *subjectDiagnosis, _ clusterreader.ObjectRef, pod *corev1.Pod) {
	diagnosePod(ctx, w, pod, workload{})
}

// diagnosePod adds findings about a pod if it is not ready. For owner, see podDiagnosis.
func diagnosePod(ctx context.Context, w *subjectDiagnosis, pod *corev1.Pod, owner workload) {
	p := podDiagnosis{w: w, at: podRef(pod), pod: pod, owner: owner}
	ready := podCondition(pod, corev1.PodReady).Status == corev1.ConditionTrue
	switch {
	case pod.DeletionTimestamp != nil:
		w.addTerminating(p.at, pod)
	case pod.Status.Phase == corev1.PodSucceeded, ready && owner.Kind != "" && owner.Kind != "Job":
	default:
		p.diagnose(ctx, ready)
	}
}

// diagnose adds findings about a pod that is not being deleted. ready is true if the pod is
// ready.
func (p podDiagnosis) diagnose(ctx context.Context, ready bool) {
	before := len(p.w.findings.list)
	scheduled := p.pod.Spec.NodeName != ""
	creating := false
	switch {
	case p.pod.Status.Phase == corev1.PodFailed:
		p.diagnoseFailed()
	case !scheduled:
		p.diagnoseUnscheduled(ctx)
	case ready:
		p.addHealthy()
	default:
		creating = p.diagnoseContainers(ctx)
		if len(p.w.findings.list) == before && !creating {
			p.diagnoseReadinessGates()
		}
	}
	found := p.w.findings.list[before:]
	p.addOldRevision(found)
	explained := slices.ContainsFunc(found, isCause)
	p.w.findings.visit(p.at, func(reason string) bool {
		switch {
		case isStartProblem(reason):
			return explained || !creating
		case reason == "FailedScheduling":
			return explained || scheduled
		}
		return explained && isInPodStatus(reason)
	})
}

// diagnoseFailed adds findings about a pod in the phase Failed. The kubelet does not restart
// it.
func (p podDiagnosis) diagnoseFailed() {
	before := len(p.w.findings.list)
	status := p.pod.Status
	if status.Reason != "" {
		p.add(finding{rank: rankCause, key: status.Reason, Cause: Cause{Reason: status.Reason, Message: status.Message}})
	}
	for _, c := range p.containers() {
		if t := c.status.State.Terminated; t != nil && t.ExitCode != 0 {
			c.diagnoseTerminated()
		}
	}
	if len(p.w.findings.list) == before {
		p.add(finding{rank: rankCause, key: "failed", Cause: Cause{Reason: "PodFailed", Message: status.Message}})
	}
	if p.owner.replacesFailedPods {
		for n := range p.w.findings.list[before:] {
			p.w.findings.list[before+n].rank = rankWarning // another pod replaces this one
		}
	}
}

// diagnoseUnscheduled adds findings about a pod that is not scheduled to a node yet. It uses
// the claims of the pod and the message of the scheduler.
func (p podDiagnosis) diagnoseUnscheduled(ctx context.Context) {
	if gates := p.pod.Spec.SchedulingGates; len(gates) > 0 {
		names := make([]string, len(gates))
		for n, gate := range gates {
			names[n] = gate.Name
		}
		message := "waiting for scheduling gates: " + strings.Join(names, ", ")
		p.add(finding{rank: rankCause, key: message, Cause: Cause{Reason: "SchedulingGated", Message: message}})
		return
	}
	condition := podCondition(p.pod, corev1.PodScheduled)
	if condition.Status != corev1.ConditionFalse {
		f := finding{rank: rankUnexplained, key: "no scheduler", Cause: Cause{Reason: "NotScheduled", Message: "waiting for the scheduler"}}
		if name := p.pod.Spec.SchedulerName; name != "" && name != corev1.DefaultSchedulerName {
			f.rank = rankWarning
			f.Message = fmt.Sprintf("waiting for the scheduler %q named in its spec", name)
		}
		p.add(f)
		return
	}
	byClaims := p.diagnoseClaims(ctx, condition.Message)
	if byClaims && strings.Contains(strings.ToLower(condition.Message), "persistentvolumeclaim") {
		return
	}
	message := withoutPreemption(condition.Message)
	if node := daemonSetNode(p.pod); node != "" {
		message = "for node " + node + ": " + message
	}
	p.add(finding{
		rank: rankCause, key: "unscheduled " + normalizeMessage(condition.Message, p.at.Name),
		Cause: Cause{Reason: cmp.Or(condition.Reason, "Unschedulable"), Message: message},
	})
}

// diagnoseClaims adds findings about the claims of a pod that is not scheduled. It reports
// whether a claim is the cause. If a claim cannot be read, message, which comes from the
// scheduler, shows whether the claim is missing.
func (p podDiagnosis) diagnoseClaims(ctx context.Context, message string) bool {
	before := len(p.w.findings.list)
	for _, r := range podreferences.OfPod(p.pod) {
		if r.Kind.Kind != "PersistentVolumeClaim" {
			continue
		}
		obj, err := p.w.references.get(ctx, r)
		if err != nil {
			if apierrors.IsNotFound(err) || r.ReportedMissing(message) {
				p.w.references.addFinding(p.at, r)
			}
			continue
		}
		if claim, err := clusterreader.Convert[corev1.PersistentVolumeClaim](obj); err == nil {
			newClaimDiagnosis(p.w, claim, true).diagnose(ctx)
		}
	}
	return slices.ContainsFunc(p.w.findings.list[before:], isCause)
}

// withoutPreemption removes the part about preemption from a message of the scheduler. That
// part only repeats the reasons.
func withoutPreemption(message string) string {
	reasons, _, found := strings.Cut(message, "preemption: ")
	if !found {
		return message
	}
	return strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(reasons), "no new claims to deallocate,"))
}

// daemonSetNode returns the name of the cluster node for which a DaemonSet created a pod. It
// returns "" if the pod does not belong to a DaemonSet.
func daemonSetNode(pod *corev1.Pod) string {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.NodeAffinity == nil {
		return ""
	}
	required := pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if required == nil || len(required.NodeSelectorTerms) == 0 {
		return ""
	}
	for _, field := range required.NodeSelectorTerms[0].MatchFields {
		if field.Key == "metadata.name" && len(field.Values) == 1 {
			return field.Values[0]
		}
	}
	return ""
}

// diagnoseReadinessGates adds findings about a pod that is not ready although all its
// containers are.
func (p podDiagnosis) diagnoseReadinessGates() {
	before := len(p.w.findings.list)
	for _, gate := range p.pod.Spec.ReadinessGates {
		condition := podCondition(p.pod, gate.ConditionType)
		if condition.Status == corev1.ConditionTrue {
			continue
		}
		message := fmt.Sprintf("its containers are ready, but its readiness gate %q is not", gate.ConditionType)
		if condition.Message != "" {
			message += ": " + condition.Message
		}
		p.add(finding{rank: rankCause, key: message, Cause: Cause{Reason: "ReadinessGate", Message: message}})
	}
	if len(p.w.findings.list) > before {
		return
	}
	condition := podCondition(p.pod, corev1.PodReady)
	message := cmp.Or(condition.Message, fmt.Sprintf("not ready on node %s, although its containers are ready", p.pod.Spec.NodeName))
	p.add(finding{rank: rankUnexplained, key: message, Cause: Cause{Reason: cmp.Or(condition.Reason, "NotReady"), Message: message}})
}

// keyHealthy is the key of findings about containers that run without problems.
// DiagnoseBriefly omits these findings.
const keyHealthy = "runs as it should"

// addHealthy adds a finding for each running container of a ready pod that belongs to a Job
// or is the subject.
func (p podDiagnosis) addHealthy() {
	for _, c := range p.containers() {
		if c.status.State.Running == nil || c.sidecar {
			continue
		}
		c.add(finding{
			rank: rankUnexplained, key: keyHealthy, log: c.log(false),
			Cause: Cause{Reason: "Running", Message: "running" + p.w.durationSince(c.status.State.Running.StartedAt)},
		})
	}
}

// addOldRevision extends the messages of findings about a pod of an earlier revision that its
// StatefulSet does not replace.
func (p podDiagnosis) addOldRevision(findings []finding) {
	if p.owner.updateRevision == "" || p.pod.Labels[appsv1.ControllerRevisionHashLabelKey] == p.owner.updateRevision {
		return
	}
	for n := range findings {
		if findings[n].rank == rankCause && findings[n].Object == p.at.String() {
			findings[n].Message += "; the pod belongs to an earlier revision, and is replaced only when it is ready or deleted"
		}
	}
}

// podCondition returns the condition of a pod that has the type kind, or an empty condition
// if there is none.
func podCondition(pod *corev1.Pod, kind corev1.PodConditionType) corev1.PodCondition {
	isOfKind := func(c corev1.PodCondition) bool { return c.Type == kind }
	if n := slices.IndexFunc(pod.Status.Conditions, isOfKind); n >= 0 {
		return pod.Status.Conditions[n]
	}
	return corev1.PodCondition{}
}
