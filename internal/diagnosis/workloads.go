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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/diagnosis/clusterreader"
	"github.com/ordered-helm/helm/internal/field"
)

const revisionAnnotation = "deployment.kubernetes.io/revision"

// workload contains what all kinds of objects that create pods, such as ReplicaSets, have in
// common.
type workload struct {
	ref
	selector *metav1.LabelSelector
	template *corev1.PodTemplateSpec
	// desired is the number of pods that should exist.
	desired int32
	// createError is the error of the last attempt to create a pod, from the conditions of
	// the object; empty if unknown.
	createError string
	// replacesFailedPods is true if the controller keeps failed pods and creates others in
	// their place.
	replacesFailedPods bool
	// updateRevision is set only for a StatefulSet that does not replace broken pods of an
	// earlier revision. It is the revision that the pods should have.
	updateRevision string
}

// diagnoseDeployment adds findings about a Deployment and the pods of its newest
// ReplicaSet.
func (w *walk) diagnoseDeployment(ctx context.Context, at ref, obj *unstructured.Unstructured) {
	deployment, err := clusterreader.Convert[appsv1.Deployment](obj)
	if err != nil {
		w.diagnoseByConditions(ctx, at, obj)
		return
	}
	if obj.GetGeneration() > deployment.Status.ObservedGeneration {
		w.visit(at, nil)
		return // its ReplicaSets belong to the previous version
	}
	sets := w.replicaSets(ctx, at, deployment.Spec.Selector)
	if len(sets) > 0 {
		newest := &sets[0]
		w.diagnoseTypedReplicaSet(ctx, newest)
		if newest.Status.Replicas == 0 && len(sets) > 1 {
			w.diagnoseOldPods(ctx, deployment, sets[1:])
		}
	}
	for _, c := range field.Conditions(obj.Object) {
		switch {
		case c.Type == "ReplicaFailure" && c.Status == "True" && len(sets) == 0:
			w.add(at, finding{rank: rankCause, Cause: Cause{Reason: c.Reason, Message: c.Message}})
		case c.Type == "Progressing" && c.Status == "False":
			f := finding{rank: rankSymptom, Cause: Cause{Reason: c.Reason, Message: c.Message}}
			if c.Reason != "ProgressDeadlineExceeded" {
				f.rank = rankCause // it could not even create its ReplicaSet
			}
			w.add(at, f)
		}
	}
	if seconds := deployment.Spec.MinReadySeconds; seconds > 0 && len(w.findings) == 0 && w.forbidden == "" {
		w.add(at, finding{rank: rankUnexplained, Cause: Cause{Reason: "MinReadySeconds", Message: fmt.Sprintf(
			"its pods are available only after they have been ready for %d seconds", seconds)}})
	}
	w.visit(at, anyReason("ReplicaSetCreateError"))
}

