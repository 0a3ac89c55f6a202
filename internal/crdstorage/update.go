// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package crdstorage

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"golang.org/x/sync/errgroup"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ordered-helm/helm/internal/holderlease"
	"github.com/ordered-helm/helm/internal/releaseapi"
	"github.com/ordered-helm/helm/internal/releaseparts"
)

// Update implements driver.Updator. As in Helm's drivers, the last update wins: package lease decides whether
// an operation may still write.
func (d *Driver) Update(key string, rel *release.Release) error {
	k, err := parseKey(key)
	if err != nil {
		return err
	}
	c, err := d.connect()
	if err != nil {
		return err
	}
	head, sections, err := releaseparts.Split(rel)
	if err != nil {
		return err
	}
	ctx := background()
	v, err := d.version(ctx, c, k)
	if err != nil {
		return err
	}
	encoded, err := releaseparts.Encode(sectionPrefix(head.Name, v.object.Name), sections, sectionsOf(v.object))
	if err != nil {
		return err
	}
	status := versionStatus(head, releaseparts.References(encoded))
	if onlyRenewed(&v.object.Status, &status) {
		d.remember(k, v)
		return d.updateLease(ctx, c, v, head)
	}
	if err := c.sections.Write(ctx, sectionOwner(v.object), encoded); err != nil {
		return err
	}
	unused, err := d.replaceStatus(ctx, c, v, status)
	if err != nil {
		d.forget(k) // what is known may be out of date
		return err
	}
	v.sections = sections
	stored := *v
	d.remember(k, &stored)
	// The version can be read at any time, because its unused sections are deleted only now.
	var g errgroup.Group // none is canceled if another one fails
	g.Go(func() error { return c.sections.Delete(ctx, sectionOwner(stored.object), unused) })
	g.Go(func() error { return d.updateRelease(ctx, c, &stored, rel) })
	g.Go(func() error { return d.updateLease(ctx, c, v, head) })
	err = g.Wait()
	d.remember(k, v)
	return err
}

// onlyRenewed reports whether the heartbeat of the lock holder is all that differs.
func onlyRenewed(before, after *releaseapi.ReleaseVersionStatus) bool {
	if before.Operation == nil || after.Operation == nil {
		return false
	}
	renewed, operation := *before, *before.Operation
	operation.RenewedAt = after.Operation.RenewedAt
	renewed.Operation = &operation
	return reflect.DeepEqual(&renewed, after)
}

// replaceStatus stores a version with another status, whose sections are written already. It returns the Secrets of
// sections that are no longer used.
func (d *Driver) replaceStatus(ctx context.Context, c *clients, v *storedVersion, status releaseapi.ReleaseVersionStatus) (unused []string, err error) {
	object := *v.object
	for attempt := 1; ; attempt++ {
		before := sectionsOf(&object)
		object.Status = status
		updated, err := c.objects.Versions.Update(ctx, &object)
		if err == nil {
			v.object = updated
			return without(releaseparts.SecretsOf(before), releaseparts.SecretsOf(sectionsOf(updated))), nil
		}
		if apierrors.IsConflict(err) && attempt < maxAttempts {
			var current *releaseapi.ReleaseVersion
			if current, err = c.objects.Versions.Get(ctx, object.Name); err == nil {
				object = *current
				continue
			}
		}
		if apierrors.IsNotFound(err) {
			return nil, driver.ErrReleaseNotFound
		}
		return nil, err
	}
}

// without returns the elements of list that are not in others.
func without(list, others []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(others, s) })
}

// updateRelease stores in the Release what has changed in one of its versions.
func (d *Driver) updateRelease(ctx context.Context, c *clients, v *storedVersion, rel *release.Release) error {
	name := v.object.Spec.ReleaseName
	known := d.knownRelease(name)
	for range maxAttempts {
		parent := known
		if parent == nil {
			var err error
			if parent, err = c.objects.Releases.Get(ctx, name); apierrors.IsNotFound(err) {
				return driver.ErrReleaseNotFound
			} else if err != nil {
				return err
			}
		}
		if !d.setChanged(parent, v.object, rel) {
			return nil
		}
		updated, err := c.objects.Releases.Update(ctx, parent)
		if err == nil {
			d.rememberRelease(updated)
			if updated.DeletionTimestamp != nil && v.object.Status.Phase == release.StatusDeployed {
				return errDeleting(updated) // nobody will find the release
			}
			return nil
		}
		if apierrors.IsNotFound(err) && !isDefinitionsError(err) {
			return driver.ErrReleaseNotFound
		}
		if !apierrors.IsConflict(err) {
			return err
		}
		known = nil
	}
	return fmt.Errorf("update Release %s: it was changed %d times in the meantime", name, maxAttempts)
}

// updateLease renews or removes the Lease of the lock holder.
func (d *Driver) updateLease(ctx context.Context, c *clients, v *storedVersion, head *releaseparts.Head) error {
	if head.Lease != nil {
		known := v.lease
		if holderlease.HolderID(known) != head.Lease.ID {
			known = nil // that of another operation, whose revision this one has locked
		}
		lease, err := c.leases.Write(ctx, d.knownRelease(head.Name), head.Lease, known)
		if err == nil {
			v.lease = lease
		}
		return err
	}
	if v.lease == nil {
		return nil
	}
	err := c.leases.Remove(ctx, v.object.Namespace, head.Name, v.lease)
	if err == nil {
		v.lease = nil
	}
	return err
}
