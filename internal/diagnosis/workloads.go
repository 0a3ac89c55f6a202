// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/diagnosis/clusterreader"
	"github.com/ordered-helm/helm/internal/diagnosis/podreferences"
)

const (
	revisionAnnotation = "deployment.kubernetes.io/revision"
	// reasonFailedCreate is the reason of warning events about pods that cannot be created.
	reasonFailedCreate = "FailedCreate"
)

// workload describes an object that creates pods, such as a ReplicaSet, independently of its
// kind.
type workload struct {
	clusterreader.ObjectRef
	selector *metav1.LabelSelector
	template *corev1.PodTemplateSpec
	// desired is the number of pods that should exist.
	desired int32
	// createError is the error of the last attempt to create a pod, from the conditions of
	// the object. It is empty if it is unknown.
	createError string
	// replacesFailedPods is true if the controller keeps failed pods and creates others in
	// their place.
	replacesFailedPods bool
	// updateRevision is the revision that the pods of a StatefulSet should have. It is set
	// only if the StatefulSet does not replace broken pods of an earlier revision.
	updateRevision string
}

// diagnoseDeployment adds findings about a Deployment and the pods of its newest
// ReplicaSet.
func diagnoseDeployment(ctx context.Context, w *subjectDiagnosis, at clusterreader.ObjectRef, deployment *appsv1.Deployment) {
	if deployment.Generation > deployment.Status.ObservedGeneration {
		w.findings.visit(at, nil)
		return // the ReplicaSets still belong to the previous spec
	}
	sets := replicaSets(ctx, w, at, deployment.Spec.Selector)
	if len(sets) > 0 {
		newest := &sets[0]
		diagnoseReplicaSet(ctx, w, replicaSetRef(newest), newest)
		if newest.Status.Replicas == 0 && len(sets) > 1 {
			diagnoseOldPods(ctx, w, deployment, sets[1:])
		}
	}
	for _, c := range deployment.Status.Conditions {
		switch {
		case c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue && len(sets) == 0:
			w.findings.add(at, finding{rank: rankCause, Cause: Cause{Reason: c.Reason, Message: c.Message}})
		case c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse:
			f := finding{rank: rankSymptom, Cause: Cause{Reason: c.Reason, Message: c.Message}}
			if c.Reason != "ProgressDeadlineExceeded" {
				f.rank = rankCause // the ReplicaSet could not be created
			}
			w.findings.add(at, f)
		}
	}
	if seconds := deployment.Spec.MinReadySeconds; seconds > 0 && len(w.findings.list) == 0 && w.cluster.Forbidden() == "" {
		w.findings.add(at, finding{rank: rankUnexplained, Cause: Cause{Reason: "MinReadySeconds", Message: fmt.Sprintf(
			"its pods are available only after they have been ready for %d seconds", seconds)}})
	}
	w.findings.visit(at, anyReason("ReplicaSetCreateError"))
}

