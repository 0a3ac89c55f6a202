// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package crdstorage

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/internal/releaseapi"
	"github.com/ordered-helm/helm/internal/releaseapplication"
	"github.com/ordered-helm/helm/internal/releaseparts"
)

// Create implements driver.Creator. It returns driver.ErrReleaseExists if the release has this revision or a
// later one already.
//
// The new version belongs to the release from the moment at which the Release names it. To allocate the number
// of the revision, that update fails if another one has been allocated meanwhile.
func (d *Driver) Create(key string, rel *release.Release) error {
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
	parent, err := d.parentFor(ctx, c, k)
	if err != nil {
		return err
	}
	isNewest := !d.isBeforeNewest(parent, k)
	var application *metav1.OwnerReference
	var describing sync.WaitGroup
	if isNewest {
		describing.Go(func() { application = d.describe(ctx, c, parent, rel) })
	}
	v, err := d.createVersion(ctx, c, parent, head, sections)
	describing.Wait()
	if err != nil {
		return err
	}
	if isNewest {
		if err := d.commit(ctx, c, parent, newestVersion{v, rel, application}); err != nil {
			return errors.Join(err, d.discard(ctx, c, v.object))
		}
	}
	d.remember(k, v)
	if head.Lease != nil {
		if v.lease, err = c.leases.write(ctx, parent, head.Lease, nil); err != nil {
			// Nobody would know who works on the revision.
			d.forget(k)
			return errors.Join(err, d.discard(ctx, c, v.object), d.updateParent(ctx, c, k.release, v.object.Name))
		}
	}
	return d.discardUncommitted(ctx, c, k.release)
}

// parentFor returns the Release for a new revision, which it creates if there is none. It returns
// driver.ErrReleaseExists if the revision is allocated.
func (d *Driver) parentFor(ctx context.Context, c *clients, k versionKey) (*releaseapi.Release, error) {
	parent, err := c.objects.Releases.Get(ctx, k.release)
	if apierrors.IsNotFound(err) {
		parent, err = d.createParent(ctx, c, k.release)
	}
	if err != nil {
		return nil, err
	}
	if d.isBeforeNewest(parent, k) && d.known(k) == nil {
		return parent, nil
	}
	return parent, c.checkUnallocated(ctx, parent, k.revision)
}

// isBeforeNewest reports whether a migration creates a revision before the newest one, which belongs to the release
// without being named by the Release.
func (d *Driver) isBeforeNewest(parent *releaseapi.Release, k versionKey) bool {
	return d.options.Migration && int64(k.revision) < parent.Status.Revision
}

// checkUnallocated returns driver.ErrReleaseExists if a release has a revision, or a later one.
func (c *clients) checkUnallocated(ctx context.Context, parent *releaseapi.Release, revision int) error {
	if parent.DeletionTimestamp != nil {
		return fmt.Errorf("release %s is being deleted: try again when kubectl get releases.helm.sh no longer shows it", parent.Name)
	}
	if int64(revision) > parent.Status.Revision {
		return nil
	}
	// The newest version may have been deleted by hand. Its number can be used again then.
	if _, err := c.objects.Versions.Get(ctx, parent.Status.LatestVersion); parent.Status.LatestVersion == "" || !apierrors.IsNotFound(err) {
		return errors.Join(driver.ErrReleaseExists, err)
	}
	return nil
}

// createParent creates the Release for a first revision, and the placeholder for stock Helm. If another operation
// creates the Release at the same time, it returns that one, which may have a revision already.
func (d *Driver) createParent(ctx context.Context, c *clients, name string) (*releaseapi.Release, error) {
	if !d.options.Migration {
		if err := c.helm.checkUnused(ctx, d.options.Namespace, name); err != nil {
			return nil, err
		}
	}
	parent, err := c.objects.Releases.Create(ctx, releaseapi.NewRelease(d.options.Namespace, name))
	if apierrors.IsAlreadyExists(err) {
		parent, err = c.objects.Releases.Get(ctx, name)
	}
	if err != nil || d.options.Migration {
		return parent, err
	}
	return parent, c.helm.create(ctx, parent)
}

