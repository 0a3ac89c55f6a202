// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package history reads and writes the stored revisions of releases. Its Writer is the only
// writer of a revision during an operation. Package lease locks releases, and package
// orderrecord encodes the data that a revision stores about its order and its deployment
// (the record).
package history

import (
	"errors"
	"fmt"
	"runtime"
	"slices"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Store reads, creates and deletes stored revisions in Helm's storage.
type Store struct {
	releases *storage.Storage
	log      func(string, ...any)
}

// NewStore returns a Store for Helm's storage. log is the log of the operation.
func NewStore(releases *storage.Storage, log func(string, ...any)) *Store {
	return &Store{releases: releases, log: log}
}

// DriverName returns the name of the storage driver.
func (s *Store) DriverName() string { return s.releases.Name() }

// Read reads a stored revision. It returns a *DamagedError for a record that Helm would not
// write, or that cannot be decoded so that Helm's driver panics.
func (s *Store) Read(name string, version int) (rel *release.Release, err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case runtime.Error:
			rel, err = nil, &DamagedError{Release: name, Revision: version, Problem: "it cannot be decoded"}
		default:
			panic(p)
		}
	}()
	rel, err = s.releases.Get(name, version)
	if err == nil {
		err = checkStored(rel, name, version)
	}
	if err != nil {
		return nil, err
	}
	return rel, nil
}

// ReadAll reads all revisions of a release that can be decoded.
func (s *Store) ReadAll(name string) ([]*release.Release, error) {
	list, err := s.releases.History(name)
	if err != nil {
		return list, err
	}
	for _, rel := range list {
		if err := checkStored(rel, name, rel.Version); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// ReadIfAllowed is ReadAll for a release that is about to be installed. Like Helm, it
// returns no revisions if the account is not allowed to read them. This is safe because the
// storage does not store the first revision twice.
func (s *Store) ReadIfAllowed(name string) ([]*release.Release, error) {
	list, err := s.ReadAll(name)
	if errors.Is(err, driver.ErrReleaseNotFound) || apierrors.IsForbidden(err) {
		return nil, nil
	}
	return list, err
}

// Deployed reads the revisions that are recorded as deployed. It does not return an error
// if there are none.
func (s *Store) Deployed(name string) ([]*release.Release, error) {
	list, err := s.releases.DeployedAll(name)
	if errors.Is(err, driver.ErrNoDeployedReleases) {
		return list, nil
	}
	return list, err
}

// Delete deletes a stored revision.
func (s *Store) Delete(name string, version int) error {
	_, err := s.releases.Delete(name, version)
	return err
}

// Newest returns the newest of a list of revisions; nil if the list is empty.
func Newest(revisions []*release.Release) *release.Release {
	var last *release.Release
	for _, r := range revisions {
		if last == nil || r.Version > last.Version {
			last = r
		}
	}
	return last
}

// checkStored returns a *DamagedError for a stored revision that Helm would not have
// written.
func checkStored(rel *release.Release, name string, version int) error {
	problem := ""
	switch {
	case rel == nil:
		problem = "it is empty"
	case rel.Info == nil:
		problem = "it has no status"
	case rel.Name != name || rel.Version != version:
		problem = fmt.Sprintf("it is about revision %d of release %q", rel.Version, rel.Name)
	case slices.Contains(rel.Hooks, nil):
		problem = "it has an empty hook"
	default:
		return nil
	}
	return &DamagedError{Release: name, Revision: version, Problem: problem}
}

// DamagedError reports a stored revision that Helm would not have written or that cannot be
// decoded.
type DamagedError struct {
	Release  string
	Revision int
	// Problem says what is wrong with the stored revision.
	Problem string
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("the record of revision %d of release %s is damaged: %s; delete it (%s.%s.v%d) once you are sure that no operation is running on the release",
		e.Revision, e.Release, e.Problem, storage.HelmStorageType, e.Release, e.Revision)
}

// Logf writes to the log of the operation.
func (s *Store) Logf(format string, args ...any) { s.log(format, args...) }
