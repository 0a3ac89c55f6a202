// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"errors"
	"fmt"
	"slices"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
)

// Create stores rel, a new revision, and deletes the oldest revisions as Helm does. If
// several operations create the same revision, only one succeeds; the others get a
// *ConflictError. Before Create deletes the previous revision, it calls inUse, which
// returns an error if another operation is running on that revision. deletedPrevious
// reports whether Create deleted it. After an error, Create also reads the revision,
// because not every driver reports that a revision already exists.
func (s *Store) Create(rel *release.Release, inUse func(previous *release.Release) error) (deletedPrevious bool, err error) {
	guarded := &guardedDriver{Driver: s.releases.Driver, revision: rel.Version, inUse: inUse}
	releases := *s.releases
	releases.Driver = guarded
	err = releases.Create(Copy(rel))
	if err == nil {
		return guarded.deletedPrevious, nil
	}
	if refused, ok := errors.AsType[*inUseError](err); ok {
		return false, refused.error
	}
	_, missing := s.Read(rel.Name, rel.Version)
	damaged, isDamaged := errors.AsType[*DamagedError](missing)
	switch {
	case isDamaged:
		return false, damaged
	case errors.Is(err, driver.ErrReleaseExists) || missing == nil:
		return false, &ConflictError{Release: rel.Name, Revision: rel.Version}
	}
	return false, err
}

// guardedDriver is the storage driver for Create. Helm's storage deletes the oldest
// revisions first. Without this driver, it could delete a revision that another operation
// has just created or is working on, and both operations would continue.
type guardedDriver struct {
	driver.Driver
	revision        int
	inUse           func(*release.Release) error
	deletedPrevious bool
}

// inUseError marks an error that the function inUse returned for the previous revision, so
// that Create can tell it from errors of the storage.
type inUseError struct{ error }

// Query lists stored revisions. It fails if one of them is not older than the new one.
func (d *guardedDriver) Query(labels map[string]string) ([]*release.Release, error) {
	list, err := d.Driver.Query(labels)
	if slices.ContainsFunc(list, func(rel *release.Release) bool { return rel.Version >= d.revision }) {
		return nil, driver.ErrReleaseExists
	}
	for _, rel := range list {
		if err := d.checkPrevious(rel); err != nil {
			return nil, err
		}
	}
	return list, err
}

// Delete deletes a revision. It stores the revision again if another operation started on
// it just before the deletion.
func (d *guardedDriver) Delete(key string) (*release.Release, error) {
	rel, err := d.Driver.Delete(key)
	if err != nil || rel == nil {
		return rel, err
	}
	if err := d.checkPrevious(rel); err != nil {
		return nil, errors.Join(err, d.Create(key, rel))
	}
	d.deletedPrevious = d.deletedPrevious || rel.Version == d.revision-1
	return rel, nil
}

func (d *guardedDriver) checkPrevious(rel *release.Release) error {
	if rel.Version != d.revision-1 || rel.Info == nil || d.inUse == nil {
		return nil
	}
	if err := d.inUse(rel); err != nil {
		return &inUseError{err}
	}
	return nil
}

// ConflictError reports that another operation created the revision first.
type ConflictError struct {
	Release  string
	Revision int
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("another operation created revision %d of release %s in the meantime; nothing was changed, try again", e.Revision, e.Release)
}

// Unwrap returns Helm's error for a release that already exists.
func (e *ConflictError) Unwrap() error { return driver.ErrReleaseExists }
