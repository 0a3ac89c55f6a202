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
)

const revisionAnnotation = "deployment.kubernetes.io/revision"

// workload is what owns pods.
type workload struct {
	ref
	selector *metav1.LabelSelector
	template *corev1.PodTemplateSpec
	// desired is how many pods it should have.
	desired int32
	// refused is what the server said when the last pod was to be created.
	refused string
	// keepsFailed says that it leaves failed pods where they are and makes new
	// ones beside them.
	keepsFailed bool
	// current is the revision that its pods should have, where it waits for
	// broken ones to get well before it replaces them.
	current string
}

func (w *walk) deployment(ctx context.Context, at ref, obj *unstructured.Unstructured) {
	deployment, err := typed[appsv1.Deployment](obj)
	if err != nil {
		w.anything(ctx, at, obj)
		return
	}
	if obj.GetGeneration() > deployment.Status.ObservedGeneration {
		w.visit(at, nil)
		return // its ReplicaSets are those of the version before
	}
	sets := w.replicaSets(ctx, at, deployment.Spec.Selector)
	if len(sets) > 0 {
		newest := &sets[0]
		w.set(ctx, newest)
		if newest.Status.Replicas == 0 && len(sets) > 1 {
			w.leftovers(ctx, deployment, sets[1:])
		}
	}
	for _, c := range conditionsOf(obj) {
		switch {
		case c.kind == "ReplicaFailure" && c.status == "True" && len(sets) == 0:
			w.add(at, finding{rank: concrete, Cause: Cause{Reason: c.reason, Message: c.message}})
		case c.kind == "Progressing" && c.status == "False":
			f := finding{rank: symptom, Cause: Cause{Reason: c.reason, Message: c.message}}
			if c.reason != "ProgressDeadlineExceeded" {
				f.rank = concrete // it could not even create its ReplicaSet
			}
			w.add(at, f)
		}
	}
	if seconds := deployment.Spec.MinReadySeconds; seconds > 0 && len(w.findings) == 0 && w.denied == "" {
		w.add(at, finding{rank: vague, Cause: Cause{Reason: "MinReadySeconds", Message: fmt.Sprintf(
			"its pods count as available only after they were ready for %d seconds", seconds)}})
	}
	w.visit(at, oneOf("ReplicaSetCreateError"))
}

