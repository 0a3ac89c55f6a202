// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package podwatch

import (
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordered-helm/helm/internal/field"
)

const (
	// revisionAnnotation contains the revision of a ReplicaSet of a Deployment.
	revisionAnnotation = "deployment.kubernetes.io/revision"
	// generationLabel is the label of a pod of a DaemonSet with the generation of the pod
	// template.
	generationLabel = "pod-template-generation"
)

// IsPod reports whether an object is a Pod.
func IsPod(obj *unstructured.Unstructured) bool { return kindOf(obj) == "Pod" }

func isDeployment(obj *unstructured.Unstructured) bool { return kindOf(obj) == "Deployment.apps" }

func kindOf(obj *unstructured.Unstructured) string {
	return obj.GroupVersionKind().GroupKind().String()
}

// podSelector returns the label selector of the pods of a workload, or "" if obj is of
// another kind.
func podSelector(obj *unstructured.Unstructured) string {
	switch kindOf(obj) {
	case "ReplicationController":
		set := labels.Set{}
		for key := range field.Map(obj.Object, "spec", "selector") {
			set[key] = field.String(obj.Object, "spec", "selector", key)
		}
		return set.String()
	case "Deployment.apps", "ReplicaSet.apps", "StatefulSet.apps", "DaemonSet.apps":
		declared := &metav1.LabelSelector{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(field.Map(obj.Object, "spec", "selector"), declared); err != nil {
			return ""
		}
		if selector, err := metav1.LabelSelectorAsSelector(declared); err == nil {
			return selector.String()
		}
	}
	return ""
}

// selectPods returns those of pods that belong to the current generation of a workload and are
// not being deleted. sets are the ReplicaSets of the namespace, if the workload is a
// Deployment.
func selectPods(obj *unstructured.Unstructured, sets []*appsv1.ReplicaSet, pods []*corev1.Pod) []*corev1.Pod {
	owner, label, value := obj.GetUID(), "", ""
	switch kindOf(obj) {
	case "Deployment.apps":
		owner = newestReplicaSet(obj.GetUID(), sets)
	case "StatefulSet.apps":
		label, value = appsv1.ControllerRevisionHashLabelKey, field.String(obj.Object, "status", "updateRevision")
	case "DaemonSet.apps":
		label, value = generationLabel, obj.GetAnnotations()[appsv1.DeprecatedTemplateGeneration]
	}
	return slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool {
		actual, labeled := pod.Labels[label]
		return pod.DeletionTimestamp != nil || !isControlledBy(pod, owner) || value != "" && labeled && actual != value
	})
}

// newestReplicaSet returns the UID of the ReplicaSet of a Deployment that has the highest
// revision, or "" if there is none.
func newestReplicaSet(deployment types.UID, sets []*appsv1.ReplicaSet) types.UID {
	newest, uid := -1, types.UID("")
	for _, set := range sets {
		revision, _ := strconv.Atoi(set.Annotations[revisionAnnotation]) // 0 if there is none
		if isControlledBy(set, deployment) && revision > newest {
			newest, uid = revision, set.UID
		}
	}
	return uid
}

func isControlledBy(obj metav1.Object, owner types.UID) bool {
	controller := metav1.GetControllerOf(obj)
	return controller != nil && controller.UID == owner && owner != ""
}
