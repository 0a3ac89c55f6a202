// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package crdstorage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"golang.org/x/sync/errgroup"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/internal/holderlease"
	"github.com/ordered-helm/helm/internal/placeholder"
	"github.com/ordered-helm/helm/internal/releaseapi"
	"github.com/ordered-helm/helm/internal/releaseparts"
)

// maxParallelReads is how many revisions are read at the same time.
const maxParallelReads = 4

// storedVersion is a revision as it was read or written last.
type storedVersion struct {
	object *releaseapi.ReleaseVersion
	// lease is the Lease as the lock holder that the object names has written it last; nil if there is none.
	lease *coordinationv1.Lease
	// sections are the sections, if they are known.
	sections []releaseparts.Section
}

// sectionOwner returns the owner of the sections of a version.
func sectionOwner(v *releaseapi.ReleaseVersion) releaseparts.Owner {
	return releaseparts.Owner{
		Namespace: v.Namespace, Release: v.Spec.ReleaseName, Revision: int(v.Spec.Revision), Reference: releaseapi.OwnerReference(v),
	}
}

// sectionPrefix returns the beginning of the names of the Secrets of a version.
func sectionPrefix(release, id string) string { return release + "." + id }

// head returns what is known of a version without its sections. The last heartbeat of the lock holder is in the
// Lease.
func (v *storedVersion) head() *releaseparts.Head {
	head := headOf(v.object)
	if renewed := holderlease.RenewedAt(v.lease); head.Lease != nil && renewed.After(head.Lease.RenewedAt) {
		head.Lease.RenewedAt = renewed
	}
	return head
}

// matches reports whether a version has labels with which Helm selects releases.
func matches(v *storedVersion, labels map[string]string) bool {
	for key, want := range labels {
		switch key {
		case "owner":
			if want != "helm" {
				return false
			}
		case "name":
			if v.object.Spec.ReleaseName != want {
				return false
			}
		case "status":
			if v.object.Status.Phase.String() != want {
				return false
			}
		case "version":
			if strconv.FormatInt(v.object.Spec.Revision, 10) != want {
				return false
			}
		default:
			if v.object.Status.Labels[key] != want {
				return false
			}
		}
	}
	return true
}

// Get implements driver.Queryor.
func (d *Driver) Get(key string) (*release.Release, error) {
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
	if err == nil {
		err = d.checkPlaceholder(rel)
	}
	if err != nil {
		return nil, err
	}
	return rel, nil
}

// checkPlaceholder returns a *placeholder.MigrationError if rel is the placeholder of a migration.
func (d *Driver) checkPlaceholder(rel *release.Release) error {
	if d.options.Migration {
		return nil
	}
	return placeholder.Check(rel, DriverName)
}

// version returns a revision as it is known, or reads it.
func (d *Driver) version(ctx context.Context, c *clients, k versionKey) (*storedVersion, error) {
	if v := d.known(k); v != nil && d.knownRelease(k.release) != nil {
		return v, nil
	}
	return d.read(ctx, c, k)
}

// read reads a revision, without its sections. It returns driver.ErrReleaseNotFound if the release does not have it.
func (d *Driver) read(ctx context.Context, c *clients, k versionKey) (*storedVersion, error) {
	parent, object, err := d.readByName(ctx, c, k)
	if err != nil {
		return nil, err
	}
	switch {
	case parent == nil:
		return nil, driver.ErrReleaseNotFound
	case isCommitted(parent, object):
	case int64(k.revision) > parent.Status.Revision && d.isComplete(k.release):
		return nil, driver.ErrReleaseNotFound
	default:
		if object, err = d.readByLabel(ctx, c, k); err != nil {
			return nil, err
		}
	}
	v, err := d.withLease(ctx, c, k, object)
	if err != nil {
		return nil, err
	}
	d.remember(k, v)
	return v, nil
}

// readByName reads a Release and, if its name is known, the ReleaseVersion of a revision. It returns nil for what does not
// exist. Unlike lists, such requests never wait until the cache of the API server is up to date.
func (d *Driver) readByName(ctx context.Context, c *clients, k versionKey) (parent *releaseapi.Release, object *releaseapi.ReleaseVersion, err error) {
	known := d.known(k)
	g, groupCtx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		parent, err = readOptional(c.objects.Releases.Get(groupCtx, k.release))
		return err
	})
	if known != nil {
		g.Go(func() (err error) {
			object, err = readOptional(c.objects.Versions.Get(groupCtx, known.object.Name))
			return err
		})
	}
	if err := g.Wait(); err != nil || parent == nil {
		return nil, nil, err
	}
	if before := d.knownRelease(k.release); before != nil && before.UID == parent.UID && before.ResourceVersion == parent.ResourceVersion {
		parent = before // which may be repaired
	}
	d.rememberRelease(parent)
	if object == nil && int64(k.revision) == parent.Status.Revision && parent.Status.LatestVersion != "" {
		object, err = readOptional(c.objects.Versions.Get(ctx, parent.Status.LatestVersion))
	}
	return parent, object, err
}