// replicaSets lists those of a Deployment, the newest revision first.
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
		number, _ := strconv.Atoi(set.Annotations[revisionAnnotation]) // 0 for none
		return number
	}
	slices.SortFunc(sets, func(a, b appsv1.ReplicaSet) int {
		return cmp.Or(cmp.Compare(revision(b), revision(a)),
			b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return sets
}

// leftovers looks at pods of older ReplicaSets that a new one waits for.
func (w *walk) leftovers(ctx context.Context, deployment *appsv1.Deployment, old []appsv1.ReplicaSet) {
	pods, err := w.pods(ctx, deployment.Namespace, deployment.Spec.Selector, ref{})
	if err != nil {
		return
	}
	for n := range pods {
		pod := &pods[n]
		ofOld := slices.ContainsFunc(old, func(set appsv1.ReplicaSet) bool { return ref{uid: set.UID}.owns(pod) })
		if ofOld && pod.DeletionTimestamp != nil {
			w.terminating(podRef(pod), pod)
		}
	}
}

func (w *walk) set(ctx context.Context, set *appsv1.ReplicaSet) {
	load := workload{
		ref:      ref{kind: "ReplicaSet", namespace: set.Namespace, name: set.Name, uid: set.UID},
		selector: set.Spec.Selector, template: &set.Spec.Template,
		desired: orOne(set.Spec.Replicas), keepsFailed: true,
	}
	for _, c := range set.Status.Conditions {
		if c.Type == appsv1.ReplicaSetReplicaFailure && c.Status == corev1.ConditionTrue {
			load.refused = c.Message
		}
	}
	w.workload(ctx, load)
}

func (w *walk) replicaSet(ctx context.Context, at ref, obj *unstructured.Unstructured) {
	set, err := typed[appsv1.ReplicaSet](obj)
	if err != nil {
		w.anything(ctx, at, obj)
		return
	}
	w.set(ctx, set)
}

func (w *walk) replicationController(ctx context.Context, at ref, obj *unstructured.Unstructured) {
	controller, err := typed[corev1.ReplicationController](obj)
	if err != nil {
		w.anything(ctx, at, obj)
		return
	}
	load := workload{
		ref: at, selector: &metav1.LabelSelector{MatchLabels: controller.Spec.Selector}, template: controller.Spec.Template,
		desired: orOne(controller.Spec.Replicas), keepsFailed: true,
	}
	for _, c := range controller.Status.Conditions {
		if c.Type == corev1.ReplicationControllerReplicaFailure && c.Status == corev1.ConditionTrue {
			load.refused = c.Message
		}
	}
	w.workload(ctx, load)
}

func (w *walk) statefulSet(ctx context.Context, at ref, obj *unstructured.Unstructured) {
	set, err := typed[appsv1.StatefulSet](obj)
	if err != nil {
		w.anything(ctx, at, obj)
		return
	}
	load := workload{ref: at, selector: set.Spec.Selector, template: &set.Spec.Template, desired: orOne(set.Spec.Replicas)}
	if rolling := set.Spec.UpdateStrategy.RollingUpdate; set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement &&
		set.Spec.UpdateStrategy.Type != appsv1.OnDeleteStatefulSetStrategyType &&
		(rolling == nil || rolling.Partition == nil || *rolling.Partition == 0) {
		load.current = set.Status.UpdateRevision
	}
	w.workload(ctx, load)
}

func (w *walk) daemonSet(ctx context.Context, at ref, obj *unstructured.Unstructured) {
	set, err := typed[appsv1.DaemonSet](obj)
	if err != nil {
		w.anything(ctx, at, obj)
		return
	}
	w.workload(ctx, workload{
		ref: at, selector: set.Spec.Selector, template: &set.Spec.Template, desired: set.Status.DesiredNumberScheduled,
	})
}

// workload looks at the pods of one and at what keeps it from creating them.
func (w *walk) workload(ctx context.Context, load workload) {
	pods, err := w.pods(ctx, load.namespace, load.selector, load.ref)
	living := int32(0)
	for n := range pods {
		if pods[n].DeletionTimestamp == nil {
			living++
		}
	}
	if err == nil && living < load.desired || load.refused != "" {
		w.refused(ctx, load)
	}
	for n := range pods {
		w.pod(ctx, &pods[n], load)
	}
	w.visit(load.ref, func(reason string) bool {
		return reason == "BackoffLimitExceeded" || reason == "FailedCreate" && (load.refused != "" || w.reported("FailedCreate"))
	})
}

// reported tells whether there is a concrete finding with the reason, or a
// missing object that stands for it.
func (w *walk) reported(reason string) bool {
	return slices.ContainsFunc(w.findings, func(f finding) bool {
		return f.rank == concrete && (f.Reason == reason || f.Reason == missing)
	})
}

// refused reports why pods cannot be created: a quota, an admission webhook, an
// object that admission looks up.
func (w *walk) refused(ctx context.Context, load workload) {
	f := finding{rank: concrete, Cause: Cause{Reason: "FailedCreate", Message: load.refused}}
	if load.refused == "" {
		warnings := w.warnings(ctx, load.ref)
		at := slices.IndexFunc(warnings, func(warning warning) bool { return warning.reason == "FailedCreate" })
		if at < 0 {
			return
		}
		f = w.warned(warnings[at], concrete, "")
	}
	if !w.missingForAdmission(ctx, load, f.Message) {
		w.add(load.ref, f)
	}
}

// missingForAdmission reports objects without which the server creates no pod.
func (w *walk) missingForAdmission(ctx context.Context, load workload, message string) bool {
	if load.template == nil {
		return false
	}
	spec := load.template.Spec
	var needs []need
	if name := spec.ServiceAccountName; name != "" {
		needs = append(needs, need{object: namespaced("ServiceAccount", load.namespace, name), by: "serviceAccountName"})
	}
	if name := spec.PriorityClassName; name != "" {
		needs = append(needs, need{object: clusterWide("PriorityClass", priorityClassResource, name), by: "priorityClassName"})
	}
	if name := spec.RuntimeClassName; name != nil {
		needs = append(needs, need{object: clusterWide("RuntimeClass", runtimeClassResource, *name), by: "runtimeClassName"})
	}
	lower := strings.ToLower(message)
	needs = slices.DeleteFunc(needs, func(n need) bool {
		return !strings.Contains(strings.ReplaceAll(lower, " ", ""), strings.ToLower(n.kind.Kind)) ||
			!strings.Contains(message, n.name)
	})
	return w.missing(ctx, load.ref, needs, message)
}

func orOne(n *int32) int32 {
	if n == nil {
		return 1
	}
	return *n
}