// createVersion creates a version with its sections, which does not belong to the release yet.
func (d *Driver) createVersion(ctx context.Context, c *clients, parent *releaseapi.Release, head *releaseparts.Head, sections []releaseparts.Section) (*storedVersion, error) {
	id, err := d.newID(parent, head)
	if err != nil {
		return nil, err
	}
	encoded, err := releaseparts.Encode(sectionPrefix(head.Name, id), sections, nil)
	if err != nil {
		return nil, err
	}
	object := releaseapi.NewReleaseVersion(parent.Namespace, id, versionSpec(head))
	object.OwnerReferences = []metav1.OwnerReference{releaseapi.OwnerReference(parent)}
	object.Status = versionStatus(head, releaseparts.References(encoded))
	if object, err = c.objects.Versions.Create(ctx, object); err != nil {
		return nil, err
	}
	v := &storedVersion{object: object, sections: sections}
	if err := c.sections.Write(ctx, sectionOwner(object), encoded); err != nil {
		return nil, errors.Join(err, d.discard(ctx, c, object))
	}
	return v, nil
}

// describe makes the Application of a release describe a new revision, and creates it for the first one. It returns the
// reference to an Application that was created. Nothing of the release depends on it, so failures are only logged.
func (d *Driver) describe(ctx context.Context, c *clients, parent *releaseapi.Release, rel *release.Release) *metav1.OwnerReference {
	if parent.Status.Revision > 0 {
		if err := c.applications.Describe(ctx, parent, rel); err != nil {
			d.options.Log("%v", err)
		}
		return nil
	}
	application, err := c.applications.Create(ctx, parent, rel)
	if err != nil {
		d.options.Log("%v", err)
	}
	return application
}

// newestVersion is a version that is to become the newest one of its release.
type newestVersion struct {
	*storedVersion
	rel *release.Release
	// application refers to the Application that is to own the Release; nil if that does not change.
	application *metav1.OwnerReference
}

// commit makes a version the newest one of its release, if no other was committed since parent was read.
func (d *Driver) commit(ctx context.Context, c *clients, parent *releaseapi.Release, v newestVersion) error {
	before := parent.Status
	for range maxAttempts {
		d.setNewest(parent, v.object, v.rel, d.countKnown(parent)+1)
		releaseapplication.SetOwner(parent, v.application, v.rel)
		updated, err := c.objects.Releases.Update(ctx, parent)
		if err == nil {
			d.rememberRelease(updated)
			return nil
		}
		if apierrors.IsNotFound(err) {
			return fmt.Errorf("release %s was deleted in the meantime: %w", parent.Name, err)
		}
		if !apierrors.IsConflict(err) {
			return err
		}
		if parent, err = c.objects.Releases.Get(ctx, parent.Name); err != nil {
			return err
		}
		if parent.Status.LatestVersion == v.object.Name { // the response to the update was lost
			d.rememberRelease(parent)
			return nil
		}
		if parent.Status.LatestVersion != before.LatestVersion || parent.Status.Revision != before.Revision {
			return driver.ErrReleaseExists
		}
	}
	return fmt.Errorf("update Release %s: it was changed %d times in the meantime", parent.Name, maxAttempts)
}

// discardUncommitted deletes the versions of a release that were found uncommitted before. Their operations
// can no longer commit them, because the number of their revision is allocated now.
func (d *Driver) discardUncommitted(ctx context.Context, c *clients, release string) error {
	var errs []error
	for _, v := range d.takeUncommitted(release) {
		errs = append(errs, d.discard(ctx, c, v))
	}
	return errors.Join(errs...)
}

// discard deletes a version and its sections, in this order, so that there is no version whose sections are missing. If
// the process is killed in between, the garbage collector deletes the sections.
func (d *Driver) discard(ctx context.Context, c *clients, v *releaseapi.ReleaseVersion) error {
	err := c.objects.Versions.Delete(ctx, v.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(v.UID))})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return err
	}
	return c.sections.Delete(ctx, sectionOwner(v), releaseparts.SecretsOf(sectionsOf(v)))
}