// readOptional returns nil for an object that does not exist.
func readOptional[T any](object *T, err error) (*T, error) {
	if apierrors.IsNotFound(err) && !isDefinitionsError(err) {
		return nil, nil
	}
	return object, err
}

// readByLabel reads the ReleaseVersion of a revision. It returns driver.ErrReleaseNotFound if the release does not have it.
func (d *Driver) readByLabel(ctx context.Context, c *clients, k versionKey) (*releaseapi.ReleaseVersion, error) {
	parent, objects, err := d.readObjects(ctx, c, k.release, releaseapi.VersionsOf(k.release)+","+releaseapi.RevisionLabel+"="+strconv.Itoa(k.revision))
	if err != nil {
		return nil, err
	}
	for _, object := range objects {
		if isCommitted(parent, object) {
			return object, nil
		}
	}
	return nil, driver.ErrReleaseNotFound
}

// heads reads all revisions of a release, or of all releases if name is empty, without their sections. They
// are sorted by namespace, name and revision.
func (d *Driver) heads(ctx context.Context, name string) ([]*storedVersion, error) {
	c, err := d.connect()
	if err != nil {
		return nil, err
	}
	if name == "" {
		return d.committedVersions(ctx, c, "")
	}
	parent, objects, _, err := d.readRelease(ctx, c, name)
	if err != nil {
		return nil, err
	}
	committed, uncommitted := splitCommitted(onlyParent(parent), objects)
	found := make([]*storedVersion, len(committed))
	for i, object := range committed {
		if found[i], err = d.withLease(ctx, c, keyOf(object), object); err != nil {
			return nil, err
		}
	}
	d.rememberAll(name, parent, found, uncommitted)
	slices.SortFunc(found, compareVersions)
	return found, nil
}

// compareVersions orders versions by namespace, name of the release, and revision.
func compareVersions(a, b *storedVersion) int {
	return cmp.Or(cmp.Compare(a.object.Namespace, b.object.Namespace), cmp.Compare(a.object.Spec.ReleaseName, b.object.Spec.ReleaseName),
		cmp.Compare(a.object.Spec.Revision, b.object.Spec.Revision))
}

// readRelease reads a Release, which is nil if it does not exist, and all its ReleaseVersions. Both are of one time, or the
// Release is older: an update of it has a conflict if it names a version that is not among the result.
//
// The returned Release names the version that it would name if nobody had edited it. repaired says whether that differs.
func (d *Driver) readRelease(ctx context.Context, c *clients, name string) (parent *releaseapi.Release, versions []*releaseapi.ReleaseVersion, repaired bool, err error) {
	for range maxAttempts {
		if parent, versions, err = d.readObjects(ctx, c, name, releaseapi.VersionsOf(name)); err != nil || parent == nil {
			return nil, versions, false, err
		}
		latest := parent.Status.LatestVersion
		if latest != "" && !slices.ContainsFunc(versions, func(v *releaseapi.ReleaseVersion) bool { return v.Name == latest }) {
			// The list may have been answered before this version was created.
			v, err := readOptional(c.objects.Versions.Get(ctx, latest))
			if err != nil {
				return nil, nil, false, err
			}
			if v != nil {
				continue
			}
		}
		return parent, versions, repair(onlyParent(parent), versions), nil
	}
	return nil, nil, false, fmt.Errorf("read release %s: other operations change it all the time, try again", name)
}

// readObjects reads a Release, which is nil if it does not exist, and those of its ReleaseVersions that a label selector
// selects.
func (d *Driver) readObjects(ctx context.Context, c *clients, name, selector string) (parent *releaseapi.Release, versions []*releaseapi.ReleaseVersion, err error) {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		list, err := c.objects.Versions.List(ctx, metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			return err
		}
		for i := range list.Items {
			versions = append(versions, &list.Items[i])
		}
		return nil
	})
	g.Go(func() (err error) {
		parent, err = readOptional(c.objects.Releases.Get(ctx, name))
		return err
	})
	err = g.Wait()
	return parent, versions, err
}

