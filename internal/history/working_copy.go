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

// workingCopy is the revision of a Writer in memory: the release, its record, and the guard
// whose lease is stored in the record. Its methods can be called concurrently. They never
// send a request.
type workingCopy struct {
	mu sync.Mutex
	// rel is the release. The pointer never changes.
	rel *release.Release
	// changes is the number of changes of the release. stored is the number of those that
	// are stored.
	changes, stored int
	// writeRequested says whether there was an attempt to store the release, or a request
	// to store it in the background.
	writeRequested bool
	// chartWithoutRecord is the chart of the release without the release record, which is
	// stored as a file of the chart. rec is the record; nil if the release has none.
	chartWithoutRecord *chart.Chart
	rec                *orderrecord.Record
	// guard is the guard of the Writer; nil if it has none.
	guard Guard
}

// change calls change with the release.
func (c *workingCopy) change(change func(*release.Release)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(c.rel)
	c.changes++
}

// requestWrite makes later changes count as waiting to be stored.
func (c *workingCopy) requestWrite() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writeRequested = true
}

// hasUnstoredChanges reports whether there are changes to store in the background. Before
// the first requested write there are none, whatever was changed.
func (c *workingCopy) hasUnstoredChanges() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changes != c.stored && c.writeRequested
}

// setGuard is SetGuard of the Writer.
func (c *workingCopy) setGuard(g Guard) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.chartWithoutRecord == nil {
		return false, nil
	}
	c.guard = g
	if g == nil {
		return true, nil
	}
	return true, c.attach()
}

// currentGuard returns the guard; nil if there is none.
func (c *workingCopy) currentGuard() Guard {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.guard
}

// isUninstalling reports whether the operation is an uninstall that has locked the release.
func (c *workingCopy) isUninstalling() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.guard != nil && c.rel.Info.Status == release.StatusUninstalling
}

// isConcluded reports whether guard knows that the release is already stored in its current,
// final state.
func (c *workingCopy) isConcluded(guard Guard) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return guard.IsConcluded(c.rel.Info)
}

// setRecord is SetRecord of the Writer.
func (c *workingCopy) setRecord(bare *chart.Chart, rec *orderrecord.Record) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if rec != nil {
		rec.Lease = nil // the lease of an earlier operation
	}
	c.chartWithoutRecord, c.rec = bare, rec
	return c.attach()
}

// changeRecord calls change with the record, if there is one, and replaces it with the
// result, which can be nil.
func (c *workingCopy) changeRecord(change func(*orderrecord.Record) *orderrecord.Record) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rec == nil {
		return nil
	}
	c.rec = change(c.rec)
	return c.attach()
}

// withRecord calls do with the record, which can be nil. The chart of the release contains
// the changes of do only after attachRecord; a snapshot always contains them.
func (c *workingCopy) withRecord(do func(*orderrecord.Record)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	do(c.rec)
}

// attachRecord puts the current record into the chart of the release. The caller must make
// sure that no other goroutine reads the release.
func (c *workingCopy) attachRecord() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.attach()
}

// attach is attachRecord for a caller that has locked mu.
func (c *workingCopy) attach() error {
	attached, err := c.chartWithRecord()
	if err == nil {
		c.rel.Chart = attached
	}
	return err
}

// chartWithRecord returns the chart of the release with the current record. The caller must
// have locked mu.
func (c *workingCopy) chartWithRecord() (*chart.Chart, error) {
	if c.chartWithoutRecord == nil {
		return c.rel.Chart, nil
	}
	return orderrecord.WithRecord(c.chartWithoutRecord, c.recordWithLease())
}

// recordWithLease returns the current record. If there is a guard and the operation is
// running, the record has its lease. The caller must have locked mu.
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
	// rel is a copy of the release, with the current record.
	rel     *release.Release
	guard   Guard
	changes int
}

// snapshot returns the current state, for an attempt to store it.
func (c *workingCopy) snapshot() (snapshot, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writeRequested = true
	attached, err := c.chartWithRecord()
	s := snapshot{rel: Copy(c.rel), guard: c.guard, changes: c.changes}
	s.rel.Chart = attached
	return s, err
}

// setStored records that s is stored.
func (c *workingCopy) setStored(s snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stored = s.changes
}

// IsInProgress reports whether a status says that an operation is running on the revision.
func IsInProgress(status release.Status) bool {
	return status.IsPending() || status == release.StatusUninstalling
}