// replicaSets returns the ReplicaSets that match the selector of a Deployment and belong to
// it, the newest revision first.
func (w *walk) replicaSets(ctx context.Context, of ref, selector *metav1.LabelSelector) []appsv1.ReplicaSet {
	labels, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil || labels.Empty() {
		return nil
	}
	all, err := list[appsv1.ReplicaSet](ctx, w, replicaSetsResource, of.namespace, metav1.ListOptions{LabelSelector: labels.String()})
	if err != nil {
		return nil
	}
	sets := slices.DeleteFunc(slices.Clone(all), func(set appsv1.ReplicaSet) bool { return !of.owns(&set) })
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

// diagnoseOldPods adds findings about pods of older ReplicaSets that are being deleted.
// With the strategy Recreate, the newest ReplicaSet creates no pods before these are gone.
func (w *walk) diagnoseOldPods(ctx context.Context, deployment *appsv1.Deployment, old []appsv1.ReplicaSet) {
	pods, err := w.pods(ctx, deployment.Namespace, deployment.Spec.Selector, ref{})
	if err != nil {
		return
	}
	for n := range pods {
		pod := &pods[n]
		ofOld := slices.ContainsFunc(old, func(set appsv1.ReplicaSet) bool { return ref{uid: set.UID}.owns(pod) })
		if ofOld && pod.DeletionTimestamp != nil {
			w.diagnoseTerminating(podRef(pod), pod)
		}
	}
}

func (w *walk) diagnoseTypedReplicaSet(ctx context.Context, set *appsv1.ReplicaSet) {
	load := workload{
		ref:      ref{kind: "ReplicaSet", namespace: set.Namespace, name: set.Name, uid: set.UID},
		selector: set.Spec.Selector, template: &set.Spec.Template,
		desired: oneIfNil(set.Spec.Replicas), replacesFailedPods: true,
	}
	for _, c := range set.Status.Conditions {
		if c.Type == appsv1.ReplicaSetReplicaFailure && c.Status == corev1.ConditionTrue {
			load.createError = c.Message
		}
	}
	w.diagnoseWorkload(ctx, load)
}

func (w *walk) diagnoseReplicaSet(ctx context.Context, at ref, obj *unstructured.Unstructured) {
	set, err := clusterreader.Convert[appsv1.ReplicaSet](obj)
	if err != nil {
		w.diagnoseByConditions(ctx, at, obj)
		return
	}
	w.diagnoseTypedReplicaSet(ctx, set)
}

func (w *walk) diagnoseReplicationController(ctx context.Context, at ref, obj *unstructured.Unstructured) {
	controller, err := clusterreader.Convert[corev1.ReplicationController](obj)
	if err != nil {
		w.diagnoseByConditions(ctx, at, obj)
		return
	}
	load := workload{
		ref: at, selector: &metav1.LabelSelector{MatchLabels: controller.Spec.Selector}, template: controller.Spec.Template,
		desired: oneIfNil(controller.Spec.Replicas), replacesFailedPods: true,
	}
	for _, c := range controller.Status.Conditions {
		if c.Type == corev1.ReplicationControllerReplicaFailure && c.Status == corev1.ConditionTrue {
			load.createError = c.Message
		}
	}
	w.diagnoseWorkload(ctx, load)
}

func (w *walk) diagnoseStatefulSet(ctx context.Context, at ref, obj *unstructured.Unstructured) {
	set, err := clusterreader.Convert[appsv1.StatefulSet](obj)
	if err != nil {
		w.diagnoseByConditions(ctx, at, obj)
		return
	}
	load := workload{ref: at, selector: set.Spec.Selector, template: &set.Spec.Template, desired: oneIfNil(set.Spec.Replicas)}
	if rolling := set.Spec.UpdateStrategy.RollingUpdate; set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement &&
		set.Spec.UpdateStrategy.Type != appsv1.OnDeleteStatefulSetStrategyType &&
		(rolling == nil || rolling.Partition == nil || *rolling.Partition == 0) {
		load.updateRevision = set.Status.UpdateRevision
	}
	w.diagnoseWorkload(ctx, load)
}

func (w *walk) diagnoseDaemonSet(ctx context.Context, at ref, obj *unstructured.Unstructured) {
	set, err := clusterreader.Convert[appsv1.DaemonSet](obj)
	if err != nil {
		w.diagnoseByConditions(ctx, at, obj)
		return
	}
	w.diagnoseWorkload(ctx, workload{
		ref: at, selector: set.Spec.Selector, template: &set.Spec.Template, desired: set.Status.DesiredNumberScheduled,
	})
}

// diagnoseWorkload adds findings about the pods of a workload, and, if pods are missing,
// why they cannot be created.
func (w *walk) diagnoseWorkload(ctx context.Context, load workload) {
	pods, err := w.pods(ctx, load.namespace, load.selector, load.ref)
	living := int32(0)
	for n := range pods {
		if pods[n].DeletionTimestamp == nil {
			living++
		}
	}
	if err == nil && living < load.desired || load.createError != "" {
		w.diagnoseFailedCreate(ctx, load)
	}
	for n := range pods {
		w.diagnosePod(ctx, &pods[n], load)
	}
	w.visit(load.ref, func(reason string) bool {
		return reason == "BackoffLimitExceeded" || reason == "FailedCreate" && (load.createError != "" || w.hasCause("FailedCreate"))
	})
}

// hasCause reports whether there is a finding with rankCause that has the given reason or
// is about a missing object.
func (w *walk) hasCause(reason string) bool {
	return slices.ContainsFunc(w.findings, func(f finding) bool {
		return f.rank == rankCause && (f.Reason == reason || f.Reason == reasonMissing)
	})
}

// diagnoseFailedCreate adds a finding why pods of a workload cannot be created, for example
// because of a quota, an admission webhook, or a missing object.
func (w *walk) diagnoseFailedCreate(ctx context.Context, load workload) {
	f := finding{rank: rankCause, Cause: Cause{Reason: "FailedCreate", Message: load.createError}}
	if load.createError == "" {
		warnings := w.warnings(ctx, load.ref)
		at := slices.IndexFunc(warnings, func(warning warning) bool { return warning.reason == "FailedCreate" })
		if at < 0 {
			return
		}
		f = w.warningFinding(warnings[at], rankCause, "")
	}
	if !w.addMissingForAdmission(ctx, load, f.Message) {
		w.add(load.ref, f)
	}
}

// addMissingForAdmission adds a finding for each object that the pod template names,
// without which the server rejects a pod, and that does not exist. It checks only objects
// that message, the error of the server, mentions. It returns true if any is missing.
func (w *walk) addMissingForAdmission(ctx context.Context, load workload, message string) bool {
	if load.template == nil {
		return false
	}
	spec := load.template.Spec
	var needs []reference
	if name := spec.ServiceAccountName; name != "" {
		needs = append(needs, reference{objectKey: namespacedObject("ServiceAccount", load.namespace, name), field: "serviceAccountName"})
	}
	if name := spec.PriorityClassName; name != "" {
		needs = append(needs, reference{objectKey: clusterObject("PriorityClass", priorityClassResource, name), field: "priorityClassName"})
	}
	if name := spec.RuntimeClassName; name != nil {
		needs = append(needs, reference{objectKey: clusterObject("RuntimeClass", runtimeClassResource, *name), field: "runtimeClassName"})
	}
	lower := strings.ToLower(message)
	needs = slices.DeleteFunc(needs, func(n reference) bool {
		return !strings.Contains(strings.ReplaceAll(lower, " ", ""), strings.ToLower(n.kind.Kind)) ||
			!strings.Contains(message, n.name)
	})
	return w.addMissingObjects(ctx, load.ref, needs, message)
}

func oneIfNil(n *int32) int32 {
	if n == nil {
		return 1
	}
	return *n
}
