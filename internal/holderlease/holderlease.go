// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package holderlease stores in Leases which operations hold the locks of releases, and their heartbeats
// (docs/reference.md, "The driver crd").
package holderlease

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcoordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/releaseapi"
)

// maxAttempts is how often a Lease is written again after others have changed it in the meantime.
const maxAttempts = 5

// Annotations of a Lease. They describe the operation of the lock holder.
const (
	operationAnnotation = "helm.sh/operation"
	hostAnnotation      = "helm.sh/host"
	processAnnotation   = "helm.sh/process"
)

// Client writes and reads the Leases that name the lock holders of releases.
type Client struct {
	Leases typedcoordinationv1.LeasesGetter
}

// leaseName returns the name of the Lease of a release. The prefix distinguishes it from Leases of the
// programs in the release.
func leaseName(release string) string { return "sh.helm.release.v1." + release }

// Create stores that an operation holds the lock of a release. It returns nil if the release has a Lease.
func (c Client) Create(ctx context.Context, owner *releaseapi.Release, lease *orderrecord.Lease) (*coordinationv1.Lease, error) {
	name := leaseName(owner.Name)
	created, err := c.Leases.Leases(owner.Namespace).Create(ctx, newLease(name, owner, lease), metav1.CreateOptions{})
	switch {
	case apierrors.IsAlreadyExists(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("write Lease %s: %w", name, err)
	}
	return created, nil
}

// Write stores that an operation holds the lock of a release, and its heartbeat. known is the Lease as the operation
// has written it last. If it is nil, the operation replaces the holder. Otherwise, Write leaves the Lease of another
// holder as it is: the operation will notice that it has lost the lock.
func (c Client) Write(ctx context.Context, owner *releaseapi.Release, lease *orderrecord.Lease, known *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	name := leaseName(owner.Name)
	wanted := newLease(name, owner, lease)
	client := c.Leases.Leases(owner.Namespace)
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
		} else if known != nil && HolderID(current) != lease.ID {
			return known, nil
		}
	}
	return nil, fmt.Errorf("write Lease %s: it was changed %d times in the meantime", name, maxAttempts)
}

// Read returns the Lease of a release; nil if there is none.
func (c Client) Read(ctx context.Context, namespace, release string) (*coordinationv1.Lease, error) {
	lease, err := c.Leases.Leases(namespace).Get(ctx, leaseName(release), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read Lease %s: %w", leaseName(release), err)
	}
	return lease, nil
}

// Remove deletes the Lease of a release, unless another operation holds it by now. lease is what is known of it; if it is
// nil, Remove does nothing.
func (c Client) Remove(ctx context.Context, namespace, release string, lease *coordinationv1.Lease) error {
	for id := HolderID(lease); lease != nil && HolderID(lease) == id; {
		err := c.Leases.Leases(namespace).Delete(ctx, lease.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &lease.UID, ResourceVersion: &lease.ResourceVersion}})
		if err == nil || apierrors.IsNotFound(err) {
			return nil
		}
		if !apierrors.IsConflict(err) {
			return fmt.Errorf("delete Lease %s: %w", lease.Name, err)
		}
		if lease, err = c.Read(ctx, namespace, release); err != nil {
			return err
		}
	}
	return nil
}

// RemoveOwned deletes the Lease that a Release owns.
func (c Client) RemoveOwned(ctx context.Context, owner *releaseapi.Release) error {
	lease, err := c.Read(ctx, owner.Namespace, owner.Name)
	if err != nil || lease == nil || !releaseapi.IsOwned(lease, owner) {
		return err
	}
	return c.Remove(ctx, owner.Namespace, owner.Name, lease)
}

func newLease(name string, owner *releaseapi.Release, lease *orderrecord.Lease) *coordinationv1.Lease {
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

// HolderID returns the ID of the operation that holds a Lease; empty if none does.
func HolderID(lease *coordinationv1.Lease) string {
	if lease == nil || lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// RenewedAt returns the time of the last heartbeat.
func RenewedAt(lease *coordinationv1.Lease) time.Time {
	if lease == nil || lease.Spec.RenewTime == nil {
		return time.Time{}
	}
	return lease.Spec.RenewTime.UTC()
}
