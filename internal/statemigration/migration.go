// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package statemigration moves releases from one storage driver to another (docs/reference.md, "Moving releases").
//
// A migration first locks the release in both storages: each gets a placeholder as the revision after the last one, so
// that neither Ordered Helm nor stock Helm works on the release. Then it copies all revisions, and reads them back. From
// then on, which the placeholder in the new storage says, it deletes the old revisions, and at last both placeholders.
// Whenever it is interrupted, the placeholders tell the next migration where to continue.
package statemigration

import (
	"context"
	"errors"
	"fmt"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/lease"
	"github.com/ordered-helm/helm/internal/placeholder"
)

// Storage is a storage driver from which or to which a release is moved.
type Storage struct {
	// Name is the value of HELM_DRIVER that selects the driver.
	Name string
	// Open returns a driver that has read nothing yet, and that returns placeholders.
	Open func() (driver.Driver, error)
}

// Objects adds and removes the owner references of the objects of a release.
type Objects interface {
	// Own makes the Release own the objects. revisions are those of the release.
	Own(ctx context.Context, releaseObject driver.Driver, revisions []*release.Release) error
	// Disown takes the references to the Release away from all objects that have one.
	Disown(ctx context.Context, releaseObject driver.Driver, revisions []*release.Release) error
}

// Migration moves one release.
type Migration struct {
	Release, Namespace string
	From, To           Storage
	Objects            Objects
	Events             *event.Sink
	Log                func(string, ...any)
}

// Outcome says what a migration has done.
type Outcome int

// The outcomes of a migration.
const (
	// Moved means that the release is now stored by the other driver.
	Moved Outcome = iota + 1
	// AlreadyMoved means that it was there before.
	AlreadyMoved
	// InPlace means that both drivers store the release in the same objects.
	InPlace
)

// Result is the result of a migration.
type Result struct {
	Outcome Outcome
	// Revisions is the number of revisions of the release.
	Revisions int
}

// Run moves the release. If it fails, or ctx ends, before all revisions are copied, it restores the state before, if it
// can. An interrupted migration continues where it stopped. If an operation is running on the release, the error is a
// *lease.HeldError. If the new storage driver already stores another release with the name, it is an *ExistsError. If
// it cannot store a revision, it is a *TooLargeError.
func (m *Migration) Run(ctx context.Context) (*Result, error) {
	s, err := m.readState()
	if err != nil {
		return nil, err
	}
	if s.from.isEmpty() {
		return m.alreadyMoved(s)
	}
	if sharesSecrets(m.From.Name, m.To.Name) {
		return m.moveInPlace(ctx, s)
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	ctx, held, err := m.lock(ctx, s)
	if err != nil {
		return nil, err
	}
	defer held.end()
	if err := m.copyAll(ctx, s); err != nil {
		return nil, m.undo(context.WithoutCancel(ctx), s, held, err)
	}
	if err := m.deleteFromOld(ctx, s, held); err != nil {
		return nil, fmt.Errorf("%w: the release is copied to the storage driver %s; run the same command again to continue", err, m.To.Name)
	}
	return &Result{Outcome: Moved, Revisions: len(s.to.revisions)}, nil
}

// alreadyMoved returns the result for a release that the old storage driver does not store.
func (m *Migration) alreadyMoved(s *state) (*Result, error) {
	switch {
	case s.to.lock != nil:
		return nil, &placeholder.MigrationError{Release: m.Release, Namespace: m.Namespace, Migration: *placeholder.MigrationOf(s.to.lock)}
	case len(s.to.revisions) > 0:
		return &Result{Outcome: AlreadyMoved, Revisions: len(s.to.revisions)}, nil
	}
	return nil, fmt.Errorf("release %s in namespace %s is stored neither by the storage driver %s nor by %s: %w",
		m.Release, m.Namespace, m.From.Name, m.To.Name, driver.ErrReleaseNotFound)
}

// copyAll copies all revisions to the new storage, reads them back, and stores that this is done.
func (m *Migration) copyAll(ctx context.Context, s *state) error {
	if s.isCopied() {
		return nil
	}
	if err := m.lockNew(s); err != nil {
		return err
	}
	if from, ok := s.from.driver.(placeholderDriver); ok {
		// It can be in the place of a revision.
		if err := from.RemovePlaceholder(ctx, m.Release); err != nil {
			return err
		}
	}
	if err := s.copyRevisions(ctx); err != nil {
		return err
	}
	if err := s.verify(ctx); err != nil {
		return err
	}
	return m.markCopied(s)
}

// placeholderDriver is a storage driver with a placeholder for stock Helm for each release.
type placeholderDriver interface {
	CreatePlaceholder(ctx context.Context, release string) error
	RemovePlaceholder(ctx context.Context, release string) error
}

// deleteFromOld deletes the release from the old storage, and unlocks it in the new one. Until it is unlocked, the objects of
// the release get the owner references for the new storage.
func (m *Migration) deleteFromOld(ctx context.Context, s *state, held *lock) error {
	if !s.isUnlocked() {
		if err := m.changeOwner(ctx, s); err != nil {
			return err
		}
		for _, rel := range s.from.revisions {
			if err := held.check(ctx); err != nil {
				return err
			}
			if err := s.from.delete(rel); err != nil {
				return err
			}
		}
		if to, ok := s.to.driver.(placeholderDriver); ok {
			if err := to.CreatePlaceholder(ctx, m.Release); err != nil {
				return err
			}
		}
		if err := s.to.delete(s.to.lock); err != nil {
			return err
		}
	}
	held.stop()
	return s.from.delete(s.from.lock)
}

// changeOwner changes the owner references of the objects of the release.
func (m *Migration) changeOwner(ctx context.Context, s *state) error {
	if _, owns := s.from.driver.(placeholderDriver); owns {
		if err := m.Objects.Disown(ctx, s.from.driver, s.to.revisions); err != nil {
			return err
		}
	}
	if _, owns := s.to.driver.(placeholderDriver); owns {
		return m.Objects.Own(ctx, s.to.driver, s.to.revisions)
	}
	return nil
}

// undo restores the state before a migration that failed with err.
func (m *Migration) undo(ctx context.Context, s *state, held *lock, err error) error {
	if lost, _ := errors.AsType[*lease.LostError](err); lost != nil {
		return err // another process continues
	}
	undone := func() error {
		if err := m.deleteCopies(s.to.driver); err != nil {
			return err
		}
		if from, ok := s.from.driver.(placeholderDriver); ok {
			if err := from.CreatePlaceholder(ctx, m.Release); err != nil {
				return err
			}
		}
		held.stop()
		return s.from.delete(s.from.lock)
	}()
	if undone != nil {
		return fmt.Errorf("%w (restoring the state before also failed: %w; run the same command again to continue)", err, undone)
	}
	return fmt.Errorf("%w: nothing was moved", err)
}

// deleteCopies deletes what the migration has stored in the new storage, also if it does not know that because a response
// was lost. Without the lock of the migration, what is there is another release.
func (m *Migration) deleteCopies(d driver.Driver) error {
	copied := stored{driver: d}
	if err := m.readFrom(&copied, m.To.Name); err != nil || copied.lock == nil {
		return err
	}
	for _, rel := range append(copied.revisions, copied.lock) {
		if err := copied.delete(rel); err != nil {
			return err
		}
	}
	return nil
}
