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
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/internal/releaseapi"
	"github.com/ordered-helm/helm/internal/releaseparts"
)

// Delete implements driver.Deletor. With the last revision of a release, it deletes the Release and all that
// belongs to it. It returns the release, without values, manifest, hooks and notes if these cannot be read.
func (d *Driver) Delete(key string) (*release.Release, error) {
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
	if err := d.discard(ctx, c, v.object); err != nil {
		return nil, err
	}
	return rel, d.deleted(ctx, c, v)
}

// deleted updates the Release of v, a version that was deleted.
func (d *Driver) deleted(ctx context.Context, c *clients, v *storedVersion) error {
	name := v.object.Spec.ReleaseName
	parent := d.knownRelease(name)
	switch {
	case parent == nil || d.options.Migration:
	case d.isEmpty(name):
		// If another operation has changed the Release in the meantime, it may have stored another revision.
		isDeleted, err := d.deleteUnused(ctx, c, unusedRelease{parent, d.takeUncommitted(name), v.lease})
		if isDeleted || err != nil {
			return err
		}
	case d.isComplete(name) && parent.Status.LatestVersion != v.object.Name:
		return nil
	}
	return d.updateParent(ctx, c, name, v.object.Name)
}

// DeleteUnused deletes what is left of a release that has no revision: its first operation was killed before it had
// stored one. If that operation still runs, it fails before it changes anything else.
func (d *Driver) DeleteUnused(ctx context.Context, name string) error {
	c, err := d.connect()
	if err != nil {
		return err
	}
	return d.updateParent(ctx, c, name, "")
}

// updateParent updates the Release after a version of it was deleted, or deletes it if no version is left.
func (d *Driver) updateParent(ctx context.Context, c *clients, name, deletedVersion string) error {
	parents, versions, err := d.readObjects(ctx, c, releaseapi.VersionsOf(name), name)
	if err != nil {
		return err
	}
	for _, parent := range parents {
		wasNewest := deletedVersion != "" && parent.Status.LatestVersion == deletedVersion
		repair(parents, versions)
		committed := slices.DeleteFunc(slices.Clone(versions), func(v *releaseapi.ReleaseVersion) bool { return !isCommitted(parent, v) })
		switch {
		case len(committed) == 0:
			_, err := d.deleteUnused(ctx, c, unusedRelease{parent: parent, uncommitted: versions})
			return err
		case wasNewest:
			return d.restoreNewest(ctx, c, parent, committed)
		}
	}
	return nil
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
	if err == nil {
		d.rememberRelease(updated)
	}
	return err
}

// unusedRelease is a Release of which no version is left, and what else there is of it.
type unusedRelease struct {
	parent *releaseapi.Release
	// uncommitted are versions that do not belong to the release.
	uncommitted []*releaseapi.ReleaseVersion
	// lease is the Lease of the operation that deletes the release; nil if it is not known.
	lease *coordinationv1.Lease
}

// deleteUnused deletes a Release of which no version is left, and what else there is of it, and reports whether it has. It
// does not if another operation creates a revision. By then, the objects of the release are deleted, or they must stay in
// the cluster and have no reference to it.
func (d *Driver) deleteUnused(ctx context.Context, c *clients, r unusedRelease) (isDeleted bool, err error) {
	d.forgetRelease(r.parent.Name)
	err = c.objects.Releases.Delete(ctx, r.parent.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &r.parent.UID, ResourceVersion: &r.parent.ResourceVersion}})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	// The garbage collector would delete these, too, but it may be slow.
	var g errgroup.Group
	for _, v := range r.uncommitted {
		g.Go(func() error { return d.discard(ctx, c, v) })
	}
	g.Go(func() error {
		if r.lease != nil {
			return c.leases.Remove(ctx, r.parent.Namespace, r.parent.Name, r.lease)
		}
		return c.leases.RemoveAny(ctx, r.parent)
	})
	g.Go(func() error { return c.helm.remove(ctx, r.parent) })
	g.Go(func() error { return c.applications.Delete(ctx, r.parent) })
	return true, g.Wait()
}
