// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package crdstorage

import (
	"context"
	"errors"

	"helm.sh/helm/v3/pkg/release"
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
	v, err := d.read(ctx, c, k)
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
	return rel, d.deleteUnused(ctx, c, k.release)
}

// deleteUnused deletes the Release of which no version is left, and what belongs to it. By then, its objects are
// deleted, or they must stay in the cluster and have no reference to it.
func (d *Driver) deleteUnused(ctx context.Context, c *clients, name string) error {
	parents, versions, err := d.readObjects(ctx, c, releaseapi.VersionsOf(name), name)
	if err != nil {
		return err
	}
	for _, parent := range parents {
		for _, v := range versions {
			if isCommitted(parent, v) {
				return nil
			}
		}
		d.forgetRelease(name)
		err := c.objects.Releases.Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &parent.UID, ResourceVersion: &parent.ResourceVersion}})
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // a conflict: another operation creates a revision
			return nil
		}
		if err != nil {
			return err
		}
		// The garbage collector would delete these, too, but it may be slow.
		for _, v := range versions {
			if err := d.discard(ctx, c, v); err != nil {
				return err
			}
		}
		return errors.Join(c.leases.removeAny(ctx, parent), c.helm.remove(ctx, parent))
	}
	return nil
}
