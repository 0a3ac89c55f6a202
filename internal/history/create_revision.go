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

// Create stores rel as a new revision, and deletes the oldest revisions if there are more
// than the history limit allows. If several operations create the same revision, one of
// them succeeds, and the others get a *ConflictError. Before Create deletes the previous
// revision, it calls inUse with that revision, and fails if inUse returns an error because
// another operation is running on it. deletedPrevious reports whether Create deleted the
// previous revision.
func (s *Store) Create(rel *release.Release, inUse func(previous *release.Release) error) (deletedPrevious bool, err error) {
	detecting := &conflictDriver{Driver: s.releases.Driver, revision: rel.Version, inUse: inUse}
	releases := *s.releases
	releases.Driver = detecting
	err = releases.Create(Copy(rel))
	if err == nil {
		return detecting.deletedPrevious, nil
	}
	if used, ok := errors.AsType[*inUseError](err); ok {
		return false, used.error
	}
	// Not every storage driver returns ErrReleaseExists, so look for the revision as well.
	_, readErr := s.Read(rel.Name, rel.Version)
	damaged, isDamaged := errors.AsType[*DamagedError](readErr)
	switch {
	case isDamaged:
		return false, damaged
	case errors.Is(err, driver.ErrReleaseExists) || readErr == nil:
		return false, &ConflictError{Release: rel.Name, Revision: rel.Version}
	}
	return false, err
}

// conflictDriver is the storage driver that Create uses to detect other operations. Helm's
// storage deletes the oldest revisions before it creates the new one. Without
// conflictDriver, it could delete a revision that another operation has just created or is
// working on.
type conflictDriver struct {
	driver.Driver
	revision        int
	inUse           func(*release.Release) error
	deletedPrevious bool
}

// pruner is a storage driver that stores more of a release than its revisions, and deletes that with the last of them.
type pruner interface {
	// Prune deletes a revision before another one is created. What else there is of the release stays.
	Prune(key string) (*release.Release, error)
}

// inUseError wraps an error that inUse returned, so that Create can distinguish it from
// errors of the storage.
type inUseError struct{ error }

// Query returns the stored revisions, from which Helm's storage chooses those to delete. It
// fails if the revision to create, or a newer one, already exists, or if inUse returns an
// error for the previous revision.
func (d *conflictDriver) Query(labels map[string]string) ([]*release.Release, error) {
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

// Delete deletes a revision. If another operation started on the revision just before,
// Delete stores it again and returns an error.
func (d *conflictDriver) Delete(key string) (*release.Release, error) {
	remove := d.Driver.Delete
	if p, ok := d.Driver.(pruner); ok {
		remove = p.Prune
	}
	rel, err := remove(key)
	if err != nil || rel == nil {
		return rel, err
	}
	if err := d.checkPrevious(rel); err != nil {
		return nil, errors.Join(err, d.Create(key, rel))
	}
	d.deletedPrevious = d.deletedPrevious || rel.Version == d.revision-1
	return rel, nil
}

// checkPrevious calls inUse if rel is the revision before the one to create.
func (d *conflictDriver) checkPrevious(rel *release.Release) error {
	if rel.Version != d.revision-1 || rel.Info == nil || d.inUse == nil {
		return nil
	}
	if err := d.inUse(rel); err != nil {
		return &inUseError{err}
	}
	return nil
}

// ConflictError reports that another operation has created the same revision first.
type ConflictError struct {
	Release  string
	Revision int
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("another operation created revision %d of release %s in the meantime; nothing was changed, try again", e.Revision, e.Release)
}

// Unwrap returns driver.ErrReleaseExists.
func (e *ConflictError) Unwrap() error { return driver.ErrReleaseExists }
