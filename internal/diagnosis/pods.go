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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/diagnosis/clusterreader"
)

var (
	// isStartProblem reports whether a warning with this reason says why the containers of
	// a pod cannot be created yet.
	isStartProblem = anyReason("FailedMount", "FailedAttachVolume", "FailedMapVolume", "FailedCreatePodSandBox",
		"FailedCreatePodContainer", "NetworkNotReady")
	// isInPodStatus reports whether a warning with this reason only repeats the status of a
	// pod.
	isInPodStatus = anyReason("BackOff", "Failed", "Unhealthy", "InspectFailed", "ErrImageNeverPull", "FailedScheduling",
		"FailedToRetrieveImagePullSecret", "Evicted", "FailedPostStartHook")
)

func podRef(pod *corev1.Pod) ref {
	return ref{kind: "Pod", namespace: pod.Namespace, name: pod.Name, uid: pod.UID}
}

func (w *walk) diagnosePodObject(ctx context.Context, at ref, obj *unstructured.Unstructured) {
	pod, err := clusterreader.Convert[corev1.Pod](obj)
	if err != nil {
		w.diagnoseByConditions(ctx, at, obj)
		return
	}
	w.diagnosePod(ctx, pod, workload{})
}

// diagnosePod adds findings about a pod that is not ready. load is the workload that owns
// the pod, or empty if the pod is the subject or belongs to a Service.
func (w *walk) diagnosePod(ctx context.Context, pod *corev1.Pod, load workload) {
	at := podRef(pod)
	ready := podCondition(pod, corev1.PodReady).Status == corev1.ConditionTrue
	switch {
	case pod.DeletionTimestamp != nil:
		w.diagnoseTerminating(at, pod)
		return
	case pod.Status.Phase == corev1.PodSucceeded, ready && load.kind != "" && load.kind != "Job":
		return
	}
	before := len(w.findings)
	scheduled := pod.Spec.NodeName != ""
	creating := false
	switch {
	case pod.Status.Phase == corev1.PodFailed:
		w.diagnoseFailedPod(at, pod, load)
	case !scheduled:
		w.diagnoseUnscheduled(ctx, at, pod)
	case ready:
		w.addHealthy(at, pod)
	default:
		creating = w.diagnoseContainers(ctx, at, pod)
		if len(w.findings) == before && !creating {
			w.diagnoseReadinessGates(at, pod)
		}
	}
	if len(w.findings) > before {
		w.addOldRevision(pod, load, w.findings[before:])
	}
	explained := slices.ContainsFunc(w.findings[before:], func(f finding) bool { return f.rank == rankCause })
	w.visit(at, func(reason string) bool {
		switch {
		case isStartProblem(reason):
			return explained || !creating
		case reason == "FailedScheduling":
			return explained || scheduled
		}
		return explained && isInPodStatus(reason)
	})
}

// diagnoseFailedPod adds findings about a pod in the phase Failed, which the kubelet does
// not restart.
func (w *walk) diagnoseFailedPod(at ref, pod *corev1.Pod, load workload) {
	before := len(w.findings)
	if pod.Status.Reason != "" {
		w.add(at, finding{
			rank: rankCause, key: pod.Status.Reason,
			Cause: Cause{Reason: pod.Status.Reason, Message: pod.Status.Message},
		})
	}
	for _, c := range containerStates(pod) {
		if t := c.status.State.Terminated; t != nil && t.ExitCode != 0 {
			w.diagnoseTerminated(at, pod, c)
		}
	}
	if len(w.findings) == before {
		w.add(at, finding{rank: rankCause, key: "failed", Cause: Cause{Reason: "PodFailed", Message: pod.Status.Message}})
	}
	if load.replacesFailedPods {
		for n := range w.findings[before:] {
			w.findings[before+n].rank = rankWarning // another pod replaces it
		}
	}
}

