// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/orderrecord"
)

// Writer stores one revision during an operation. Nothing else writes that revision. Write
// returns when the revision is stored; Background.WriteSoon does not wait for that.
type Writer struct {
	// Progress records which nodes of the deployment graph are started and finished.
	Progress *Progress
	// HookObjects records which objects of managed hooks exist.
	HookObjects *HookObjects
	// Background stores the progress and other changes while the operation runs.
	Background *BackgroundWriter

	store   *Store
	current *workingCopy
	updater *updater
}

// NewWriter returns a Writer for rel, a stored revision.
func (s *Store) NewWriter(rel *release.Release) *Writer { return s.newWriter(rel, s.update) }

// NewHookResultWriter returns a Writer that stores only the results of the hooks of rel, and the
// objects of its managed hooks. It keeps other changes that have been made to the stored revision.
func (s *Store) NewHookResultWriter(rel *release.Release) *Writer {
	return s.newWriter(rel, s.updateHookResults)
}

// newWriter returns a Writer that calls update to store rel.
func (s *Store) newWriter(rel *release.Release, update func(*release.Release) error) *Writer {
	current := &workingCopy{rel: rel}
	u := &updater{current: current, update: update}
	progress := &Progress{current: current}
	return &Writer{
		store: s, current: current, updater: u, Progress: progress, HookObjects: &HookObjects{current},
		Background: &BackgroundWriter{current: current, updater: u, progress: progress, log: s.log, requests: make(chan struct{}, 1)},
	}
}

// Release returns the release that w stores. Callers must change it only with the methods of
// w.
func (w *Writer) Release() *release.Release { return w.current.rel }

// Store returns the Store in which w stores the release.
func (w *Writer) Store() *Store { return w.store }

// SetGuard sets the WriteGuard that allows or prevents writes; nil removes it. It returns
// false if the release cannot have a WriteGuard: a release without a chart cannot contain an
// order record, where the lease of the WriteGuard is stored.
func (w *Writer) SetGuard(g WriteGuard) (bool, error) { return w.current.setGuard(g) }

// IsUninstalling reports whether the operation is an uninstall that has locked the release.
func (w *Writer) IsUninstalling() bool { return w.current.isUninstalling() }

// WithWriteLock calls do while no request to store the release is in progress.
func (w *Writer) WithWriteLock(do func() error) error { return w.updater.withLock(do) }

// SetRecord sets the order record of the release, which can be nil. bare is the chart of the
// release without an order record. SetRecord does not store the release; the next write
// does.
func (w *Writer) SetRecord(bare *chart.Chart, rec *orderrecord.Record) error {
	return w.current.setRecord(bare, rec)
}

// SetStoredRecord is like SetRecord, but for a release that was read from the storage. It
// replaces the order record in the chart of the release.
func (w *Writer) SetStoredRecord(rec *orderrecord.Record) error {
	rel := w.Release()
	if rel.Chart == nil {
		return nil
	}
	bare, err := orderrecord.WithRecord(rel.Chart, nil)
	if err != nil {
		return err
	}
	return w.SetRecord(bare, rec)
}

// Change calls change with the release, without storing it.
func (w *Writer) Change(change func(*release.Release)) { w.current.change(change) }

// Write calls change with the release, unless change is nil, and stores the release.
func (w *Writer) Write(change func(*release.Release)) error {
	if change != nil {
		w.Change(change)
	}
	if err := w.current.attachRecord(); err != nil {
		return err
	}
	return w.WithWriteLock(w.updater.write)
}

// LogFailure logs err, the error of a write; it does nothing if err is nil. It is for writes
// whose failure must not fail the operation.
func (w *Writer) LogFailure(err error) {
	if err != nil {
		w.store.log("warning: Failed to update release %s: %s", w.Release().Name, err)
	}
}

// WriteOrWarn is like Write, but for the final state of an operation. If the write fails, it
// does not return an error, but emits a warning that the stored status is wrong. It emits no
// warning if the write was prevented because the operation has lost the lock.
func (w *Writer) WriteOrWarn(events *event.Sink, change func(*release.Release)) {
	err := w.Write(change)
	if err == nil || w.lost() != nil {
		return
	}
	w.LogFailure(err)
	rel := w.Release()
	events.Warnf("failed to record that revision %d of release %s is now %s, so Helm still considers its previous status to be current: "+
		"roll back or uninstall the release when release storage is available again: %v", rel.Version, rel.Name, rel.Info.Status, err)
}

// lost returns an error if it is already known that the operation has lost the lock.
func (w *Writer) lost() error {
	guard := w.current.currentGuard()
	if guard == nil {
		return nil
	}
	return guard.Lost()
}

// Restore stores before, the revision as it was before the operation, if the WriteGuard allows
// it.
func (w *Writer) Restore(before *release.Release) error {
	restorer := w.store.NewWriter(Copy(before))
	restorer.current.guard = w.current.currentGuard()
	return restorer.Write(nil)
}
