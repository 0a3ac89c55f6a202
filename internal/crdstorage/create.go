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
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/internal/orderrecord"
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
	d.forgetWaited(k)
	ctx := background()
	parent, err := d.parentFor(ctx, c, k)
	if err != nil {
		return err
	}
	isNewest := !d.isBeforeNewest(parent, k)
	v, application, err := d.createObjects(ctx, c, parent, newRevision{rel, head, sections, isNewest})
	if err != nil {
		return err
	}
	owned := *parent // the Release may lose the reference to its Application
	if isNewest {
		if err := d.commit(ctx, c, parent, newestVersion{v, rel, application}, head.Lease); err != nil {
			return err
		}
	}
	d.remember(k, v)
	if isNewest {
		d.describe(ctx, c, &owned, rel)
	}
	d.discardUncommitted(ctx, c, k.release)
	return nil
}

// newRevision is what Create stores.
type newRevision struct {
	rel      *release.Release
	head     *releaseparts.Head
	sections []releaseparts.Section
	isNewest bool
}

// createObjects creates a version that does not belong to its release yet and, for the first revision, the placeholder for
// stock Helm and the Application, to which it returns a reference.
func (d *Driver) createObjects(ctx context.Context, c *clients, parent *releaseapi.Release, r newRevision) (v *storedVersion, application *metav1.OwnerReference, err error) {
	var others sync.WaitGroup
	var placeholderErr error
	if r.isNewest && parent.Status.Revision == 0 {
		others.Go(func() { application = d.createApplication(ctx, c, parent, r.rel) })
		if !d.options.Migration {
			others.Go(func() { placeholderErr = c.helm.Create(ctx, parent) })
		}
	}
	v, err = d.createVersion(ctx, c, parent, r.head, r.sections)
	others.Wait()
	switch {
	case placeholderErr == nil:
		return v, application, err
	case err == nil:
		err = d.discardAfterError(ctx, c, v.object, placeholderErr)
	default:
		err = errors.Join(placeholderErr, err)
	}
	return nil, nil, errors.Join(err, d.updateParent(ctx, c, parent.Name))
}