// diagnoseUnscheduled adds findings about a pod that has no node yet, from its claims and
// the message of the scheduler.
func (w *walk) diagnoseUnscheduled(ctx context.Context, at ref, pod *corev1.Pod) {
	condition := podCondition(pod, corev1.PodScheduled)
	if gates := pod.Spec.SchedulingGates; len(gates) > 0 {
		names := make([]string, len(gates))
		for n, gate := range gates {
			names[n] = gate.Name
		}
		message := "waiting for scheduling gates: " + strings.Join(names, ", ")
		w.add(at, finding{rank: rankCause, key: message, Cause: Cause{Reason: "SchedulingGated", Message: message}})
		return
	}
	if condition.Status != corev1.ConditionFalse {
		f := finding{rank: rankUnexplained, key: "no scheduler", Cause: Cause{Reason: "NotScheduled", Message: "waiting for the scheduler"}}
		if name := pod.Spec.SchedulerName; name != "" && name != corev1.DefaultSchedulerName {
			f.rank = rankWarning
			f.Message = fmt.Sprintf("waiting for the scheduler %q named in its spec", name)
		}
		w.add(at, f)
		return
	}
	byClaims := w.diagnosePodClaims(ctx, at, pod, condition.Message)
	if byClaims && strings.Contains(strings.ToLower(condition.Message), "persistentvolumeclaim") {
		return
	}
	message := withoutPreemption(condition.Message)
	if node := daemonSetNode(pod); node != "" {
		message = "for node " + node + ": " + message
	}
	w.add(at, finding{
		rank: rankCause, key: "unscheduled " + normalizeMessage(condition.Message, at.name),
		Cause: Cause{Reason: cmp.Or(condition.Reason, "Unschedulable"), Message: message},
	})
}

// withoutPreemption removes from a message of the scheduler the part about preemption,
// which only repeats the reasons.
func withoutPreemption(message string) string {
	reasons, _, found := strings.Cut(message, "preemption: ")
	if !found {
		return message
	}
	return strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(reasons), "no new claims to deallocate,"))
}

// daemonSetNode returns the name of the node for which a DaemonSet created a pod, or "" for
// other pods.
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
func (w *walk) diagnoseReadinessGates(at ref, pod *corev1.Pod) {
	before := len(w.findings)
	for _, gate := range pod.Spec.ReadinessGates {
		condition := podCondition(pod, gate.ConditionType)
		if condition.Status == corev1.ConditionTrue {
			continue
		}
		message := fmt.Sprintf("its containers are ready, but its readiness gate %q is not", gate.ConditionType)
		if condition.Message != "" {
			message += ": " + condition.Message
		}
		w.add(at, finding{rank: rankCause, key: message, Cause: Cause{Reason: "ReadinessGate", Message: message}})
	}
	if len(w.findings) > before {
		return
	}
	condition := podCondition(pod, corev1.PodReady)
	message := condition.Message
	if message == "" {
		message = fmt.Sprintf("not ready on node %s, although its containers are ready", pod.Spec.NodeName)
	}
	w.add(at, finding{rank: rankUnexplained, key: message, Cause: Cause{Reason: cmp.Or(condition.Reason, "NotReady"), Message: message}})
}

// keyHealthy is the key of findings about pods that run without problems. DiagnoseBriefly
// omits them.
const keyHealthy = "runs as it should"

// addHealthy adds a finding for each container of a pod that runs without problems. The pod
// belongs to a Job, or is the subject.
func (w *walk) addHealthy(at ref, pod *corev1.Pod) {
	for _, c := range containerStates(pod) {
		if c.status.State.Running == nil || c.sidecar {
			continue
		}
		w.add(at, finding{
			rank: rankUnexplained, key: keyHealthy, log: containerLog(pod, c, false),
			Cause: Cause{Container: c.spec.Name, Reason: "Running", Message: "running" + w.durationSince(c.status.State.Running.StartedAt)},
		})
	}
}

// addOldRevision extends the messages of findings about a broken pod of an earlier
// revision, if its StatefulSet does not replace it.
func (w *walk) addOldRevision(pod *corev1.Pod, load workload, findings []finding) {
	if load.updateRevision == "" || pod.Labels[appsv1.ControllerRevisionHashLabelKey] == load.updateRevision {
		return
	}
	for n := range findings {
		if findings[n].rank == rankCause && findings[n].Object == podRef(pod).String() {
			findings[n].Message += "; the pod belongs to an earlier revision, and is replaced only when it is ready or deleted"
		}
	}
}

// podCondition returns the condition of a type, or an empty one if the pod does not have
// it.
func podCondition(pod *corev1.Pod, kind corev1.PodConditionType) corev1.PodCondition {
	for _, c := range pod.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return corev1.PodCondition{}
}
