// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package statemigration

import (
	"context"
	"errors"
	"fmt"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/lease"
	"github.com/ordered-helm/helm/internal/placeholder"
	"github.com/ordered-helm/helm/internal/releaseparts"
)

// operationName is the name of a migration as the holder of a lock.
const operationName = "state migrate"

// lock is the lock of a release in the old storage: the placeholder of the migration, whose lease names this process.
type lock struct {
	cancel context.CancelCauseFunc
	writer *history.Writer
	lease  *lease.Lease
}

// lock locks the release in the old storage. It continues an interrupted migration if the process that has begun it is no
// longer alive. The context that it returns ends when another process takes over the migration.
func (m *Migration) lock(ctx context.Context, s *state) (context.Context, *lock, error) {
	store := history.NewStore(storage.Init(s.from.driver), m.Log)
	check := &lease.LockCheck{Store: store, Events: m.Events, Release: m.Release}
	found, err := check.Run(ctx)
	if err == nil {
		err = found.Err
	}
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	held, err := m.holdLock(s, store, found, cancel)
	if err != nil {
		cancel(nil)
		return nil, nil, err
	}
	return ctx, held, nil
}

// holdLock creates the lock, or takes over that of an interrupted migration. cancel is called if the lock is lost.
func (m *Migration) holdLock(s *state, store *history.Store, found *lease.LockCheckResult, cancel context.CancelCauseFunc) (*lock, error) {
	if s.from.lock == nil {
		return m.createLock(s, store, found, cancel)
	}
	if found.Stale == nil || placeholder.MigrationOf(found.Last) == nil {
		return nil, fmt.Errorf("the migration of release %s has just been completed or continued by another process: try again", m.Release)
	}
	held, err := m.acquire(store, s.from.lock, cancel)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(held.writer.Write(nil), held.writer.WithWriteLock(held.lease.Confirm)); err != nil {
		held.end()
		return nil, err
	}
	return held, nil
}

// createLock creates the placeholder, and then reads the revisions again, which nobody changes from now on.
func (m *Migration) createLock(s *state, store *history.Store, found *lease.LockCheckResult, cancel context.CancelCauseFunc) (*lock, error) {
	rel, err := m.newLock(found.Last, false)
	if err != nil {
		return nil, err
	}
	held, err := m.acquire(store, rel, cancel)
	if err != nil {
		return nil, err
	}
	if _, err := lease.CreateNext(store, m.Events, held.writer.Release(), found); err != nil {
		held.end()
		return nil, err
	}
	s.from = stored{driver: s.from.driver}
	if err := m.readFrom(&s.from, m.From.Name); err != nil {
		held.end()
		return nil, errors.Join(err, store.Delete(rel.Name, rel.Version))
	}
	return held, nil
}

// newLock returns the placeholder of the migration for the revision after last.
func (m *Migration) newLock(last *release.Release, copied bool) (*release.Release, error) {
	head, _, err := releaseparts.Split(last)
	if err != nil {
		return nil, err
	}
	head.Revision++
	return placeholder.NewMigration(placeholder.Migration{From: m.From.Name, To: m.To.Name, Copied: copied}, head), nil
}

// acquire makes a lease of this process part of rel, the placeholder in the old storage.
func (m *Migration) acquire(store *history.Store, rel *release.Release, cancel context.CancelCauseFunc) (*lock, error) {
	held := &lock{cancel: cancel, writer: store.NewWriter(rel)}
	if err := held.writer.SetStoredRecord(nil); err != nil {
		return nil, err
	}
	var err error
	if held.lease, err = lease.Acquire(held.writer, operationName, rel.Info.Status, held.cancel); err != nil {
		return nil, err
	}
	held.writer.Background.Start()
	return held, nil
}

// check returns an error if the migration must not go on.
func (l *lock) check(ctx context.Context) error {
	return errors.Join(context.Cause(ctx), l.lease.MayChange())
}

// stop stops renewing the lease. The caller deletes the placeholder, or leaves it to the next migration.
func (l *lock) stop() { l.writer.Background.Stop() }

// end ends the work of the lock holder.
func (l *lock) end() {
	l.stop()
	l.cancel(nil)
}

// lockNew locks the release in the new storage.
func (m *Migration) lockNew(s *state) error {
	if s.to.lock != nil {
		return nil
	}
	last := s.from.revisions[len(s.from.revisions)-1]
	rel, err := m.newLock(last, false)
	if err != nil {
		return err
	}
	err = s.to.driver.Create(keyOf(rel), rel)
	if errors.Is(err, driver.ErrReleaseExists) {
		return &ExistsError{Release: m.Release, Namespace: m.Namespace, From: m.From.Name, To: m.To.Name}
	}
	if err != nil {
		return fmt.Errorf("lock release %s in the storage driver %s: %w", m.Release, m.To.Name, err)
	}
	s.to.lock = rel
	return nil
}

// markCopied stores in the new storage that all revisions are copied.
func (m *Migration) markCopied(s *state) error {
	migration := placeholder.MigrationOf(s.to.lock)
	migration.Copied = true
	rel := history.Copy(s.to.lock)
	migration.Store(rel)
	if err := s.to.driver.Update(keyOf(rel), rel); err != nil {
		return fmt.Errorf("store that release %s is copied: %w", m.Release, err)
	}
	s.to.lock = rel
	return nil
}
