// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package driftcorrection

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/lease"
)

// InterruptedError reports that the correction of drift stopped, because another operation has
// begun on the release.
type InterruptedError struct {
	Release string
	// Revision is the revision that was re-applied.
	Revision int
	// Err says what was found. It is a *lease.HeldError while the other operation is running.
	Err error
}

func (e *InterruptedError) Error() string {
	return fmt.Sprintf("the correction of drift of release %s stopped at revision %d, because another operation has begun: %v", e.Release, e.Revision, e.Err)
}

// Unwrap returns Err.
func (e *InterruptedError) Unwrap() error { return e.Err }

// revisionCheck finds out whether a revision is still the newest one of its release, and
// deployed. It is safe for concurrent use.
type revisionCheck struct {
	store *history.Store
	rel   *release.Release

	mu sync.Mutex
	// interrupted is the error of run if another operation has begun; otherwise nil.
	interrupted *InterruptedError
}

// run reads the release. It returns an *InterruptedError if another operation has begun on it
// since rel was read, and any other error if it could not be read.
func (r *revisionCheck) run(ctx context.Context) error {
	if err := r.interruptedError(); err != nil {
		return err
	}
	newest, err := r.newest(ctx)
	if err != nil {
		return fmt.Errorf("checking whether another operation has begun on release %s: %w", r.rel.Name, err)
	}
	if newest != nil && newest.Version == r.rel.Version && newest.Info.Status == release.StatusDeployed {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.interrupted == nil {
		r.interrupted = &InterruptedError{Release: r.rel.Name, Revision: r.rel.Version, Err: otherOperationError(newest)}
	}
	return r.interrupted
}

// interruptedError returns the *InterruptedError that run has returned; nil if it has returned
// none.
func (r *revisionCheck) interruptedError() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.interrupted == nil {
		return nil // not a nil *InterruptedError, which would be an error
	}
	return r.interrupted
}

// newest returns the newest revision of the release, perhaps without its manifest; nil if there
// is none. It reads all revisions: a number that follows that of rel does not suffice to find a
// newer one, because the history limit may have deleted this one.
func (r *revisionCheck) newest(ctx context.Context) (*release.Release, error) {
	revisions, err := r.store.Revisions(ctx, r.rel.Name)
	if errors.Is(err, driver.ErrReleaseNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var stored []*release.Release
	for _, revision := range revisions {
		stored = append(stored, revision.Release)
	}
	return history.Newest(stored), nil
}

// otherOperationError returns an error that says what another operation has done, after which
// newest is the newest revision; nil if the release is gone.
func otherOperationError(newest *release.Release) error {
	switch {
	case newest == nil:
		return errors.New("the release no longer exists")
	case !history.IsInProgress(newest.Info.Status):
		return fmt.Errorf("revision %d is %s", newest.Version, newest.Info.Status)
	}
	return lease.NewHeldError(newest)
}
