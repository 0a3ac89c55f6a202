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

	"github.com/ordered-helm/helm/internal/diagnosis/clusterreader"
)

const (
	classAnnotation        = "volume.beta.kubernetes.io/storage-class"
	selectedNodeAnnotation = "volume.kubernetes.io/selected-node"
	defaultClassAnnotation = "storageclass.kubernetes.io/is-default-class"
	noProvisioner          = "kubernetes.io/no-provisioner"
)

// diagnoseClaimObject adds findings about a PersistentVolumeClaim (claim, for short) that
// is the subject.
func (w *walk) diagnoseClaimObject(ctx context.Context, at ref, obj *unstructured.Unstructured) {
	claim, err := clusterreader.Convert[corev1.PersistentVolumeClaim](obj)
	if err != nil {
		w.diagnoseByConditions(ctx, at, obj)
		return
	}
	w.diagnoseClaim(ctx, claim, false)
	if len(w.findings) == 0 {
		w.addConditions(at, obj)
	}
}

// diagnosePodClaims adds findings about the claims of a pod that is not scheduled. It
// returns true if one of them is the cause. message is that of the scheduler: if a claim
// cannot be read, it tells whether the claim is missing.
func (w *walk) diagnosePodClaims(ctx context.Context, at ref, pod *corev1.Pod, message string) bool {
	before := len(w.findings)
	for _, n := range podReferences(pod) {
		if n.resource != claimsResource {
			continue
		}
		obj, err := w.getClaim(ctx, n.objectKey)
		if err != nil {
			if apierrors.IsNotFound(err) || reportsNotFound(n.objectKey, []string{message}) {
				w.addMissingObject(at, n)
			}
			continue
		}
		if claim, err := clusterreader.Convert[corev1.PersistentVolumeClaim](obj); err == nil {
			w.diagnoseClaim(ctx, claim, true)
		}
	}
	return slices.ContainsFunc(w.findings[before:], func(f finding) bool { return f.rank == rankCause })
}

func (w *walk) getClaim(ctx context.Context, o objectKey) (*unstructured.Unstructured, error) {
	if w.brief || w.lookups >= maxLookups {
		return nil, clusterreader.ErrLimitReached
	}
	w.lookups++
	return w.get(ctx, o.resource, o.namespace, o.name)
}

// diagnoseClaim adds findings about a claim that is not bound. byPod is true if the subject
// is a pod that uses the claim or the owner of such a pod.
func (w *walk) diagnoseClaim(ctx context.Context, claim *corev1.PersistentVolumeClaim, byPod bool) {
	at := ref{kind: "PersistentVolumeClaim", namespace: claim.Namespace, name: claim.Name, uid: claim.UID}
	if claim.DeletionTimestamp != nil {
		w.diagnoseTerminating(at, claim)
		return
	}
	switch claim.Status.Phase {
	case corev1.ClaimBound:
		return
	case corev1.ClaimLost:
		w.add(at, finding{rank: rankCause, Cause: Cause{
			Reason: "ClaimLost", Message: fmt.Sprintf("its volume %s no longer exists, and its data is lost", claim.Spec.VolumeName),
		}})
		return
	}
	before := len(w.findings)
	for _, warning := range w.warnings(ctx, at) {
		if warning.reason == "ProvisioningFailed" && !w.addMissingClass(ctx, at, claim, warning.message) {
			w.add(at, w.warningFinding(warning, rankCause, ""))
		}
	}
	if len(w.findings) == before {
		w.diagnoseUnboundClaim(ctx, at, claim, byPod)
	}
	w.visit(at, anyReason("ProvisioningFailed"))
}

// diagnoseUnboundClaim adds a finding about a pending claim for which there is no warning.
// It derives the finding from the volume or the storage class of the claim.
func (w *walk) diagnoseUnboundClaim(ctx context.Context, at ref, claim *corev1.PersistentVolumeClaim, byPod bool) {
	if name := claim.Spec.VolumeName; name != "" {
		volume := reference{objectKey: clusterObject("PersistentVolume", volumesResource, name), field: "spec.volumeName"}
		if !w.addMissingObjects(ctx, at, []reference{volume}) {
			w.add(at, finding{rank: rankWarning, Cause: Cause{Reason: "NotBound", Message: fmt.Sprintf(
				"volume %s is not bound to it: the volume may not match, or be bound to another claim", name)}})
		}
		return
	}
	if w.addMissingClass(ctx, at, claim, "") {
		return
	}
	failed := finding{rank: rankCause, Cause: Cause{Reason: "FailedBinding"}}
	name := claimClass(claim)
	class, classes, err := w.storageClass(ctx, name)
	switch {
	case name == nil && err == nil && !slices.ContainsFunc(classes, isDefault):
		failed.Message = "no storage class is set, the cluster has no default storage class, and no existing volume matches"
	case name == nil:
		failed.rank, failed.Message = rankWarning, "no storage class is set, and no existing volume matches"
	case *name == "":
		failed.Message = `no existing volume matches, and none is provisioned because storageClassName is ""`
	case class == nil:
		failed.rank, failed.Message = rankUnexplained, "waiting for a volume of storage class "+*name
	case waitsForFirstConsumer(class) && claim.Annotations[selectedNodeAnnotation] == "":
		if byPod {
			return // the claim waits for the pod
		}
		failed.rank, failed.Reason = rankUnexplained, "WaitForFirstConsumer"
		failed.Message = "storage class " + *name + " provisions a volume only when a pod that uses the claim is scheduled"
	case class.Provisioner == noProvisioner:
		failed.Message = "no existing volume of storage class " + *name + " matches, and this class does not provision volumes"
	default:
		failed.rank, failed.Reason = rankUnexplained, "Provisioning"
		failed.Message = "waiting for a volume from provisioner " + class.Provisioner
	}
	if failed.rank == rankUnexplained && byPod {
		failed.rank = rankWarning
	}
	w.add(at, failed)
}

// addMissingClass adds a finding if the storage class of a claim does not exist, and
// returns true then. If the classes cannot be read, text, a message of the server, tells
// whether the class is missing.
func (w *walk) addMissingClass(ctx context.Context, at ref, claim *corev1.PersistentVolumeClaim, text string) bool {
	name := claimClass(claim)
	if name == nil || *name == "" {
		return false
	}
	class, classes, err := w.storageClass(ctx, name)
	o := clusterObject("StorageClass", classesResource, *name)
	if class != nil || err != nil && !reportsNotFound(o, []string{text}) {
		return false
	}
	w.addMissingObject(at, reference{objectKey: o, field: "storageClassName"})
	if len(classes) > 0 {
		names := make([]string, len(classes))
		for n := range classes {
			names[n] = classes[n].Name
		}
		slices.Sort(names)
		last := &w.findings[len(w.findings)-1]
		last.Message += "; existing storage classes: " + strings.Join(names[:min(len(names), 5)], ", ")
	}
	return true
}

// storageClass returns the storage class with a name, or nil if it does not exist or name
// is nil, and all storage classes.
func (w *walk) storageClass(ctx context.Context, name *string) (*storagev1.StorageClass, []storagev1.StorageClass, error) {
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

// claimClass returns the name of the storage class that a claim declares; nil if it
// declares none.
func claimClass(claim *corev1.PersistentVolumeClaim) *string {
	if name, found := claim.Annotations[classAnnotation]; found {
		return &name
	}
	return claim.Spec.StorageClassName
}

func isDefault(class storagev1.StorageClass) bool {
	return class.Annotations[defaultClassAnnotation] == "true"
}

func waitsForFirstConsumer(class *storagev1.StorageClass) bool {
	return class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
}
