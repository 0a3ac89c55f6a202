// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"sync"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// workingCopy is the revision of a Writer in memory: the release, its order record, and the
// WriteGuard whose lease the order record contains. Its methods can be called concurrently.
// They send no requests.
type workingCopy struct {
	mu sync.Mutex
	// rel is the release. The pointer never changes.
	rel *release.Release
	// changes counts the changes of the release. stored is the value of changes when the
	// release was last stored.
	changes, stored int
	// writeRequested says whether anything has requested that the release is stored.
	writeRequested bool
	// chartWithoutRecord is the chart of the release without the order record, which is
	// stored as a file of the chart. rec is the order record, or nil.
	chartWithoutRecord *chart.Chart
	rec                *orderrecord.Record
	// guard is the WriteGuard of the Writer, or nil.
	guard WriteGuard
}

// change calls do with the release, and counts this as a change.
func (c *workingCopy) change(do func(*release.Release)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	do(c.rel)
	c.changes++
}

// requestWrite records that the release must be stored. From then on, hasUnstoredChanges
// reports the changes that are not stored.
func (c *workingCopy) requestWrite() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writeRequested = true
}

// hasUnstoredChanges reports whether there are changes to store in the background. It
// returns false until anything has requested that the release is stored.
func (c *workingCopy) hasUnstoredChanges() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changes != c.stored && c.writeRequested
}

// setGuard implements Writer.SetGuard.
func (c *workingCopy) setGuard(g WriteGuard) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.chartWithoutRecord == nil {
		return false, nil
	}
	c.guard = g
	if g == nil {
		return true, nil
	}
	return true, c.attachRecordLocked()
}

// currentGuard returns the WriteGuard, or nil.
func (c *workingCopy) currentGuard() WriteGuard {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.guard
}

// isUninstalling implements Writer.IsUninstalling.
func (c *workingCopy) isUninstalling() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.guard != nil && c.rel.Info.Status == release.StatusUninstalling
}

// isFinalStateStored reports whether guard has found the release stored in its current
// state, which is a final state.
func (c *workingCopy) isFinalStateStored(guard WriteGuard) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return guard.IsFinalStateStored(c.rel.Info)
}

// setRecord implements Writer.SetRecord.
func (c *workingCopy) setRecord(bare *chart.Chart, rec *orderrecord.Record) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if rec != nil {
		rec.Lease = nil // the lease of an earlier operation
	}
	c.chartWithoutRecord, c.rec = bare, rec
	return c.attachRecordLocked()
}

// changeRecord replaces the order record, if there is one, with the result of change, which
// can be nil.
func (c *workingCopy) changeRecord(change func(*orderrecord.Record) *orderrecord.Record) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rec == nil {
		return nil
	}
	c.rec = change(c.rec)
	return c.attachRecordLocked()
}

// withRecord calls do with the order record, which can be nil. If do changes the order
// record, the chart of the release contains the change only after attachRecord. A snapshot
// always contains it.
func (c *workingCopy) withRecord(do func(*orderrecord.Record)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	do(c.rec)
}

// attachRecord puts the current order record into the chart of the release. No other
// goroutine may read the release at that time.
func (c *workingCopy) attachRecord() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.attachRecordLocked()
}

// attachRecordLocked is attachRecord for callers that have locked mu.
func (c *workingCopy) attachRecordLocked() error {
	attached, err := c.chartWithRecord()
	if err == nil {
		c.rel.Chart = attached
	}
	return err
}

// chartWithRecord returns the chart of the release with the current order record. The caller
// must have locked mu.
func (c *workingCopy) chartWithRecord() (*chart.Chart, error) {
	if c.chartWithoutRecord == nil {
		return c.rel.Chart, nil
	}
	return orderrecord.WithRecord(c.chartWithoutRecord, c.recordWithLease())
}

// recordWithLease returns the current order record. If the release is locked and the
// operation is running, the result contains the lease, with a new heartbeat. The caller must
// have locked mu.
func (c *workingCopy) recordWithLease() *orderrecord.Record {
	if c.guard == nil || !IsInProgress(c.rel.Info.Status) {
		return c.rec
	}
	leased := orderrecord.Record{Revision: c.rel.Version, Charts: &sequencer.Chart{Name: ChartName(c.rel)}}
	if c.rec != nil {
		leased = *c.rec
	}
	leased.Lease = c.guard.RenewedLease()
	return &leased
}

// snapshot is the state of a workingCopy that one request stores.
type snapshot struct {
	// rel is a copy of the release that contains the current order record.
	rel     *release.Release
	guard   WriteGuard
	changes int
}

// snapshot returns the current state, to be stored now.
func (c *workingCopy) snapshot() (snapshot, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writeRequested = true
	attached, err := c.chartWithRecord()
	s := snapshot{rel: Copy(c.rel), guard: c.guard, changes: c.changes}
	s.rel.Chart = attached
	return s, err
}

// setStored records that s was stored.
func (c *workingCopy) setStored(s snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stored = s.changes
}

// IsInProgress reports whether an operation is running on a revision with this status, or
// terminated unexpectedly while it was: whether the status is pending or uninstalling.
func IsInProgress(status release.Status) bool {
	return status.IsPending() || status == release.StatusUninstalling
}
