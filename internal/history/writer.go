// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"errors"
	"sync"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/httpretry"
	"github.com/ordered-helm/helm/internal/releaserecord"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// Guard decides whether an operation may still write its release.
type Guard interface {
	// Check returns an error if the operation must not write the release any more. It is
	// called before each attempt to write, while no other write is under way.
	Check() error
	// Confirm is Check that always asks the storage.
	Confirm() error
	// Lost is the error of Check if the operation has lost the release.
	Lost() error
	// Lease is the lease to store with the release while an operation works on it.
	Lease() *releaserecord.Lease
	// BeforeConclusion notes a state without a lease that is about to be stored.
	BeforeConclusion(state release.Info)
	// AfterWrite notes that the release was stored by a request that was sent at that time.
	AfterWrite(sent time.Time)
	// IsConcluded reports whether the release is stored in that state already, although
	// the answer to the write was lost.
	IsConcluded(state *release.Info) bool
}

// Writer is the only writer of a stored revision while an operation works on it. It
// changes the release and stores it, one write at a time.
type Writer struct {
	store *Store

	// writing is held while the release is written.
	writing sync.Mutex
	// mu guards the fields below. It is not held during a write: what is written is a
	// copy.
	mu  sync.Mutex
	rel *release.Release
	// changes counts the changes of the release, written those that are stored.
	changes, written int
	// writeRequested is whether any write was asked for.
	writeRequested bool
	// hooksOnly is whether only the results of hooks are stored.
	hooksOnly bool
	// chartWithoutRecord is the chart of the release without a record; rec is the record, nil where the
	// release has none.
	chartWithoutRecord *chart.Chart
	rec                *releaserecord.Record
	guard              Guard

	progress progress
	flusher  flusher
}

// NewWriter returns the writer of a revision.
func (s *Store) NewWriter(rel *release.Release) *Writer {
	return &Writer{store: s, rel: rel, flusher: flusher{requests: make(chan struct{}, 1)}}
}

// NewHookResultWriter returns a writer that stores the results of hooks, and nothing else
// that others may have changed in the meantime.
func (s *Store) NewHookResultWriter(rel *release.Release) *Writer {
	w := s.NewWriter(rel)
	w.hooksOnly = true
	return w
}

// Release is the release that is written. It must be changed by Change and Store only.
func (w *Writer) Release() *release.Release { return w.rel }

// Store is the storage that the release is written to.
func (w *Writer) Store() *Store { return w.store }

// SetGuard sets the guard, or removes it if that is nil. It reports whether the release
// can have one: a release without a chart has no record that could hold a lease.
func (w *Writer) SetGuard(g Guard) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.chartWithoutRecord == nil {
		return false, nil
	}
	w.guard = g
	if g == nil {
		return true, nil
	}
	return true, w.attach()
}

// IsUninstalling reports whether an operation that holds the release removes it.
func (w *Writer) IsUninstalling() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.guard != nil && w.rel.Info.Status == release.StatusUninstalling
}

// WithWriteLock calls do while no write is under way.
func (w *Writer) WithWriteLock(do func() error) error {
	w.writing.Lock()
	defer w.writing.Unlock()
	return do()
}

// SetRecord has the release carry a record from its next write on.
func (w *Writer) SetRecord(bare *chart.Chart, rec *releaserecord.Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if rec != nil {
		rec.Lease = nil // of an operation before
	}
	w.chartWithoutRecord, w.rec = bare, rec
	return w.attach()
}

// SetStoredRecord is SetRecord for a stored release, whose chart may carry a record.
func (w *Writer) SetStoredRecord(rec *releaserecord.Record) error {
	if w.rel.Chart == nil {
		return nil
	}
	bare, err := releaserecord.WithRecord(w.rel.Chart, nil)
	if err != nil {
		return err
	}
	return w.SetRecord(bare, rec)
}

// attach puts the record, as it is now, into the release. The caller holds mu, and nobody
// else reads the release at this time.
func (w *Writer) attach() error {
	attached, err := w.chartWithRecord()
	if err == nil {
		w.rel.Chart = attached
	}
	return err
}

// chartWithRecord is the chart of the release with the record as it is now. The caller
// holds mu.
func (w *Writer) chartWithRecord() (*chart.Chart, error) {
	if w.chartWithoutRecord == nil {
		return w.rel.Chart, nil
	}
	return releaserecord.WithRecord(w.chartWithoutRecord, w.recordWithLease())
}

