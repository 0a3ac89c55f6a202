// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package crdstorage

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"
	"helm.sh/helm/v3/pkg/release"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/internal/releaseapi"
	"github.com/ordered-helm/helm/internal/releaseparts"
)

// Delete implements driver.Deletor. With the last revision of a release, it deletes the Release and all that
// belongs to it. It returns the release, without values, manifest, hooks and notes if these cannot be read.
func (d *Driver) Delete(key string) (*release.Release, error) {
	return d.delete(key, d.deleted)
}

// Prune is like Delete, but does not delete the Release with the last revision: another one is created next, and the
// Release owns objects.
func (d *Driver) Prune(key string) (*release.Release, error) {
	return d.delete(key, func(context.Context, *clients, *storedVersion) error { return nil })
}

// delete deletes a revision, and then calls deleted.
func (d *Driver) delete(key string, deleted func(context.Context, *clients, *storedVersion) error) (*release.Release, error) {
	k, err := parseKey(key)
	if err != nil {
		return nil, err
	}
	c, err := d.connect()
	if err != nil {
		return nil, err
	}
	ctx := background()
	v, err := d.version(ctx, c, k)
	if err != nil {
		return nil, err
	}
	rel, err := d.join(ctx, c, v)
	if part, _ := errors.AsType[*releaseparts.PartError](err); part != nil {
		rel, err = v.head().Release(), nil
	}
	if err != nil {
		return nil, err
	}
	d.forget(k)
	existed, err := d.discard(ctx, c, v.object)
	if err != nil {
		return nil, err
	}
	if !existed { // what is known is out of date
		if current, err := d.read(ctx, c, k); err == nil && current.object.UID != v.object.UID {
			return d.delete(key, deleted)
		}
	}
	// Another operation that holds the lock of the release can no longer renew this Lease.
	if err := c.leases.Remove(ctx, v.object.Namespace, k.release, v.lease); err != nil {
		return nil, err
	}
	return rel, deleted(ctx, c, v)
}

// deleted updates the Release of v, a version that was deleted.
func (d *Driver) deleted(ctx context.Context, c *clients, v *storedVersion) error {
	name := v.object.Spec.ReleaseName
	parent := d.knownRelease(name)
	switch {
	case parent == nil || d.options.Migration:
	case d.isEmpty(name):
		// If another operation has changed the Release in the meantime, it may have stored another revision.
		isDeleted, err := d.deleteUnused(ctx, c, parent, d.takeUncommitted(name))
		if isDeleted || err != nil {
			return err
		}
	case d.isComplete(name) && parent.Status.LatestVersion != v.object.Name:
		return nil
	}
	return d.updateParent(ctx, c, name)
}

// DeleteUnused deletes what is left of a release that has no revision: its first operation was killed before it had
// stored one. If that operation still runs, it fails before it changes anything else.
func (d *Driver) DeleteUnused(ctx context.Context, name string) error {
	c, err := d.connect()
	if err != nil {
		return err
	}
	return d.updateParent(ctx, c, name)
}

// updateParent updates the Release after a version of it was deleted, or deletes it if no version is left.
func (d *Driver) updateParent(ctx context.Context, c *clients, name string) error {
	parent, versions, repaired, err := d.readRelease(ctx, c, name)
	if err != nil || parent == nil {
		return err
	}
	committed, _ := splitCommitted(onlyParent(parent), versions)
	switch {
	case len(committed) == 0:
		_, err = d.deleteUnused(ctx, c, parent, versions)
	case repaired:
		err = d.restoreNewest(ctx, c, parent, committed)
	}
	return err
}

// restoreNewest makes the newest of the versions of a Release that are left the one that the Release names.
func (d *Driver) restoreNewest(ctx context.Context, c *clients, parent *releaseapi.Release, left []*releaseapi.ReleaseVersion) error {
	slices.SortFunc(left, func(a, b *releaseapi.ReleaseVersion) int { return cmp.Compare(a.Spec.Revision, b.Spec.Revision) })
	parent.Status.CurrentVersion = ""
	for _, v := range left {
		if v.Status.Phase == release.StatusDeployed {
			parent.Status.CurrentVersion = v.Name
		}
	}
	newest := left[len(left)-1]
	v, err := d.version(ctx, c, versionKey{newest.Spec.ReleaseName, int(newest.Spec.Revision)})
	if err != nil {
		return err
	}
	rel, err := d.join(ctx, c, v)
	if part, _ := errors.AsType[*releaseparts.PartError](err); part != nil {
		rel, err = v.head().Release(), nil
	}
	if err != nil {
		return err
	}
	d.setNewest(parent, newest, rel, len(left))
	updated, err := c.objects.Releases.Update(ctx, parent)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) { // another operation has created the next revision, or deleted the release
		return nil
	}
	if err != nil {
		return err
	}
	d.rememberRelease(updated)
	d.describe(ctx, c, updated, rel)
	return nil
}

// deleteUnused deletes a Release of which no version is left, and what else there is of it: uncommitted are versions that
// do not belong to it. It reports whether it has deleted the Release: it does not if another operation creates a revision.
// By then, the objects of the release are deleted, or they must stay in the cluster and have no reference to it.
func (d *Driver) deleteUnused(ctx context.Context, c *clients, parent *releaseapi.Release, uncommitted []*releaseapi.ReleaseVersion) (isDeleted bool, err error) {
	d.forgetRelease(parent.Name)
	err = c.objects.Releases.Delete(ctx, parent.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &parent.UID, ResourceVersion: &parent.ResourceVersion}})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	// The garbage collector would delete these, too, but it may be slow.
	var g errgroup.Group
	for _, v := range uncommitted {
		g.Go(func() error {
			_, err := d.discard(ctx, c, v)
			return err
		})
	}
	g.Go(func() error { return c.leases.RemoveOwned(ctx, parent) })
	g.Go(func() error { return c.helm.Remove(ctx, parent) })
	g.Go(func() error { return c.applications.Delete(ctx, parent) })
	return true, g.Wait()
}
