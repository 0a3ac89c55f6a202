// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/ordered-helm/helm/internal/releaseparts"
)

// partialReader is a storage driver that can read a revision without its values, manifest, hooks and notes, and the
// newest revision without the others.
type partialReader interface {
	// Revisions returns the revisions of a release. If it has none, the result is empty, or the error is
	// driver.ErrReleaseNotFound.
	Revisions(ctx context.Context, name string) ([]releaseparts.Revision, error)
	Revision(ctx context.Context, name string, revision int) (releaseparts.Revision, error)
	Newest(ctx context.Context, name string) (*release.Release, error)
}

// identifier is a storage driver whose revisions have IDs.
type identifier interface {
	// RevisionOf returns the number of the revision of a release that has an ID.
	RevisionOf(ctx context.Context, name, id string) (int, error)
	// IDOf returns the ID of a revision that the driver has read or written; empty if it has not.
	IDOf(name string, revision int) string
}

// Revisions returns the revisions of a release. Of storage drivers that can do so, it reads them without values,
// manifests, hooks and notes.
func (s *Store) Revisions(ctx context.Context, name string) ([]releaseparts.Revision, error) {
	if d, reads := s.releases.Driver.(partialReader); reads {
		revisions, err := d.Revisions(ctx, name)
		if err == nil && len(revisions) == 0 {
			err = driver.ErrReleaseNotFound
		}
		return revisions, err
	}
	list, err := s.releases.History(name)
	if err != nil {
		return nil, err
	}
	revisions := make([]releaseparts.Revision, len(list))
	for i, rel := range list {
		revisions[i] = releaseparts.NewRevision(rel)
	}
	return revisions, nil
}

// Revision is like Revisions, for one revision.
func (s *Store) Revision(ctx context.Context, name string, revision int) (releaseparts.Revision, error) {
	if d, reads := s.releases.Driver.(partialReader); reads {
		return d.Revision(ctx, name, revision)
	}
	rel, err := s.releases.Get(name, revision)
	if err != nil {
		return releaseparts.Revision{}, err
	}
	return releaseparts.NewRevision(rel), nil
}

// ReadsNewestAlone returns a storage that, to return the newest revision of a release, reads no other one
// completely: its methods History and Last find only the newest revision. Requests end with ctx. If the storage
// driver cannot do so, it returns releases.
func ReadsNewestAlone(ctx context.Context, releases *storage.Storage) *storage.Storage {
	d, reads := releases.Driver.(partialReader)
	if !reads {
		return releases
	}
	alone := *releases
	alone.Driver = &newestDriver{Driver: releases.Driver, newest: func(name string) (*release.Release, error) { return d.Newest(ctx, name) }}
	return &alone
}

// newestDriver is a storage driver that finds only the newest revision of a release.
type newestDriver struct {
	driver.Driver
	newest func(name string) (*release.Release, error)
}

// Query implements driver.Queryor.
func (d *newestDriver) Query(labels map[string]string) ([]*release.Release, error) {
	rel, err := d.newest(labels["name"])
	if err != nil {
		return nil, err
	}
	return []*release.Release{rel}, nil
}

// NumberOf returns the number of the revision of a release that has an ID. If the revisions of the storage driver
// have no IDs, the error is a *NoIDsError.
func (s *Store) NumberOf(ctx context.Context, name, id string) (int, error) {
	d, identifies := s.releases.Driver.(identifier)
	if !identifies {
		return 0, &NoIDsError{ID: id, Release: name, Driver: s.DriverName()}
	}
	return d.RevisionOf(ctx, name, id)
}

// IDOf returns the ID of a revision that was read from the storage or written to it; empty if it has none.
func (s *Store) IDOf(name string, revision int) string {
	if d, identifies := s.releases.Driver.(identifier); identifies {
		return d.IDOf(name, revision)
	}
	return ""
}

// NoIDsError reports that a revision was selected by the name of its ReleaseVersion, but the storage driver stores
// none.
type NoIDsError struct {
	ID, Release string
	// Driver is the name of the storage driver.
	Driver string
}

func (e *NoIDsError) Error() string {
	return fmt.Sprintf("%s is the name of a ReleaseVersion, but HELM_DRIVER is %s: set HELM_DRIVER=crd if release %q is stored so, or use the number of a revision, which \"helm history %s\" prints",
		e.ID, strings.ToLower(e.Driver), e.Release, e.Release)
}

// NewestWith returns the newest of the revisions that have a status; nil if none has it.
func NewestWith(revisions []*release.Release, status release.Status) *release.Release {
	return Newest(slices.DeleteFunc(slices.Clone(revisions), func(rel *release.Release) bool { return rel.Info.Status != status }))
}