// recordWithLease is the record to write now. The caller holds mu.
func (w *Writer) recordWithLease() *releaserecord.Record {
	if w.guard == nil || !IsInProgress(w.rel.Info.Status) {
		return w.rec
	}
	leased := releaserecord.Record{Revision: w.rel.Version, Charts: &sequencer.Chart{Name: ChartName(w.rel)}}
	if w.rec != nil {
		leased = *w.rec
	}
	leased.Lease = w.guard.Lease()
	return &leased
}

// IsInProgress reports whether a status says that an operation works on the revision.
func IsInProgress(status release.Status) bool {
	return status.IsPending() || status == release.StatusUninstalling
}

// Change changes the release without storing it.
func (w *Writer) Change(change func(*release.Release)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(w.rel)
	w.changes++
}

// Write changes the release and stores it. A change of nil stores it as it is.
func (w *Writer) Write(change func(*release.Release)) error {
	if change != nil {
		w.Change(change)
	}
	w.mu.Lock()
	err := w.attach()
	w.mu.Unlock()
	if err != nil {
		return err
	}
	return w.WithWriteLock(w.write)
}

// writeTimeout is how long the writer tries to store a release that the server does not
// answer for.
const writeTimeout = 45 * time.Second

// write stores the release as it is now. While the server does not answer it tries again,
// as long as the guard allows that. The caller holds writing.
func (w *Writer) write() error {
	for began := time.Now(); ; {
		if done, err := w.check(); done || err != nil {
			return err
		}
		err := w.writeOnce()
		var late *httpretry.RecordTimeoutError
		if !errors.As(err, &late) || Elapsed(began) > writeTimeout {
			return err
		}
	}
}

// check asks the guard whether the release may be written, and whether it is stored
// already.
func (w *Writer) check() (done bool, err error) {
	w.mu.Lock()
	guard := w.guard
	w.mu.Unlock()
	if guard == nil {
		return false, nil
	}
	if err := guard.Check(); err != nil {
		return false, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return guard.IsConcluded(w.rel.Info), nil
}

// writeOnce stores the release as it is now. The caller holds writing.
func (w *Writer) writeOnce() error {
	w.mu.Lock()
	attached, err := w.chartWithRecord()
	rel, changes, guard, sent := Copy(w.rel), w.changes, w.guard, time.Now()
	rel.Chart = attached
	w.writeRequested = true
	if guard != nil && !IsInProgress(rel.Info.Status) {
		guard.BeforeConclusion(*rel.Info)
	}
	w.mu.Unlock()
	if err != nil {
		return err
	}
	if w.hooksOnly {
		current, err := w.store.Read(rel.Name, rel.Version)
		if err != nil {
			return err
		}
		rel = withHookResults(current, rel.Hooks)
	}
	if err := w.store.releases.Update(rel); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.written = changes
	if guard != nil {
		guard.AfterWrite(sent)
	}
	return nil
}

// Elapsed is how long ago a time was. On a machine that was suspended only the wall clock
// counts the time, on one whose clock was set only the monotonic clock does.
func Elapsed(since time.Time) time.Duration {
	return max(time.Since(since), time.Now().Round(0).Sub(since.Round(0)))
}

// LogFailure logs a failure to store that must not fail the operation, and that is soon
// of no consequence.
func (w *Writer) LogFailure(err error) {
	if err != nil {
		w.store.log("warning: Failed to update release %s: %s", w.rel.Name, err)
	}
}

// WriteOrWarn is Write for the result of an operation. A failure to store it does not
// fail the operation, but it is reported: the recorded state of the release is wrong. It
// says nothing if the guard refuses the write.
func (w *Writer) WriteOrWarn(events *event.Sink, change func(*release.Release)) {
	err := w.Write(change)
	if err == nil || w.lost() != nil {
		return
	}
	w.LogFailure(err)
	events.Warnf("failed to record that revision %d of release %s is now %s, so Helm still considers its previous status to be current: "+
		"roll back or uninstall the release once it can be recorded: %v", w.rel.Version, w.rel.Name, w.rel.Info.Status, err)
}

func (w *Writer) lost() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.guard == nil {
		return nil
	}
	return w.guard.Lost()
}

// Restore stores the revision as it was before the operation, if the guard allows that.
func (w *Writer) Restore(before *release.Release) error {
	again := w.store.NewWriter(Copy(before))
	w.mu.Lock()
	again.guard = w.guard
	w.mu.Unlock()
	return again.Write(nil)
}