// replicaSets returns the ReplicaSets of a Deployment, the newest revision first.
func replicaSets(ctx context.Context, w *subjectDiagnosis, deployment clusterreader.ObjectRef, selector *metav1.LabelSelector) []appsv1.ReplicaSet {
	sets, err := clusterreader.ListOwned[appsv1.ReplicaSet](ctx, w.cluster, appsv1.SchemeGroupVersion.WithResource("replicasets"), deployment, selector)
	if err != nil {
		return nil
	}
	revision := func(set appsv1.ReplicaSet) int {
		number, _ := strconv.Atoi(set.Annotations[revisionAnnotation]) // 0 if there is none
		return number
	}
	slices.SortFunc(sets, func(a, b appsv1.ReplicaSet) int {
		return cmp.Or(cmp.Compare(revision(b), revision(a)),
			b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return sets
}

// diagnoseOldPods adds findings about pods of older ReplicaSets that are being deleted. With
// the strategy Recreate, the newest ReplicaSet creates no pods before they are deleted.
func diagnoseOldPods(ctx context.Context, w *subjectDiagnosis, deployment *appsv1.Deployment, old []appsv1.ReplicaSet) {
	pods, err := w.cluster.Pods(ctx, clusterreader.ObjectRef{Namespace: deployment.Namespace}, deployment.Spec.Selector)
	if err != nil {
		return
	}
	for n := range pods {
		pod := &pods[n]
		ofOld := slices.ContainsFunc(old, func(set appsv1.ReplicaSet) bool { return replicaSetRef(&set).Owns(pod) })
		if ofOld && pod.DeletionTimestamp != nil {
			w.addTerminating(podRef(pod), pod)
		}
	}
}

func replicaSetRef(set *appsv1.ReplicaSet) clusterreader.ObjectRef {
	return clusterreader.ObjectRef{Kind: "ReplicaSet", Namespace: set.Namespace, Name: set.Name, UID: set.UID}
}

func diagnoseReplicaSet(ctx context.Context, w *subjectDiagnosis, at clusterreader.ObjectRef, set *appsv1.ReplicaSet) {
	load := workload{
		ObjectRef: at, selector: set.Spec.Selector, template: &set.Spec.Template,
		desired: valueOr(set.Spec.Replicas, 1), replacesFailedPods: true,
	}
	for _, c := range set.Status.Conditions {
		if c.Type == appsv1.ReplicaSetReplicaFailure && c.Status == corev1.ConditionTrue {
			load.createError = c.Message
		}
	}
	diagnoseWorkload(ctx, w, load)
}

func diagnoseReplicationController(ctx context.Context, w *subjectDiagnosis, at clusterreader.ObjectRef, controller *corev1.ReplicationController) {
	load := workload{
		ObjectRef: at, selector: &metav1.LabelSelector{MatchLabels: controller.Spec.Selector}, template: controller.Spec.Template,
		desired: valueOr(controller.Spec.Replicas, 1), replacesFailedPods: true,
	}
	for _, c := range controller.Status.Conditions {
		if c.Type == corev1.ReplicationControllerReplicaFailure && c.Status == corev1.ConditionTrue {
			load.createError = c.Message
		}
	}
	diagnoseWorkload(ctx, w, load)
}

func diagnoseStatefulSet(ctx context.Context, w *subjectDiagnosis, at clusterreader.ObjectRef, set *appsv1.StatefulSet) {
	load := workload{ObjectRef: at, selector: set.Spec.Selector, template: &set.Spec.Template, desired: valueOr(set.Spec.Replicas, 1)}
	if rolling := set.Spec.UpdateStrategy.RollingUpdate; set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement &&
		set.Spec.UpdateStrategy.Type != appsv1.OnDeleteStatefulSetStrategyType &&
		(rolling == nil || valueOr(rolling.Partition, 0) == 0) {
		load.updateRevision = set.Status.UpdateRevision
	}
	diagnoseWorkload(ctx, w, load)
}

func diagnoseDaemonSet(ctx context.Context, w *subjectDiagnosis, at clusterreader.ObjectRef, set *appsv1.DaemonSet) {
	diagnoseWorkload(ctx, w, workload{
		ObjectRef: at, selector: set.Spec.Selector, template: &set.Spec.Template, desired: set.Status.DesiredNumberScheduled,
	})
}

// diagnoseWorkload adds findings about the pods of a workload. If pods are missing, it also
// adds a finding that explains why they cannot be created.
func diagnoseWorkload(ctx context.Context, w *subjectDiagnosis, load workload) {
	pods, err := w.cluster.Pods(ctx, load.ObjectRef, load.selector)
	living := int32(0)
	for n := range pods {
		if pods[n].DeletionTimestamp == nil {
			living++
		}
	}
	if err == nil && living < load.desired || load.createError != "" {
		diagnoseFailedCreate(ctx, w, load)
	}
	for n := range pods {
		diagnosePod(ctx, w, &pods[n], load)
	}
	w.findings.visit(load.ObjectRef, func(reason string) bool {
		return reason == "BackoffLimitExceeded" || reason == reasonFailedCreate && (load.createError != "" || w.findings.explainFailedCreate())
	})
}

// explainFailedCreate reports whether a finding explains why pods cannot be created.
func (f *findings) explainFailedCreate() bool {
	return slices.ContainsFunc(f.list, func(f finding) bool {
		return f.rank == rankCause && (f.Reason == reasonFailedCreate || f.Reason == reasonMissing)
	})
}

// diagnoseFailedCreate adds a finding that explains why pods of a workload cannot be created,
// for example because of a quota, an admission webhook, or a missing object.
func diagnoseFailedCreate(ctx context.Context, w *subjectDiagnosis, load workload) {
	f := finding{rank: rankCause, Cause: Cause{Reason: reasonFailedCreate, Message: load.createError}}
	if load.createError == "" {
		warnings := w.cluster.Warnings(ctx, load.ObjectRef)
		at := slices.IndexFunc(warnings, func(warning clusterreader.Warning) bool { return warning.Reason == reasonFailedCreate })
		if at < 0 {
			return
		}
		f = w.warningFinding(warnings[at], rankCause, "")
	}
	if !addObjectsMissingForAdmission(ctx, w, load, f.Message) {
		w.findings.add(load.ObjectRef, f)
	}
}

// addObjectsMissingForAdmission adds a finding for each missing object without which the server
// rejects the pods of a workload, such as their ServiceAccount. It checks only objects that
// occur in message, the error of the server. It reports whether any is missing.
func addObjectsMissingForAdmission(ctx context.Context, w *subjectDiagnosis, load workload, message string) bool {
	if load.template == nil {
		return false
	}
	spec := load.template.Spec
	needs := []podreferences.Reference{
		podreferences.New(schema.GroupKind{Kind: "ServiceAccount"}, load.Namespace, spec.ServiceAccountName, "serviceAccountName"),
		podreferences.New(schema.GroupKind{Group: schedulingv1.GroupName, Kind: "PriorityClass"}, "", spec.PriorityClassName, "priorityClassName"),
		podreferences.New(schema.GroupKind{Group: nodev1.GroupName, Kind: "RuntimeClass"}, "", valueOr(spec.RuntimeClassName, ""), "runtimeClassName"),
	}
	words := strings.ReplaceAll(strings.ToLower(message), " ", "")
	needs = slices.DeleteFunc(needs, func(r podreferences.Reference) bool {
		return r.Name == "" || !strings.Contains(words, strings.ToLower(r.Kind.Kind)) || !strings.Contains(message, r.Name)
	})
	return w.references.addMissing(ctx, load.ObjectRef, needs, message)
}