func isDefinitionsError(err error) bool {
	definitions, _ := errors.AsType[*releaseapi.DefinitionsError](err)
	return definitions != nil
}

// withLease returns a version that was just read, with what is known of it. If an operation works on it, it
// reads the Lease.
func (d *Driver) withLease(ctx context.Context, c *clients, k versionKey, object *releaseapi.ReleaseVersion) (*storedVersion, error) {
	v := &storedVersion{object: object}
	before := d.known(k)
	if before != nil && before.object.UID == object.UID && reflect.DeepEqual(before.object.Status.Payload, object.Status.Payload) {
		v.sections = before.sections
	}
	operation := object.Status.Operation
	if operation == nil {
		return v, nil
	}
	lease, err := c.leases.Read(ctx, object.Namespace, object.Spec.ReleaseName)
	switch {
	case err != nil:
		return nil, err
	case holderlease.HolderID(lease) == operation.ID:
		v.lease = lease
	case before != nil && holderlease.HolderID(before.lease) == operation.ID:
		// Another operation has the Lease now. What is known of the heartbeat of this one stays the same.
		v.lease = before.lease
	}
	return v, nil
}

// join reads the sections of a version, unless they are known, and returns the release. An operation may replace them
// meanwhile. join then reads the version again.
func (d *Driver) join(ctx context.Context, c *clients, v *storedVersion) (*release.Release, error) {
	for range maxAttempts {
		rel, err := d.joinOnce(ctx, c, v)
		if part, _ := errors.AsType[*releaseparts.PartError](err); part == nil || d.options.Namespace == "" {
			return rel, err
		}
		current, readErr := readOptional(c.objects.Versions.Get(ctx, v.object.Name))
		if readErr != nil || current == nil || current.UID != v.object.UID || reflect.DeepEqual(current.Status.Payload, v.object.Status.Payload) {
			return rel, err
		}
		if v, readErr = d.withLease(ctx, c, keyOf(current), current); readErr != nil {
			return nil, readErr
		}
	}
	return d.joinOnce(ctx, c, v)
}

func (d *Driver) joinOnce(ctx context.Context, c *clients, v *storedVersion) (*release.Release, error) {
	sections := v.sections
	if sections == nil {
		var err error
		if sections, err = c.sections.Read(ctx, sectionOwner(v.object), sectionsOf(v.object)); err != nil {
			return nil, err
		}
		d.rememberSections(v.object, sections)
	}
	return releaseparts.Join(v.head(), sections)
}

// joinAll is join for several versions. Of those whose sections cannot be read, the result contains what
// placeholder.NewUnreadable returns.
func (d *Driver) joinAll(ctx context.Context, versions []*storedVersion) ([]*release.Release, error) {
	c, err := d.connect()
	if err != nil {
		return nil, err
	}
	releases := make([]*release.Release, len(versions))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(maxParallelReads)
	for i, v := range versions {
		g.Go(func() (err error) {
			releases[i], err = d.join(ctx, c, v)
			if part, _ := errors.AsType[*releaseparts.PartError](err); part != nil && ctx.Err() == nil {
				releases[i], err = placeholder.NewUnreadable(v.head(), part), nil
			}
			if err != nil {
				return err
			}
			return d.checkPlaceholder(releases[i])
		})
	}
	return releases, g.Wait()
}

// List implements driver.Queryor. Only the sections of releases that the filter accepts are read: it sees
// releases without values, manifests, hooks and notes.
func (d *Driver) List(filter func(*release.Release) bool) ([]*release.Release, error) {
	ctx := background()
	versions, err := d.heads(ctx, "")
	if err != nil {
		return nil, err
	}
	versions = slices.DeleteFunc(versions, func(v *storedVersion) bool { return !filter(v.head().Release()) })
	return d.joinAll(ctx, versions)
}

// Query implements driver.Queryor. The labels are those that Helm's storage uses: name, owner and status.
func (d *Driver) Query(labels map[string]string) ([]*release.Release, error) {
	ctx := background()
	versions, err := d.heads(ctx, labels["name"])
	if err != nil {
		return nil, err
	}
	versions = slices.DeleteFunc(versions, func(v *storedVersion) bool { return !matches(v, labels) })
	if len(versions) == 0 {
		return nil, driver.ErrReleaseNotFound
	}
	return d.joinAll(ctx, versions)
}