// parentFor returns the Release for a new revision, which it creates if there is none. It returns
// driver.ErrReleaseExists if the revision is allocated.
func (d *Driver) parentFor(ctx context.Context, c *clients, k versionKey) (*releaseapi.Release, error) {
	parent := d.knownRelease(k.release)
	if parent == nil || parent.Status.Revision == 0 || parent.Status.Revision >= int64(k.revision) {
		var err error
		if parent, err = d.readOrCreateParent(ctx, c, k.release); err != nil {
			return nil, err
		}
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
		return errDeleting(parent)
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

// readOrCreateParent returns the Release of a release. If there is none, it creates one, unless another driver has a
// release with the name. If another operation creates it at the same time, the Release may have a revision already.
func (d *Driver) readOrCreateParent(ctx context.Context, c *clients, name string) (parent *releaseapi.Release, err error) {
	var unused sync.WaitGroup
	var used error
	if !d.options.Migration {
		unused.Go(func() { used = c.helm.CheckUnused(ctx, d.options.Namespace, name) })
	}
	parent, err = readOptional(c.objects.Releases.Get(ctx, name))
	unused.Wait()
	switch {
	case err != nil:
		return nil, err
	case parent != nil && parent.Status.Revision > 0:
		return parent, nil
	case used != nil:
		return nil, used
	case parent != nil:
		return parent, nil
	}
	parent, err = c.objects.Releases.Create(ctx, releaseapi.NewRelease(d.options.Namespace, name))
	if apierrors.IsAlreadyExists(err) {
		parent, err = c.objects.Releases.Get(ctx, name)
	}
	return parent, err
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
		return nil, d.discardAfterError(ctx, c, object, err)
	}
	return v, nil
}

// createApplication creates the Application of a release, and returns the reference to it. Nothing of the release depends
// on it, so failures are only logged.
func (d *Driver) createApplication(ctx context.Context, c *clients, parent *releaseapi.Release, rel *release.Release) *metav1.OwnerReference {
	application, err := c.applications.Create(ctx, parent, rel)
	if err != nil {
		d.options.Log("%v", err)
	}
	return application
}

// describe makes the Application that owns a Release describe a new revision. For the first revision, createApplication has
// done that: nothing owns the Release before.
func (d *Driver) describe(ctx context.Context, c *clients, parent *releaseapi.Release, rel *release.Release) {
	if err := c.applications.Describe(ctx, parent, rel); err != nil {
		d.options.Log("%v", err)
	}
}

// newestVersion is a version that is to become the newest one of its release.
type newestVersion struct {
	*storedVersion
	rel *release.Release
	// application refers to the Application that is to own the Release; nil if that does not change.
	application *metav1.OwnerReference
}

// commit makes a version the newest one of its release, and its operation the lock holder, if lease is not nil. If it
// returns an error, the version is deleted.
func (d *Driver) commit(ctx context.Context, c *clients, parent *releaseapi.Release, v newestVersion, lease *orderrecord.Lease) error {
	if lease == nil {
		if err := d.setNewestVersion(ctx, c, parent, v); err != nil {
			return d.discardAfterError(ctx, c, v.object, err)
		}
		return nil
	}
	// The Lease of another holder must not be replaced before the operation has the lock, but there usually is none.
	var created *coordinationv1.Lease
	var leaseErr error
	var locking sync.WaitGroup
	owner := *parent
	locking.Go(func() { created, leaseErr = c.leases.Create(ctx, &owner, lease) })
	err := d.setNewestVersion(ctx, c, parent, v)
	locking.Wait()
	if err != nil {
		return errors.Join(d.discardAfterError(ctx, c, v.object, err), c.leases.Remove(ctx, v.object.Namespace, v.object.Spec.ReleaseName, created))
	}
	if v.lease = created; created == nil && leaseErr == nil {
		v.lease, leaseErr = c.leases.Write(ctx, parent, lease, nil)
	}
	if leaseErr != nil { // nobody would know who works on the revision
		return errors.Join(d.discardAfterError(ctx, c, v.object, leaseErr), d.updateParent(ctx, c, v.object.Spec.ReleaseName))
	}
	return nil
}

// setNewestVersion stores in the Release that a version is its newest one, if no other has become that since parent was
// read.
func (d *Driver) setNewestVersion(ctx context.Context, c *clients, parent *releaseapi.Release, v newestVersion) error {
	before, uid := parent.Status, parent.UID
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
		if parent.UID != uid {
			return fmt.Errorf("release %s was deleted in the meantime", parent.Name)
		}
		if parent.Status.LatestVersion == v.object.Name { // the response to the update was lost
			d.rememberRelease(parent)
			return nil
		}
		if parent.Status.LatestVersion != before.LatestVersion || parent.Status.Revision != before.Revision {
			return driver.ErrReleaseExists
		}
		if parent.DeletionTimestamp != nil {
			return errDeleting(parent)
		}
	}
	return fmt.Errorf("update Release %s: it was changed %d times in the meantime", parent.Name, maxAttempts)
}

func errDeleting(parent *releaseapi.Release) error {
	return fmt.Errorf("release %s is being deleted: try again when kubectl get releases.helm.sh no longer shows it", parent.Name)
}

// discardUncommitted deletes the versions of a release that were uncommitted when all of it was read. Their operations
// can no longer commit them, because the number of their revision is allocated now. What cannot be deleted stays
// uncommitted, so failures are only logged.
func (d *Driver) discardUncommitted(ctx context.Context, c *clients, release string) {
	for _, v := range d.takeUncommitted(release) {
		if _, err := d.discard(ctx, c, v); err != nil {
			d.options.Log("%v", err)
		}
	}
}

// discard deletes a version and its sections, in this order, so that there is no version whose sections are missing. If
// the process is killed in between, the garbage collector deletes the sections. It reports whether the version existed.
func (d *Driver) discard(ctx context.Context, c *clients, v *releaseapi.ReleaseVersion) (existed bool, err error) {
	err = c.objects.Versions.Delete(ctx, v.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(v.UID))})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return false, err
	}
	return err == nil, c.sections.Delete(ctx, sectionOwner(v), releaseparts.SecretsOf(sectionsOf(v)))
}

// discardAfterError deletes a version that cannot be used because of err, which it returns.
func (d *Driver) discardAfterError(ctx context.Context, c *clients, v *releaseapi.ReleaseVersion, err error) error {
	_, discardErr := d.discard(ctx, c, v)
	return errors.Join(err, discardErr)
}
