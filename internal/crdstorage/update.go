// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package crdstorage

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

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
	if !onlyRenewed(&v.object.Status, &status) {
		if err := c.sections.Write(ctx, sectionOwner(v.object), encoded); err != nil {
			return err
		}
		if err := d.replaceStatus(ctx, c, v, status); err != nil {
			return err
		}
		if err := d.updateRelease(ctx, c, v, rel); err != nil {
			return err
		}
	}
	v.sections = sections
	d.remember(k, v)
	return d.updateLease(ctx, c, v, head)
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

// replaceStatus stores a version with another status, whose sections are written already. Then it deletes the
// sections that are no longer used, so that the version can be read at any time.
func (d *Driver) replaceStatus(ctx context.Context, c *clients, v *storedVersion, status releaseapi.ReleaseVersionStatus) error {
	object := *v.object
	for attempt := 1; ; attempt++ {
		unused := sectionsOf(&object)
		object.Status = status
		updated, err := c.objects.Versions.Update(ctx, &object)
		if err == nil {
			v.object = updated
			return c.sections.Delete(ctx, sectionOwner(updated), without(releaseparts.SecretsOf(unused), releaseparts.SecretsOf(sectionsOf(updated))))
		}
		if apierrors.IsConflict(err) && attempt < maxAttempts {
			var current *releaseapi.ReleaseVersion
			if current, err = c.objects.Versions.Get(ctx, object.Name); err == nil {
				object = *current
				continue
			}
		}
		if apierrors.IsNotFound(err) {
			return driver.ErrReleaseNotFound
		}
		return err
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
			return nil
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
		if holderID(known) != head.Lease.ID {
			known = nil // that of another operation, whose revision this one has locked
		}
		lease, err := c.leases.write(ctx, d.knownRelease(head.Name), head.Lease, known)
		if err == nil {
			v.lease = lease
		}
		return err
	}
	if v.lease == nil {
		return nil
	}
	err := c.leases.remove(ctx, v.object.Namespace, head.Name, holderID(v.lease))
	if err == nil {
		v.lease = nil
	}
	return err
}
