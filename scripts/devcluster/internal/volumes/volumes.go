// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package volumes creates PersistentVolumes for PersistentVolumeClaims. The volumes have no
// content.
package volumes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/ordered-helm/helm/scripts/devcluster/internal/reconcile"
)

const (
	// ClassImmediate is the name of the default storage class, whose claims are bound
	// immediately.
	ClassImmediate = "standard"
	// ClassWait is the name of the storage class whose claims are bound when a pod uses them.
	ClassWait = "wait"

	provisioner = "devcluster/volumes"
	workers     = 4

	annotationProvisionedBy = "pv.kubernetes.io/provisioned-by"
	annotationProvisioner   = "volume.kubernetes.io/storage-provisioner"
	annotationSelectedNode  = "volume.kubernetes.io/selected-node"
	annotationDefaultClass  = "storageclass.kubernetes.io/is-default-class"
)

// CreateClasses creates the storage classes.
func CreateClasses(ctx context.Context, client kubernetes.Interface) error {
	for name, mode := range map[string]storagev1.VolumeBindingMode{
		ClassImmediate: storagev1.VolumeBindingImmediate,
		ClassWait:      storagev1.VolumeBindingWaitForFirstConsumer,
	} {
		reclaim := corev1.PersistentVolumeReclaimDelete
		class := &storagev1.StorageClass{
			ObjectMeta:        metav1.ObjectMeta{Name: name},
			Provisioner:       provisioner,
			ReclaimPolicy:     &reclaim,
			VolumeBindingMode: &mode,
		}
		if name == ClassImmediate {
			class.Annotations = map[string]string{annotationDefaultClass: "true"}
		}
		_, err := client.StorageV1().StorageClasses().Create(ctx, class, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create storage class %s: %w", name, err)
		}
	}
	return nil
}

// Provisioner creates volumes for claims of these storage classes, and deletes the volumes of
// deleted claims.
type Provisioner struct {
	client  kubernetes.Interface
	loop    *reconcile.Loop
	claims  corelisters.PersistentVolumeClaimLister
	volumes corelisters.PersistentVolumeLister
}

// New returns a Provisioner, which does nothing before Run is called.
func New(client kubernetes.Interface, log *slog.Logger) (*Provisioner, error) {
	factory := informers.NewSharedInformerFactory(client, 0)
	core := factory.Core().V1()
	p := &Provisioner{
		client:  client,
		claims:  core.PersistentVolumeClaims().Lister(),
		volumes: core.PersistentVolumes().Lister(),
	}
	p.loop = reconcile.New(factory, workers, log, p.sync)
	err := errors.Join(
		p.loop.Watch(core.PersistentVolumeClaims().Informer()),
		p.loop.Watch(core.PersistentVolumes().Informer()),
	)
	return p, err
}

// Run creates and deletes volumes until ctx ends.
func (p *Provisioner) Run(ctx context.Context) error { return p.loop.Run(ctx) }

// sync processes a claim or, if name has no namespace, a volume.
func (p *Provisioner) sync(ctx context.Context, name types.NamespacedName) (time.Time, error) {
	if name.Namespace == "" {
		volume, err := p.volumes.Get(name.Name)
		if err != nil {
			return time.Time{}, reconcile.Found(err)
		}
		return time.Time{}, p.reclaim(ctx, volume)
	}
	claim, err := p.claims.PersistentVolumeClaims(name.Namespace).Get(name.Name)
	if err != nil {
		return time.Time{}, reconcile.Found(err)
	}
	return time.Time{}, p.provision(ctx, claim)
}

// provision creates the volume of a claim, unless it has to wait for a pod.
func (p *Provisioner) provision(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	if claim.Annotations[annotationProvisioner] != provisioner || claim.Spec.VolumeName != "" || claim.DeletionTimestamp != nil {
		return nil
	}
	if claim.Spec.StorageClassName == nil {
		return nil
	}
	if *claim.Spec.StorageClassName == ClassWait && claim.Annotations[annotationSelectedNode] == "" {
		return nil
	}
	_, err := p.client.CoreV1().PersistentVolumes().Create(ctx, volumeFor(claim), metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create volume: %w", err)
	}
	return nil
}

func volumeFor(claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolume {
	name := "pvc-" + string(claim.UID)
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Annotations: map[string]string{annotationProvisionedBy: provisioner},
		},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: claim.Spec.Resources.Requests[corev1.ResourceStorage]},
			AccessModes:                   claim.Spec.AccessModes,
			VolumeMode:                    claim.Spec.VolumeMode,
			StorageClassName:              *claim.Spec.StorageClassName,
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim",
				Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
			},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				HostPath: &corev1.HostPathVolumeSource{Path: "/devcluster/" + name},
			},
		},
	}
}

// reclaim deletes a volume that this Provisioner has created, if its claim no longer exists.
func (p *Provisioner) reclaim(ctx context.Context, volume *corev1.PersistentVolume) error {
	if volume.Annotations[annotationProvisionedBy] != provisioner ||
		volume.Status.Phase != corev1.VolumeReleased ||
		volume.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete ||
		volume.DeletionTimestamp != nil {
		return nil
	}
	err := p.client.CoreV1().PersistentVolumes().Delete(ctx, volume.Name, metav1.DeleteOptions{})
	if reconcile.Found(err) != nil {
		return fmt.Errorf("delete volume: %w", err)
	}
	return nil
}
