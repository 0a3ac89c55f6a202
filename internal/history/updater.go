// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"errors"
	"sync"
	"time"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/httpretry"
	"github.com/ordered-helm/helm/internal/timing"
)

// writeTimeout limits the time for which a write is retried while the server does not
// respond.
const writeTimeout = 45 * time.Second

// updater stores a workingCopy, with one request at a time, if the WriteGuard allows it.
type updater struct {
	current *workingCopy
	// update sends the request that stores a release.
	update func(*release.Release) error
	// mu is locked while a request stores the release.
	mu sync.Mutex
}

// withLock calls do while no request to store the release is in progress.
func (u *updater) withLock(do func() error) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return do()
}

// write stores the current release. While the server does not respond, it tries again until
// writeTimeout, if the WriteGuard allows it. The caller must have locked mu.
func (u *updater) write() error {
	for began := time.Now(); ; {
		if done, err := u.check(); done || err != nil {
			return err
		}
		err := u.writeOnce()
		if late, _ := errors.AsType[*httpretry.ReleaseUpdateTimeoutError](err); late == nil || timing.Elapsed(began) > writeTimeout {
			return err
		}
	}
}

// check asks the WriteGuard whether the release may be written. done reports that no write is
// needed, because the release is already stored in its current, final state.
func (u *updater) check() (done bool, err error) {
	guard := u.current.currentGuard()
	if guard == nil {
		return false, nil
	}
	if err := guard.Check(); err != nil {
		return false, err
	}
	return u.current.isFinalStateStored(guard), nil
}

// writeOnce stores the current release with one request. The caller must have locked mu.
func (u *updater) writeOnce() error {
	sent := time.Now()
	s, err := u.current.snapshot()
	if err != nil {
		return err
	}
	if s.guard != nil && !IsInProgress(s.rel.Info.Status) {
		s.guard.BeforeFinalWrite(*s.rel.Info)
	}
	if err := u.update(s.rel); err != nil {
		return err
	}
	u.current.setStored(s)
	if s.guard != nil {
		s.guard.AfterWrite(sent)
	}
	return nil
}

// update replaces a stored revision.
func (s *Store) update(rel *release.Release) error { return s.releases.Update(rel) }

// updateHookResults stores the results of the hooks of rel, and the objects of its managed hooks,
// without other changes to the stored revision.
func (s *Store) updateHookResults(rel *release.Release) error {
	stored, err := s.Read(rel.Name, rel.Version)
	if err != nil {
		return err
	}
	updated := withHookResults(stored, rel.Hooks)
	if err := mergeHookObjects(updated, rel); err != nil {
		return err
	}
	return s.update(updated)
}
