// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package history reads and writes the stored revisions of releases: it creates
// revisions, and it is the only writer of a revision while an operation works on it.
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

// Store is the storage of releases.
type Store struct {
	releases *storage.Storage
	log      func(string, ...any)
}

// NewStore returns a store over Helm's storage.
func NewStore(releases *storage.Storage, log func(string, ...any)) *Store {
	return &Store{releases: releases, log: log}
}

// DriverName is the name of the storage driver.
func (s *Store) DriverName() string { return s.releases.Name() }

// Read reads a stored revision. A record that Helm cannot decode, for which its driver
// panics, and one that Helm would not have written is a *DamagedError.
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

// ReadIfAllowed is ReadAll for a release that is about to be installed. Like Helm it
// finds no revisions if the account must not read them: the storage refuses to store the
// first revision twice.
func (s *Store) ReadIfAllowed(name string) ([]*release.Release, error) {
	list, err := s.ReadAll(name)
	if errors.Is(err, driver.ErrReleaseNotFound) || apierrors.IsForbidden(err) {
		return nil, nil
	}
	return list, err
}

// Deployed reads the revisions that are recorded as deployed; none is no error.
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

// Newest is the newest of some revisions; nil if there is none.
func Newest(revisions []*release.Release) *release.Release {
	var last *release.Release
	for _, r := range revisions {
		if last == nil || r.Version > last.Version {
			last = r
		}
	}
	return last
}

// checkStored rejects a revision that Helm would not have stored so.
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

// DamagedError says that the record of a revision is not one that Helm would write.
type DamagedError struct {
	Release  string
	Revision int
	// Problem says what is wrong with the record.
	Problem string
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("the record of revision %d of release %s is damaged: %s; delete it (%s.%s.v%d) once you are sure that no operation is running on the release",
		e.Revision, e.Release, e.Problem, storage.HelmStorageType, e.Release, e.Revision)
}

// Logf writes to the log of the operation.
func (s *Store) Logf(format string, args ...any) { s.log(format, args...) }
