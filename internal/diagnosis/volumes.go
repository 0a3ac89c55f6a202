// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	classAnnotation        = "volume.beta.kubernetes.io/storage-class"
	selectedNodeAnnotation = "volume.kubernetes.io/selected-node"
	defaultClassAnnotation = "storageclass.kubernetes.io/is-default-class"
	noProvisioner          = "kubernetes.io/no-provisioner"
)

func (w *walk) claimObject(ctx context.Context, at ref, obj *unstructured.Unstructured) {
	claim, err := typed[corev1.PersistentVolumeClaim](obj)
	if err != nil {
		w.anything(ctx, at, obj)
		return
	}
	w.claim(ctx, claim, false)
	if len(w.findings) == 0 {
		w.conditions(at, obj)
	}
}

// claimsOf follows the claims of a pod that was not scheduled, and tells whether
// they are a cause. The scheduler's message counts where claims may not be read.
func (w *walk) claimsOf(ctx context.Context, at ref, pod *corev1.Pod, message string) bool {
	before := len(w.findings)
	for _, n := range needsOf(pod) {
		if n.resource != claimsResource {
			continue
		}
		obj, err := w.claimByName(ctx, n.object)
		if err != nil {
			if apierrors.IsNotFound(err) || saysMissing(n.object, []string{message}) {
				w.addMissing(at, n)
			}
			continue
		}
		if claim, err := typed[corev1.PersistentVolumeClaim](obj); err == nil {
			w.claim(ctx, claim, true)
		}
	}
	return slices.ContainsFunc(w.findings[before:], func(f finding) bool { return f.rank == concrete })
}

func (w *walk) claimByName(ctx context.Context, o object) (*unstructured.Unstructured, error) {
	if w.brief || w.lookups >= maxLookups {
		return nil, errSpent
	}
	w.lookups++
	return get(ctx, w, o.resource, o.namespace, o.name)
}

// claim explains a claim that is not bound.
func (w *walk) claim(ctx context.Context, claim *corev1.PersistentVolumeClaim, byPod bool) {
	at := ref{kind: "PersistentVolumeClaim", namespace: claim.Namespace, name: claim.Name, uid: claim.UID}
	if claim.DeletionTimestamp != nil {
		w.terminating(at, claim)
		return
	}
	switch claim.Status.Phase {
	case corev1.ClaimBound:
		return
	case corev1.ClaimLost:
		w.add(at, finding{rank: concrete, Cause: Cause{
			Reason: "ClaimLost", Message: fmt.Sprintf("its volume %s no longer exists, and what it held is lost", claim.Spec.VolumeName),
		}})
		return
	}
	before := len(w.findings)
	for _, warning := range w.warnings(ctx, at) {
		if warning.reason == "ProvisioningFailed" && !w.missingClass(ctx, at, claim, warning.message) {
			w.add(at, w.warned(warning, concrete, ""))
		}
	}
	if len(w.findings) == before {
		w.unbound(ctx, at, claim, byPod)
	}
	w.visit(at, oneOf("ProvisioningFailed"))
}

// unbound explains a pending claim that there are no warnings about.
func (w *walk) unbound(ctx context.Context, at ref, claim *corev1.PersistentVolumeClaim, byPod bool) {
	if name := claim.Spec.VolumeName; name != "" {
		volume := need{object: clusterWide("PersistentVolume", volumesResource, name), by: "spec.volumeName"}
		if !w.missing(ctx, at, []need{volume}) {
			w.add(at, finding{rank: notable, Cause: Cause{Reason: "NotBound", Message: fmt.Sprintf(
				"it asks for the volume %s, which has not been bound to it: it may be bound to another claim or not fit", name)}})
		}
		return
	}
	if w.missingClass(ctx, at, claim, "") {
		return
	}
	failed := finding{rank: concrete, Cause: Cause{Reason: "FailedBinding"}}
	name := classOf(claim)
	class, classes, err := w.class(ctx, name)
	switch {
	case name == nil && err == nil && !slices.ContainsFunc(classes, isDefault):
		failed.Message = "it names no storage class, the cluster has no default one, and no existing volume fits"
	case name == nil:
		failed.rank, failed.Message = notable, "it names no storage class, and no existing volume fits"
	case *name == "":
		failed.Message = `no existing volume fits, and as its storageClassName is "", none is made for it`
	case class == nil:
		failed.rank, failed.Message = vague, "it waits for a volume of storage class "+*name
	case waits(class) && claim.Annotations[selectedNodeAnnotation] == "":
		if byPod {
			return // it waits for the pod, not the pod for it
		}
		failed.rank, failed.Reason = vague, "WaitForFirstConsumer"
		failed.Message = "its storage class " + *name + " makes a volume only when a pod that uses the claim is scheduled"
	case class.Provisioner == noProvisioner:
		failed.Message = "no existing volume of storage class " + *name + " fits, and this class makes none"
	default:
		failed.rank, failed.Reason = vague, "Provisioning"
		failed.Message = "it waits for a volume from the provisioner " + class.Provisioner
	}
	if failed.rank == vague && byPod {
		failed.rank = notable
	}
	w.add(at, failed)
}

// missingClass reports the storage class of a claim if it does not exist.
func (w *walk) missingClass(ctx context.Context, at ref, claim *corev1.PersistentVolumeClaim, text string) bool {
	name := classOf(claim)
	if name == nil || *name == "" {
		return false
	}
	class, classes, err := w.class(ctx, name)
	o := clusterWide("StorageClass", classesResource, *name)
	if class != nil || err != nil && !saysMissing(o, []string{text}) {
		return false
	}
	w.addMissing(at, need{object: o, by: "the claim"})
	if len(classes) > 0 {
		names := make([]string, len(classes))
		for n := range classes {
			names[n] = classes[n].Name
		}
		slices.Sort(names)
		last := &w.findings[len(w.findings)-1]
		last.Message += "; there is " + strings.Join(names[:min(len(names), 5)], ", ")
	}
	return true
}

// class returns the class of that name, if there is, and all classes.
func (w *walk) class(ctx context.Context, name *string) (*storagev1.StorageClass, []storagev1.StorageClass, error) {
	classes, err := list[storagev1.StorageClass](ctx, w, classesResource, "", metav1.ListOptions{})
	if err != nil {
		return nil, nil, err
	}
	for n := range classes {
		if name != nil && classes[n].Name == *name {
			return &classes[n], classes, nil
		}
	}
	return nil, classes, nil
}

func classOf(claim *corev1.PersistentVolumeClaim) *string {
	if name, found := claim.Annotations[classAnnotation]; found {
		return &name
	}
	return claim.Spec.StorageClassName
}

func isDefault(class storagev1.StorageClass) bool {
	return class.Annotations[defaultClassAnnotation] == "true"
}

func waits(class *storagev1.StorageClass) bool {
	return class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
}
