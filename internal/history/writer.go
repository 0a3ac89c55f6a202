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
	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// Guard decides whether an operation is still allowed to write its release. The
// implementation is the lock of package lease. Its lease, an entry in the release record,
// names the operation that has the lock.
type Guard interface {
	// Check returns an error if the operation must no longer write the release. The writer
	// calls it before each attempt to write, while no other write is in progress.
	Check() error
	// Confirm is Check, but always reads the stored release.
	Confirm() error
	// Lost returns an error if it is already known that the operation has lost the lock.
	Lost() error
	// RenewedLease returns the lease with a new heartbeat. The writer stores it with the
	// release for as long as the operation runs.
	RenewedLease() *orderrecord.Lease
	// BeforeConclusion is called before the writer stores state, a final state of the
	// release. The release then has no lease.
	BeforeConclusion(state release.Info)
	// AfterWrite is called when the release was stored. sent is the time at which the
	// request was sent.
	AfterWrite(sent time.Time)
	// IsConcluded reports whether the release is already stored in the given final state,
	// although the answer to the write was lost.
	IsConcluded(state *release.Info) bool
}

// Writer stores one revision during an operation. Nothing else writes that revision. It
// stores one write at a time.
type Writer struct {
	store *Store

	// writing is locked while a request stores the release.
	writing sync.Mutex
	// mu guards the fields below. It is not locked during a request, because the request
	// stores a copy.
	mu  sync.Mutex
	rel *release.Release
	// changes is the number of changes of the release. written is the number of those that
	// are stored.
	changes, written int
	// writeRequested says whether the writer has tried to store the release before, or
	// WriteSoon was called.
	writeRequested bool
	// hooksOnly says whether the writer stores only the results of hooks.
	hooksOnly bool
	// chartWithoutRecord is the chart of the release without the release record, which is
	// stored as a file of the chart. rec is the record; nil if the release has none.
	chartWithoutRecord *chart.Chart
	rec                *orderrecord.Record
	guard              Guard

	progress progress
	flusher  flusher
}

// NewWriter returns a Writer for the stored revision rel.
func (s *Store) NewWriter(rel *release.Release) *Writer {
	return &Writer{store: s, rel: rel, flusher: flusher{requests: make(chan struct{}, 1)}}
}

// NewHookResultWriter returns a Writer that stores only the results of the hooks of rel, so
// that it does not overwrite other changes of the stored revision.
func (s *Store) NewHookResultWriter(rel *release.Release) *Writer {
	w := s.NewWriter(rel)
	w.hooksOnly = true
	return w
}

// Release returns the release that the writer stores. It must only be changed with the
// methods of the Writer.
func (w *Writer) Release() *release.Release { return w.rel }

// Store returns the storage of the release.
func (w *Writer) Store() *Store { return w.store }

// SetGuard sets the guard. If g is nil, it removes the guard. It returns false if the
// release cannot have a guard: a release without a chart has no record in which to store a
// lease.
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

// IsUninstalling reports whether the operation is an uninstall that has locked the release.
func (w *Writer) IsUninstalling() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.guard != nil && w.rel.Info.Status == release.StatusUninstalling
}

// WithWriteLock calls do while the writer sends no request to store the release.
func (w *Writer) WithWriteLock(do func() error) error {
	w.writing.Lock()
	defer w.writing.Unlock()
	return do()
}

// SetRecord sets the record of the release; rec can be nil. bare is the chart of the
// release without a record. The next write stores the record.
func (w *Writer) SetRecord(bare *chart.Chart, rec *orderrecord.Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if rec != nil {
		rec.Lease = nil // the lease of an earlier operation
	}
	w.chartWithoutRecord, w.rec = bare, rec
	return w.attach()
}

// SetStoredRecord is SetRecord for a stored release, whose chart may already contain a
// record.
func (w *Writer) SetStoredRecord(rec *orderrecord.Record) error {
	if w.rel.Chart == nil {
		return nil
	}
	bare, err := orderrecord.WithRecord(w.rel.Chart, nil)
	if err != nil {
		return err
	}
	return w.SetRecord(bare, rec)
}

// attach puts the current record into the chart of the release. The caller must have locked
// mu, and must make sure that no other goroutine reads the release.
func (w *Writer) attach() error {
	attached, err := w.chartWithRecord()
	if err == nil {
		w.rel.Chart = attached
	}
	return err
}

// chartWithRecord returns the chart of the release with the current record. The caller must
// have locked mu.
func (w *Writer) chartWithRecord() (*chart.Chart, error) {
	if w.chartWithoutRecord == nil {
		return w.rel.Chart, nil
	}
	return orderrecord.WithRecord(w.chartWithoutRecord, w.recordWithLease())
}

// recordWithLease returns the current record. If there is a guard and the operation is
// running, the record has its lease. The caller must have locked mu.
func (w *Writer) recordWithLease() *orderrecord.Record {
	if w.guard == nil || !IsInProgress(w.rel.Info.Status) {
		return w.rec
	}
	leased := orderrecord.Record{Revision: w.rel.Version, Charts: &sequencer.Chart{Name: ChartName(w.rel)}}
	if w.rec != nil {
		leased = *w.rec
	}
	leased.Lease = w.guard.RenewedLease()
	return &leased
}

// IsInProgress reports whether a status says that an operation is running on the revision.
func IsInProgress(status release.Status) bool {
	return status.IsPending() || status == release.StatusUninstalling
}

// Change calls change with the release. It does not store the release.
func (w *Writer) Change(change func(*release.Release)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(w.rel)
	w.changes++
}

// Write calls change with the release, and stores the release. If change is nil, it stores
// the release as it is.
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

// writeTimeout is the time for which the writer retries a write that the server does not
// answer.
const writeTimeout = 45 * time.Second

// write stores the current release. If the server does not answer, it tries again as long
// as the guard allows it. The caller must have locked writing.
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

// check asks the guard whether the release can be written. done reports that it is already
// stored.
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

// writeOnce stores the current release. The caller must have locked writing.
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

// Elapsed returns the time since a point in time: the longer of the times that two clocks
// measure. The monotonic clock may stop while the machine is suspended, and the wall clock
// can be set back.
func Elapsed(since time.Time) time.Duration {
	return max(time.Since(since), time.Now().Round(0).Sub(since.Round(0)))
}

// LogFailure logs the error of a write, which can be nil. It is for writes that must not
// fail the operation, because later writes make them irrelevant.
func (w *Writer) LogFailure(err error) {
	if err != nil {
		w.store.log("warning: Failed to update release %s: %s", w.rel.Name, err)
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

// Restore stores the revision as it was before the operation, which is before, if the guard
// allows it.
func (w *Writer) Restore(before *release.Release) error {
	again := w.store.NewWriter(Copy(before))
	w.mu.Lock()
	again.guard = w.guard
	w.mu.Unlock()
	return again.Write(nil)
}
