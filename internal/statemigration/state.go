// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package statemigration

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/placeholder"
)

// state is a release as both storages contain it.
type state struct {
	migration *Migration
	from, to  stored
}

// stored is what a storage contains of a release.
type stored struct {
	driver driver.Driver
	// revisions are sorted. Placeholders are not among them.
	revisions []*release.Release
	// lock is the placeholder of a migration; nil if there is none.
	lock *release.Release
}

// readState reads what both storages contain.
func (m *Migration) readState() (*state, error) {
	s := &state{migration: m}
	var err error
	if s.from.driver, err = m.From.Open(); err != nil {
		return nil, err
	}
	if s.to.driver, err = m.To.Open(); err != nil {
		return nil, err
	}
	return s, errors.Join(m.readFrom(&s.from, m.From.Name), m.readFrom(&s.to, m.To.Name))
}

func (m *Migration) readFrom(s *stored, name string) error {
	list, err := s.driver.Query(map[string]string{"owner": "helm", "name": m.Release})
	if errors.Is(err, driver.ErrReleaseNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read release %s from the storage driver %s: %w", m.Release, name, err)
	}
	for _, rel := range list {
		switch driverName, _ := placeholder.Of(rel); {
		case placeholder.MigrationOf(rel) != nil:
			if err := m.checkLock(rel); err != nil {
				return err
			}
			s.lock = rel
		case driverName == "":
			s.revisions = append(s.revisions, rel)
		case driverName != m.From.Name && driverName != m.To.Name:
			return placeholder.Check(rel, name)
		}
	}
	slices.SortFunc(s.revisions, func(a, b *release.Release) int { return cmp.Compare(a.Version, b.Version) })
	return nil
}

// checkLock returns an error if rel is the placeholder of another migration.
func (m *Migration) checkLock(rel *release.Release) error {
	other := placeholder.MigrationOf(rel)
	if other.From == m.From.Name && other.To == m.To.Name {
		return nil
	}
	return &placeholder.MigrationError{Release: m.Release, Namespace: m.Namespace, Migration: *other}
}

// isEmpty reports whether nothing is stored, not even the lock of a migration.
func (s *stored) isEmpty() bool { return len(s.revisions) == 0 && s.lock == nil }

// isCopied reports whether an interrupted migration has copied all revisions.
func (s *state) isCopied() bool {
	return s.isUnlocked() || s.to.lock != nil && placeholder.MigrationOf(s.to.lock).Copied
}

// isUnlocked reports whether an interrupted migration has done everything but to unlock the old storage.
func (s *state) isUnlocked() bool {
	return s.from.lock != nil && len(s.from.revisions) == 0 && s.to.lock == nil
}

// check returns an error if the release cannot be moved.
func (s *state) check() error {
	m := s.migration
	if s.isCopied() {
		return nil
	}
	if s.from.lock == nil && (len(s.to.revisions) > 0 || s.to.lock != nil) {
		return &ExistsError{Release: m.Release, Namespace: m.Namespace, From: m.From.Name, To: m.To.Name}
	}
	for _, rel := range s.from.revisions {
		if err := placeholder.CheckReadable(rel); err != nil {
			return err
		}
		if !hasLimit(m.To.Name) {
			continue
		}
		text, err := json.Marshal(rel)
		if err != nil {
			return err
		}
		fits, err := orderrecord.FitsIntoSecret(text)
		if err != nil {
			return err
		}
		if !fits {
			return &TooLargeError{Release: m.Release, Revision: rel.Version, Driver: m.To.Name}
		}
	}
	return nil
}

// hasLimit reports whether a storage driver stores each revision in one object of limited size.
func hasLimit(driverName string) bool { return driverName == "secret" || driverName == "configmap" }

// copyRevisions copies the revisions that the new storage does not contain.
func (s *state) copyRevisions(ctx context.Context) error {
	wanted := map[int]*release.Release{}
	for _, rel := range s.from.revisions {
		wanted[rel.Version] = rel
	}
	there := map[int]bool{}
	for _, rel := range s.to.revisions {
		if want := wanted[rel.Version]; want != nil && isSame(want, rel) {
			there[rel.Version] = true
			continue
		}
		if err := s.to.delete(rel); err != nil { // of an interrupted migration, after which the release was changed
			return err
		}
	}
	for _, rel := range s.from.revisions {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if there[rel.Version] {
			continue
		}
		if err := s.to.driver.Create(keyOf(rel), rel); err != nil {
			return fmt.Errorf("copy revision %d of release %s to the storage driver %s: %w", rel.Version, rel.Name, s.migration.To.Name, err)
		}
	}
	s.to.revisions = s.from.revisions
	return nil
}

// verify reads all revisions from the new storage, with a driver that has not written them, and compares them with those
// that were to be copied.
func (s *state) verify(ctx context.Context) error {
	d, err := s.migration.To.Open()
	if err != nil {
		return err
	}
	for _, want := range s.from.revisions {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		got, err := d.Get(keyOf(want))
		if err != nil {
			return fmt.Errorf("read revision %d of release %s back from the storage driver %s: %w", want.Version, want.Name, s.migration.To.Name, err)
		}
		if !isSame(want, got) {
			return fmt.Errorf("revision %d of release %s is not the same when it is read back from the storage driver %s", want.Version, want.Name, s.migration.To.Name)
		}
	}
	return nil
}

// isSame reports whether two releases have the same contents.
func isSame(a, b *release.Release) bool {
	textA, errA := json.Marshal(a)
	textB, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(textA, textB) && maps.Equal(userLabels(a), userLabels(b))
}

// userLabels returns the labels of a release without those that storage drivers set.
func userLabels(rel *release.Release) map[string]string {
	labels := maps.Clone(rel.Labels)
	for _, system := range driver.GetSystemLabels() {
		delete(labels, system)
	}
	return labels
}

// delete deletes a revision. It can be gone already.
func (s *stored) delete(rel *release.Release) error {
	_, err := s.driver.Delete(keyOf(rel))
	if err != nil && !errors.Is(err, driver.ErrReleaseNotFound) {
		return fmt.Errorf("delete revision %d of release %s from the storage driver %s: %w", rel.Version, rel.Name, s.driver.Name(), err)
	}
	return nil
}

func keyOf(rel *release.Release) string {
	return fmt.Sprintf("%s.%s.v%d", storage.HelmStorageType, rel.Name, rel.Version)
}
