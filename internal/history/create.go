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

// Create stores a new revision, which only one operation can do, and deletes the oldest
// revisions as Helm does. It reports whether the previous revision is one of them.
// InUse is asked about the previous revision before that is deleted: it returns an error
// if another operation works on it. Not every driver says that a revision exists already.
func (s *Store) Create(rel *release.Release, inUse func(previous *release.Release) error) (deletedPrevious bool, err error) {
	guarded := &guardedDriver{Driver: s.releases.Driver, revision: rel.Version, inUse: inUse}
	releases := *s.releases
	releases.Driver = guarded
	err = releases.Create(Copy(rel))
	if err == nil {
		return guarded.deletedPrevious, nil
	}
	var refused *inUseError
	if errors.As(err, &refused) {
		return false, refused.error
	}
	_, missing := s.Read(rel.Name, rel.Version)
	var damaged *DamagedError
	switch {
	case errors.As(missing, &damaged):
		return false, damaged
	case errors.Is(err, driver.ErrReleaseExists) || missing == nil:
		return false, &ConflictError{Release: rel.Name, Revision: rel.Version}
	}
	return false, err
}

// guardedDriver is a driver for an operation that creates a revision. Helm deletes the
// oldest revisions first: without the guard it would delete the very revision that
// another operation has created in the meantime, or works on, and both would go on.
type guardedDriver struct {
	driver.Driver
	revision        int
	inUse           func(*release.Release) error
	deletedPrevious bool
}

// inUseError marks the error for which a revision is not created.
type inUseError struct{ error }

// Query lists revisions. It fails if there are revisions that the operation cannot know
// of.
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

// Delete deletes a revision. It stores the revision again if another operation has begun
// to work on it in the meantime.
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

// ConflictError says that another operation has created a revision first.
type ConflictError struct {
	Release  string
	Revision int
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("another operation created revision %d of release %s in the meantime; nothing was changed, try again", e.Revision, e.Release)
}

// Unwrap makes it Helm's error for a release that exists.
func (e *ConflictError) Unwrap() error { return driver.ErrReleaseExists }
