// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package crdstorage

import (
	"context"
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcoordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/releaseapi"
)

// Annotations of a Lease. They describe the operation of the lock holder.
const (
	operationAnnotation = "helm.sh/operation"
	hostAnnotation      = "helm.sh/host"
	processAnnotation   = "helm.sh/process"
)

// holderLeases writes and reads the Leases that name the lock holders of releases.
type holderLeases struct {
	client typedcoordinationv1.LeasesGetter
}

// holderLeaseName returns the name of the Lease of a release. The prefix distinguishes it from Leases of the
// programs in the release.
func holderLeaseName(release string) string { return "sh.helm.release.v1." + release }

// write stores that an operation holds the lock of a release, and its heartbeat. known is the Lease as the operation
// has written it last. If it is nil, the operation replaces the holder. Otherwise, write leaves the Lease of another
// holder as it is: the operation will notice that it has lost the lock.
func (h holderLeases) write(ctx context.Context, owner *releaseapi.Release, lease *orderrecord.Lease, known *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	name := holderLeaseName(owner.Name)
	wanted := newHolderLease(name, owner, lease)
	client := h.client.Leases(owner.Namespace)
	current := known
	for range maxAttempts {
		var written *coordinationv1.Lease
		var err error
		if current == nil {
			written, err = client.Create(ctx, wanted, metav1.CreateOptions{})
		} else {
			wanted.ResourceVersion = current.ResourceVersion
			written, err = client.Update(ctx, wanted, metav1.UpdateOptions{})
		}
		switch {
		case err == nil:
			return written, nil
		case apierrors.IsNotFound(err): // deleted in the meantime
			current, wanted.ResourceVersion = nil, ""
			continue
		case !apierrors.IsAlreadyExists(err) && !apierrors.IsConflict(err):
			return nil, fmt.Errorf("write Lease %s: %w", name, err)
		}
		if current, err = client.Get(ctx, name, metav1.GetOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("read Lease %s: %w", name, err)
		} else if err != nil {
			current, wanted.ResourceVersion = nil, ""
		} else if known != nil && holderID(current) != lease.ID {
			return known, nil
		}
	}
	return nil, fmt.Errorf("write Lease %s: it was changed %d times in the meantime", name, maxAttempts)
}

// read returns the Lease of a release; nil if there is none.
func (h holderLeases) read(ctx context.Context, namespace, release string) (*coordinationv1.Lease, error) {
	lease, err := h.client.Leases(namespace).Get(ctx, holderLeaseName(release), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read Lease %s: %w", holderLeaseName(release), err)
	}
	return lease, nil
}

// remove deletes the Lease of a release, if the operation with this ID holds it.
func (h holderLeases) remove(ctx context.Context, namespace, release, id string) error {
	lease, err := h.read(ctx, namespace, release)
	if err != nil || lease == nil || holderID(lease) != id {
		return err
	}
	err = h.client.Leases(namespace).Delete(ctx, lease.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &lease.UID, ResourceVersion: &lease.ResourceVersion}})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) { // a conflict: another operation holds it now
		return fmt.Errorf("delete Lease %s: %w", lease.Name, err)
	}
	return nil
}

// removeAny deletes the Lease that a Release owns.
func (h holderLeases) removeAny(ctx context.Context, owner *releaseapi.Release) error {
	lease, err := h.read(ctx, owner.Namespace, owner.Name)
	if err != nil || lease == nil || !isOwned(lease, owner) {
		return err
	}
	return h.remove(ctx, owner.Namespace, owner.Name, holderID(lease))
}

// isOwned reports whether a Release owns an object.
func isOwned(object metav1.Object, owner *releaseapi.Release) bool {
	return slices.ContainsFunc(object.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == owner.UID })
}

func newHolderLease(name string, owner *releaseapi.Release, lease *orderrecord.Lease) *coordinationv1.Lease {
	id, seconds := lease.ID, int32(lease.Seconds) //nolint:gosec // at most an hour
	acquired, renewed := metav1.NewMicroTime(lease.StartedAt), metav1.NewMicroTime(lease.RenewedAt)
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: owner.Namespace, Name: name, Labels: map[string]string{releaseapi.HeritageLabel: releaseapi.Heritage, releaseapi.ReleaseLabel: owner.Name}, OwnerReferences: []metav1.OwnerReference{releaseapi.OwnerReference(owner)},
			Annotations: map[string]string{operationAnnotation: lease.Operation, hostAnnotation: lease.Host, processAnnotation: fmt.Sprint(lease.PID)},
		},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &id, LeaseDurationSeconds: &seconds, AcquireTime: &acquired, RenewTime: &renewed},
	}
}

// holderID returns the ID of the operation that holds a Lease; empty if none does.
func holderID(lease *coordinationv1.Lease) string {
	if lease == nil || lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// renewedAt returns the time of the last heartbeat.
func renewedAt(lease *coordinationv1.Lease) time.Time {
	if lease == nil || lease.Spec.RenewTime == nil {
		return time.Time{}
	}
	return lease.Spec.RenewTime.UTC()
}
