// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/orderrecord"
)

// Writer stores one revision during an operation. Nothing else writes that revision. Writer
// is for writes that the operation waits for; BackgroundWriter is for the others.
type Writer struct {
	// Progress records which nodes of the deployment graph are finished.
	Progress *Progress
	// Background stores the progress and other changes while the operation runs.
	Background *BackgroundWriter

	store   *Store
	current *workingCopy
	updater *updater
}

// NewWriter returns a Writer for the stored revision rel.
func (s *Store) NewWriter(rel *release.Release) *Writer { return s.newWriter(rel, s.update) }

// NewHookResultWriter returns a Writer that stores only the results of the hooks of rel, so
// that it does not overwrite other changes of the stored revision.
func (s *Store) NewHookResultWriter(rel *release.Release) *Writer {
	return s.newWriter(rel, s.updateHookResults)
}

// newWriter returns a Writer that calls update to store rel.
func (s *Store) newWriter(rel *release.Release, update func(*release.Release) error) *Writer {
	current := &workingCopy{rel: rel}
	u := &updater{current: current, update: update}
	progress := &Progress{current: current}
	return &Writer{
		store: s, current: current, updater: u, Progress: progress,
		Background: &BackgroundWriter{current: current, updater: u, progress: progress, log: s.log, requests: make(chan struct{}, 1)},
	}
}

// Release returns the release that the writer stores. It must only be changed with the
// methods of the Writer.
func (w *Writer) Release() *release.Release { return w.current.rel }

// Store returns the storage of the release.
func (w *Writer) Store() *Store { return w.store }

// SetGuard sets the guard. If g is nil, it removes the guard. It returns false if the
// release cannot have a guard: a release without a chart has no record in which to store a
// lease.
func (w *Writer) SetGuard(g Guard) (bool, error) { return w.current.setGuard(g) }

// IsUninstalling reports whether the operation is an uninstall that has locked the release.
func (w *Writer) IsUninstalling() bool { return w.current.isUninstalling() }

// WithWriteLock calls do while the writer sends no request to store the release.
func (w *Writer) WithWriteLock(do func() error) error { return w.updater.withLock(do) }

// SetRecord sets the record of the release; rec can be nil. bare is the chart of the
// release without a record. The next write stores the record.
func (w *Writer) SetRecord(bare *chart.Chart, rec *orderrecord.Record) error {
	return w.current.setRecord(bare, rec)
}

// SetStoredRecord is SetRecord for a stored release, whose chart may already contain a
// record.
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

// Change calls change with the release. It does not store the release.
func (w *Writer) Change(change func(*release.Release)) { w.current.change(change) }

// Write calls change with the release, and stores the release. If change is nil, it stores
// the release as it is.
func (w *Writer) Write(change func(*release.Release)) error {
	if change != nil {
		w.Change(change)
	}
	if err := w.current.attachRecord(); err != nil {
		return err
	}
	return w.WithWriteLock(w.updater.write)
}

// LogFailure logs the error of a write, which can be nil. It is for writes that must not
// fail the operation, because later writes make them irrelevant.
func (w *Writer) LogFailure(err error) {
	if err != nil {
		w.store.log("warning: Failed to update release %s: %s", w.Release().Name, err)
	}
}

// WriteOrWarn is Write for the final state of an operation. A failed write does not fail
// the operation, but causes a warning in events, because the recorded state of the release
// is wrong. There is no warning if the guard refuses the write because the operation has
// lost the lock.
func (w *Writer) WriteOrWarn(events *event.Sink, change func(*release.Release)) {
	err := w.Write(change)
	if err == nil || w.lost() != nil {
		return
	}
	w.LogFailure(err)
	rel := w.Release()
	events.Warnf("failed to record that revision %d of release %s is now %s, so Helm still considers its previous status to be current: "+
		"roll back or uninstall the release once it can be recorded: %v", rel.Version, rel.Name, rel.Info.Status, err)
}

// lost returns an error if it is known that the operation has lost the lock.
func (w *Writer) lost() error {
	guard := w.current.currentGuard()
	if guard == nil {
		return nil
	}
	return guard.Lost()
}

// Restore stores the revision as it was before the operation, which is before, if the guard
// allows it.
func (w *Writer) Restore(before *release.Release) error {
	again := w.store.NewWriter(Copy(before))
	again.current.guard = w.current.currentGuard()
	return again.Write(nil)
}
