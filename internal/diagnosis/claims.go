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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/diagnosis/clusterreader"
	"github.com/ordered-helm/helm/internal/diagnosis/podreferences"
)

var storageClassesResource = storagev1.SchemeGroupVersion.WithResource("storageclasses")

const (
	classAnnotation        = "volume.beta.kubernetes.io/storage-class"
	selectedNodeAnnotation = "volume.kubernetes.io/selected-node"
	defaultClassAnnotation = "storageclass.kubernetes.io/is-default-class"
	noProvisioner          = "kubernetes.io/no-provisioner"
)

// claimDiagnosis finds out why a PersistentVolumeClaim (claim, for short) is not bound. byPod
// is true if the claim is diagnosed because a pod uses it, and false if it is the subject.
type claimDiagnosis struct {
	w     *subjectDiagnosis
	at    clusterreader.ObjectRef
	claim *corev1.PersistentVolumeClaim
	byPod bool
}

func newClaimDiagnosis(w *subjectDiagnosis, claim *corev1.PersistentVolumeClaim, byPod bool) claimDiagnosis {
	at := clusterreader.ObjectRef{Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID}
	return claimDiagnosis{w: w, at: at, claim: claim, byPod: byPod}
}

func (d claimDiagnosis) add(f finding) { d.w.findings.add(d.at, f) }

// diagnoseClaimSubject adds findings about a claim that is the subject.
func diagnoseClaimSubject(ctx context.Context, w *subjectDiagnosis, at clusterreader.ObjectRef, claim *corev1.PersistentVolumeClaim) {
	newClaimDiagnosis(w, claim, false).diagnose(ctx)
	if len(w.findings.list) == 0 {
		w.findings.addConditions(at, w.object.Object)
	}
}

// diagnose adds findings if the claim is being deleted or not bound.
func (d claimDiagnosis) diagnose(ctx context.Context) {
	if d.claim.DeletionTimestamp != nil {
		d.w.addTerminating(d.at, d.claim)
		return
	}
	switch d.claim.Status.Phase {
	case corev1.ClaimBound:
		return
	case corev1.ClaimLost:
		d.add(finding{rank: rankCause, Cause: Cause{
			Reason: "ClaimLost", Message: fmt.Sprintf("its volume %s no longer exists, and its data is lost", d.claim.Spec.VolumeName),
		}})
		return
	}
	before := len(d.w.findings.list)
	for _, warning := range d.w.cluster.Warnings(ctx, d.at) {
		if warning.Reason == "ProvisioningFailed" && !d.addMissingClass(ctx, warning.Message) {
			d.add(d.w.warningFinding(warning, rankCause, ""))
		}
	}
	if len(d.w.findings.list) == before {
		d.diagnoseWithoutWarning(ctx)
	}
	d.w.findings.visit(d.at, anyReason("ProvisioningFailed"))
}

// diagnoseWithoutWarning adds a finding about a pending claim about which there is no warning
// event. It derives the finding from the volume or the storage class of the claim.
func (d claimDiagnosis) diagnoseWithoutWarning(ctx context.Context) {
	if name := d.claim.Spec.VolumeName; name != "" {
		volume := podreferences.New(schema.GroupKind{Kind: "PersistentVolume"}, "", name, "spec.volumeName")
		if !d.w.references.addMissing(ctx, d.at, []podreferences.Reference{volume}) {
			d.add(finding{rank: rankWarning, Cause: Cause{Reason: "NotBound", Message: fmt.Sprintf(
				"volume %s is not bound to it: the volume may not match, or be bound to another claim", name)}})
		}
		return
	}
	if d.addMissingClass(ctx, "") {
		return
	}
	failed := finding{rank: rankCause, Cause: Cause{Reason: "FailedBinding"}}
	name := claimClass(d.claim)
	class, classes, err := storageClass(ctx, d.w.cluster, name)
	switch {
	case name == nil && err == nil && !slices.ContainsFunc(classes, isDefault):
		failed.Message = "no storage class is set, the cluster has no default storage class, and no existing volume matches"
	case name == nil:
		failed.rank, failed.Message = rankWarning, "no storage class is set, and no existing volume matches"
	case *name == "":
		failed.Message = `no existing volume matches, and none is provisioned because storageClassName is ""`
	case class == nil:
		failed.rank, failed.Message = rankUnexplained, "waiting for a volume of storage class "+*name
	case waitsForFirstConsumer(class) && d.claim.Annotations[selectedNodeAnnotation] == "":
		if d.byPod {
			return // the claim waits for the pod to be scheduled
		}
		failed.rank, failed.Reason = rankUnexplained, "WaitForFirstConsumer"
		failed.Message = "storage class " + *name + " provisions a volume only when a pod that uses the claim is scheduled"
	case class.Provisioner == noProvisioner:
		failed.Message = "no existing volume of storage class " + *name + " matches, and this class does not provision volumes"
	default:
		failed.rank, failed.Reason = rankUnexplained, "Provisioning"
		failed.Message = "waiting for a volume from provisioner " + class.Provisioner
	}
	if failed.rank == rankUnexplained && d.byPod {
		failed.rank = rankWarning
	}
	d.add(failed)
}

// addMissingClass adds a finding if the storage class of the claim does not exist, and reports
// whether it did so. If the storage classes cannot be read, text, a message of the server,
// shows whether the class is missing.
func (d claimDiagnosis) addMissingClass(ctx context.Context, text string) bool {
	name := claimClass(d.claim)
	if name == nil || *name == "" {
		return false
	}
	class, classes, err := storageClass(ctx, d.w.cluster, name)
	r := podreferences.New(schema.GroupKind{Group: storagev1.GroupName, Kind: "StorageClass"}, "", *name, "storageClassName")
	if class != nil || err != nil && !r.ReportedMissing(text) {
		return false
	}
	d.w.references.addFinding(d.at, r)
	if len(classes) > 0 {
		names := make([]string, len(classes))
		for n := range classes {
			names[n] = classes[n].Name
		}
		slices.Sort(names)
		last := &d.w.findings.list[len(d.w.findings.list)-1]
		last.Message += "; existing storage classes: " + strings.Join(names[:min(len(names), 5)], ", ")
	}
	return true
}

// storageClass returns the storage class with the given name, and all storage classes. The
// former is nil if name is nil or no class has this name.
func storageClass(ctx context.Context, cluster *clusterreader.Reader, name *string) (*storagev1.StorageClass, []storagev1.StorageClass, error) {
	classes, err := clusterreader.List[storagev1.StorageClass](ctx, cluster, storageClassesResource, "", metav1.ListOptions{})
	if err != nil {
		return nil, nil, err
	}
	n := slices.IndexFunc(classes, func(class storagev1.StorageClass) bool { return name != nil && class.Name == *name })
	if n < 0 {
		return nil, classes, nil
	}
	return &classes[n], classes, nil
}

// claimClass returns the name of the storage class that a claim declares, or nil if it
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
	return valueOr(class.VolumeBindingMode, "") == storagev1.VolumeBindingWaitForFirstConsumer
}
