// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package crdstorage

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ordered-helm/helm/internal/releaseapi"
	"github.com/ordered-helm/helm/internal/releaseparts"
)

// Revisions returns the revisions of a release, or of all releases if name is empty, without values, manifests,
// hooks and notes, the oldest revision of a release first. It reads no Secrets.
func (d *Driver) Revisions(ctx context.Context, name string) ([]releaseparts.Revision, error) {
	c, err := d.connect()
	if err != nil {
		return nil, err
	}
	versions, err := d.committedVersions(ctx, c, name)
	if err != nil {
		return nil, err
	}
	revisions := make([]releaseparts.Revision, len(versions))
	for i, v := range versions {
		revisions[i] = v.head().Stored(v.object.Name)
	}
	return revisions, nil
}

// committedVersions is like heads, but needs less memory. The driver does not remember the versions, which cannot be updated.
func (d *Driver) committedVersions(ctx context.Context, c *clients, name string) ([]*storedVersion, error) {
	selector, parents := "", map[string]*releaseapi.Release{}
	g, read := errgroup.WithContext(ctx)
	if name != "" {
		selector = releaseapi.VersionsOf(name)
		g.Go(func() error {
			parent, err := readOptional(c.objects.Releases.Get(read, name))
			if parent != nil && err == nil {
				parents[parent.Namespace+"/"+name] = parent
			}
			return err
		})
	} else {
		g.Go(func() error {
			return c.objects.Releases.Each(read, c.raw, "", func(r *releaseapi.Release) { parents[r.Namespace+"/"+r.Name] = r })
		})
	}
	var objects []*releaseapi.ReleaseVersion
	g.Go(func() error {
		return c.objects.Versions.Each(read, c.raw, selector, func(v *releaseapi.ReleaseVersion) { objects = append(objects, v) })
	})
	if err := g.Wait(); err != nil {
		return nil, err
	}
	repair(parents, objects)
	committed, _ := splitCommitted(parents, objects)
	found := make([]*storedVersion, len(committed))
	for i, object := range committed {
		var err error
		if found[i], err = d.withLease(ctx, c, keyOf(object), object); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(found, compareVersions)
	return found, nil
}

// RevisionOf returns the revision of a release that has an ID, in lower or upper case. If there is none, the error is
// a *VersionNotFoundError.
func (d *Driver) RevisionOf(ctx context.Context, name, id string) (int, error) {
	id = strings.ToLower(id)
	c, err := d.connect()
	if err != nil {
		return 0, err
	}
	v, err := c.objects.Versions.Get(ctx, id)
	switch {
	case apierrors.IsNotFound(err) && !isDefinitionsError(err):
		return 0, &VersionNotFoundError{ID: id, Release: name}
	case err != nil:
		return 0, err
	case v.Spec.ReleaseName != name:
		return 0, &VersionNotFoundError{ID: id, Release: name, Owner: v.Spec.ReleaseName}
	}
	// It may not be committed: the revision with its number is another version then.
	stored, err := d.read(ctx, c, versionKey{name, int(v.Spec.Revision)})
	if err != nil {
		return 0, err
	}
	if stored.object.Name != id {
		return 0, &VersionNotFoundError{ID: id, Release: name}
	}
	return int(v.Spec.Revision), nil
}

// VersionNotFoundError reports that a release has no revision with an ID.
type VersionNotFoundError struct {
	ID, Release string
	// Owner is the release to which the ID belongs; empty if the namespace has no such ReleaseVersion.
	Owner string
}

func (e *VersionNotFoundError) Error() string {
	problem := "there is no such ReleaseVersion"
	if e.Owner != "" {
		problem = fmt.Sprintf("it is a revision of release %q", e.Owner)
	}
	return fmt.Sprintf("release %q has no revision %s: %s; \"helm history %s -o json\" prints the revisions of the release", e.Release, e.ID, problem, e.Release)
}

// Revision returns a revision of a release, without values, manifest, hooks and notes. It reads no Secrets.
func (d *Driver) Revision(ctx context.Context, name string, revision int) (releaseparts.Revision, error) {
	c, err := d.connect()
	if err != nil {
		return releaseparts.Revision{}, err
	}
	v, err := d.read(ctx, c, versionKey{name, revision})
	if err != nil {
		return releaseparts.Revision{}, err
	}
	return v.head().Stored(v.object.Name), nil
}

// Newest returns the newest revision of a release. It reads the sections of no other revision.
func (d *Driver) Newest(ctx context.Context, name string) (*release.Release, error) {
	c, err := d.connect()
	if err != nil {
		return nil, err
	}
	versions, err := d.heads(ctx, name)
	if err != nil {
		return nil, err
	}
	if len(versions) == 0 {
		return nil, driver.ErrReleaseNotFound
	}
	rel, err := d.join(ctx, c, versions[len(versions)-1])
	if err != nil {
		return nil, err
	}
	return rel, d.checkPlaceholder(rel)
}

// IDOf returns the ID of a revision that the driver has read or written; empty if it has not.
func (d *Driver) IDOf(name string, revision int) string {
	v := d.known(versionKey{name, revision})
	if v == nil {
		return ""
	}
	return v.object.Name
}
