// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package history creates, reads and writes stored revisions: the releases in Helm's
// storage, one for each revision. During an operation, its Writer is the only writer of the
// revision that the operation works on. Package orderrecord defines the order record, the
// data that Ordered Helm adds to a stored revision, and package lease locks releases.
package history

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordered-helm/helm/internal/object"
)

// Store creates, reads and deletes stored revisions in Helm's storage.
type Store struct {
	releases *storage.Storage
	log      func(string, ...any)
}

// NewStore returns a Store for Helm's storage. It calls log with a format and arguments,
// like fmt.Printf, for each line to log.
func NewStore(releases *storage.Storage, log func(string, ...any)) *Store {
	return &Store{releases: releases, log: log}
}

// DriverName returns the name of Helm's storage driver, as in "Secret".
func (s *Store) DriverName() string { return s.releases.Name() }

// Read returns a stored revision. It returns a *DamagedError if Helm cannot have stored
// the revision, for example because it has no status, or if Helm's driver panics while
// decoding it.
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

// ReadAll returns all stored revisions of a release. It omits revisions that the storage
// driver cannot decode. If Helm cannot have stored one of the others, it returns a
// *DamagedError.
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

// ReadIfAllowed is ReadAll for an install. As in Helm, the result is empty if the release
// does not exist or if the account is not allowed to list its revisions. In the second
// case, the install can continue, because storing revision 1 fails if it already exists.
func (s *Store) ReadIfAllowed(name string) ([]*release.Release, error) {
	list, err := s.ReadAll(name)
	if errors.Is(err, driver.ErrReleaseNotFound) || apierrors.IsForbidden(err) {
		return nil, nil
	}
	return list, err
}

// Deployed returns the stored revisions with the status deployed. If there are none, the
// result is empty and the error is nil.
func (s *Store) Deployed(name string) ([]*release.Release, error) {
	list, err := s.releases.DeployedAll(name)
	if errors.Is(err, driver.ErrNoDeployedReleases) {
		return list, nil
	}
	return list, err
}

// DeleteUnused deletes what the storage driver has left of a release that has no revision, because an operation was
// killed while it stored the first one.
func (s *Store) DeleteUnused(ctx context.Context, name string) error {
	if d, leaves := s.releases.Driver.(interface {
		DeleteUnused(ctx context.Context, release string) error
	}); leaves {
		return d.DeleteUnused(ctx, name)
	}
	return nil
}

// Delete deletes a stored revision.
func (s *Store) Delete(name string, version int) error {
	_, err := s.releases.Delete(name, version)
	return err
}

// OwnerOf returns the reference to the object in which the storage driver stores a release, for the objects of
// the release. It is nil if the storage driver stores no such object, or if it is not to own any.
func (s *Store) OwnerOf(rel *release.Release) *object.ReleaseReference {
	reference, owns := s.ownerReference(rel.Name)
	if !owns {
		return nil
	}
	return &object.ReleaseReference{Reference: reference, Namespace: rel.Namespace}
}

// UIDOf returns the UID of the object in which the storage driver stores a release. It is empty if the storage driver
// stores no such object. Objects of the release can have a reference to it even if OwnerOf returns nil, because earlier
// operations have set it.
func (s *Store) UIDOf(release string) types.UID {
	reference, _ := s.ownerReference(release)
	return reference.UID
}

func (s *Store) ownerReference(release string) (reference metav1.OwnerReference, owns bool) {
	d, stores := s.releases.Driver.(interface {
		OwnerReference(release string) (metav1.OwnerReference, bool)
	})
	if !stores {
		return metav1.OwnerReference{}, false
	}
	return d.OwnerReference(release)
}

// SetWaited notes that the operation on a revision has waited until its resources were ready. Storage drivers
// that store this do so when the revision is written next.
func (s *Store) SetWaited(rel *release.Release) {
	if d, stores := s.releases.Driver.(interface {
		SetWaited(release string, revision int)
	}); stores {
		d.SetWaited(rel.Name, rel.Version)
	}
}

// Newest returns the revision with the highest number, or nil if the list is empty.
func Newest(revisions []*release.Release) *release.Release {
	var last *release.Release
	for _, r := range revisions {
		if last == nil || r.Version > last.Version {
			last = r
		}
	}
	return last
}

// checkStored returns a *DamagedError if rel, which was read as the given revision of
// release name, cannot have been stored by Helm.
func checkStored(rel *release.Release, name string, version int) error {
	problem := ""
	switch {
	case rel == nil:
		problem = "it is empty"
	case rel.Info == nil:
		problem = "it has no status"
	case rel.Name != name || rel.Version != version:
		problem = fmt.Sprintf("it contains revision %d of release %q", rel.Version, rel.Name)
	case slices.Contains(rel.Hooks, nil):
		problem = "it has an empty hook"
	default:
		return nil
	}
	return &DamagedError{Release: name, Revision: version, Problem: problem}
}

// DamagedError reports a stored revision that Helm cannot have stored, or that cannot be
// decoded.
type DamagedError struct {
	Release  string
	Revision int
	// Problem says what is wrong with the stored revision, as in "it has no status".
	Problem string
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("the stored release %s, revision %d, is damaged: %s; delete it (%s.%s.v%d) once you are sure that no operation is running on the release",
		e.Release, e.Revision, e.Problem, storage.HelmStorageType, e.Release, e.Revision)
}

// Logf writes a line to the log that NewStore was called with.
func (s *Store) Logf(format string, args ...any) { s.log(format, args...) }
