// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/processid"
	"github.com/ordered-helm/helm/internal/timing"
)

const (
	// leaseDuration is the time for which a release stays locked after the last heartbeat of
	// its lock holder. It is longer than the restart of an API server takes.
	leaseDuration = 45 * time.Second
	// confirmedDuration is the time after a heartbeat for which the lock holder makes
	// changes without checking that it still has the lock. Other operations watch a lock
	// holder for minWatchDuration before they take over its release. Because
	// confirmedDuration is shorter, differences between clocks do not matter.
	confirmedDuration = history.RenewInterval + 2*time.Second
)

// Lease is the lock that an operation holds on a release. While the status of the release
// says that an operation is running, the order record of the release contains the lease.
// Lease is also the history.WriteGuard of the writer: it prevents writes after the operation
// has lost the lock. A nil *Lease locks nothing.
type Lease struct {
	writer   *history.Writer
	name     string
	revision int
	// status is the status of the release while the operation runs, such as pending-upgrade.
	status release.Status

	mu    sync.Mutex
	lease orderrecord.Lease
	// previous is the stored revision as it was before the operation. It is nil if the
	// operation created the revision, and when the revision is known to be stored with the
	// lease.
	previous *release.Release
	// attemptedStates are the final states, without a lease, that the operation tried to
	// store. If the response to such a write was lost, the revision may be stored in that
	// state. foundState is the one of them in which the revision was found, or nil.
	attemptedStates []release.Info
	foundState      *release.Info
	// confirmed is the last time at which the stored revision was known to have the lease.
	confirmed time.Time
	// end ends the operation with a cause. lost is the *LostError if the operation has lost
	// the lock.
	end  context.CancelCauseFunc
	lost error
}

var _ history.WriteGuard = (*Lease)(nil)

// Acquire locks the release of w: w stores the lease from its next write on. operation is
// the name of the operation, as in "upgrade", and status the status of the release while it
// runs. If another operation takes over the release, w stops writing, and the Lease calls
// end. Acquire returns nil for a release without a chart, because it cannot contain an order
// record.
func Acquire(w *history.Writer, operation string, status release.Status, end context.CancelCauseFunc) (*Lease, error) {
	now, rel := time.Now(), w.Release()
	l := &Lease{
		writer: w, name: rel.Name, revision: rel.Version, status: status, confirmed: now, end: end,
		lease: orderrecord.Lease{
			Revision: rel.Version, ID: rand.Text(), Operation: operation, Process: processid.Current(),
			StartedAt: now.UTC().Truncate(time.Millisecond), Seconds: int(leaseDuration / time.Second),
		},
	}
	held, err := w.SetGuard(l)
	if !held || err != nil {
		return nil, err
	}
	return l, nil
}

// SetPrevious sets the revision as it is stored before the first write with the lease. Only
// an uninstall calls it, because other operations create the revision that they lock.
func (l *Lease) SetPrevious(previous *release.Release) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.previous = previous
}

// SetCancel replaces the function that is called if another operation takes over the
// release.
func (l *Lease) SetCancel(end context.CancelCauseFunc) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end = end
}

// ID returns the ID of the lease, or "" if l is nil.
func (l *Lease) ID() string {
	if l == nil {
		return ""
	}
	return l.lease.ID // no lock is needed, because the ID does not change
}

// RenewedLease returns the lease with a new heartbeat, to be stored in the order record.
func (l *Lease) RenewedLease() *orderrecord.Lease {
	renewed := l.lease
	renewed.RenewedAt = time.Now().UTC().Truncate(time.Millisecond)
	return &renewed
}

// Lost returns a *LostError if it is already known that the operation has lost the lock.
func (l *Lease) Lost() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

// isRecentlyConfirmed reports whether the operation had the lock so recently that no other
// operation can have taken over the release since. It returns an error if the operation is
// known to have lost the lock.
func (l *Lease) isRecentlyConfirmed() (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return timing.Elapsed(l.confirmed) < confirmedDuration, l.lost
}

// MayChange returns an error if the operation has lost the lock, so that it must not change
// anything in the cluster. It reads the stored release only if the last heartbeat is too
// old, for example because the process was suspended.
func (l *Lease) MayChange() error {
	if l == nil {
		return nil
	}
	if certain, lost := l.isRecentlyConfirmed(); certain || lost != nil {
		return lost
	}
	return l.writer.WithWriteLock(l.Check)
}

// Check returns an error if the operation has lost the lock. It reads the stored release
// only if the last heartbeat is too old. The caller must have locked writes
// (history.Writer.WithWriteLock).
func (l *Lease) Check() error {
	if certain, lost := l.isRecentlyConfirmed(); certain || lost != nil {
		return lost
	}
	return l.Confirm()
}

// MayConclude is like MayChange, but for an operation that is about to store its final
// state. It also returns an error if there is a newer revision: stock Helm creates one
// without checking the lock.
func (l *Lease) MayConclude() error {
	if err := l.MayChange(); err != nil || l == nil {
		return err
	}
	if _, err := l.writer.Store().Read(l.name, l.revision+1); err != nil {
		return nil //nolint:nilerr // there is no newer revision, or it cannot be read
	}
	return l.writer.WithWriteLock(l.Confirm)
}

// Confirm reads the stored release to check that the operation still has the lock. If it
// does not, Confirm ends the operation and returns an error.
func (l *Lease) Confirm() error {
	if lost := l.Lost(); lost != nil {
		return lost
	}
	asked := time.Now()
	lost, err := l.findLoss()
	l.mu.Lock()
	var end context.CancelCauseFunc
	switch {
	case apierrors.IsForbidden(err) && timing.Elapsed(l.confirmed) < leaseDuration:
		// An account that is only allowed to write releases still sends heartbeats, so no
		// other operation takes over the release before the last heartbeat expires.
		err = nil
	case err != nil:
		err = fmt.Errorf("checking whether another operation has taken over release %s: %w", l.name, err)
	case lost == nil:
		l.confirmed = asked
	default:
		l.lost, err, end = lost, lost, l.end
	}
	l.mu.Unlock()
	if end != nil {
		end(lost)
	}
	if lost != nil && lost.abandoned != nil {
		w := l.writer.Store().NewWriter(lost.abandoned)
		w.LogFailure(w.Write(nil))
	}
	return err
}

// findLoss reads the stored release, and returns a *LostError if the operation has lost the
// lock, otherwise nil.
func (l *Lease) findLoss() (*LostError, error) {
	store := l.writer.Store()
	current, err := store.Read(l.name, l.revision)
	if errors.Is(err, driver.ErrReleaseNotFound) {
		return &LostError{Release: l.name, Revision: l.revision, Gone: true}, nil
	}
	if err != nil {
		return nil, err
	}
	if l.findFinalState(current) {
		return nil, nil
	}
	previous := l.isStillPrevious(current)
	if !previous && !l.isStoredIn(current) {
		return &LostError{Release: l.name, Revision: l.revision, By: HolderOf(current)}, nil
	}
	next, err := store.Read(l.name, l.revision+1)
	if errors.Is(err, driver.ErrReleaseNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if previous {
		return &LostError{Release: l.name, Revision: l.revision, By: HolderOf(next)}, nil
	}
	// An operation that takes over a release records the last revision as failed. Stock Helm
	// does not, so this operation must.
	lost := &LostError{Release: l.name, Revision: l.revision, By: HolderOf(next), abandoned: AsInterrupted(current)}
	lost.abandoned.Info.Description = fmt.Sprintf("Interrupted: revision %d was created in the meantime", next.Version)
	return lost, nil
}

// isStillPrevious reports whether current, the stored revision, is as it was before the
// operation.
func (l *Lease) isStillPrevious(current *release.Release) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.previous != nil && isUnchanged(l.previous, current)
}

// isStoredIn reports whether current, the stored revision, contains this lease and has the
// status that the operation stores with it.
func (l *Lease) isStoredIn(current *release.Release) bool {
	lease := leaseOf(current)
	return current.Info.Status == l.status && lease != nil && lease.ID == l.lease.ID
}

// findFinalState reports whether current, the stored revision, is in one of the final states
// that the operation tried to store. If so, it sets foundState.
func (l *Lease) findFinalState(current *release.Release) bool {
	if leaseOf(current) != nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, state := range l.attemptedStates {
		if isSameState(&state, current.Info) {
			l.foundState = &state
			return true
		}
	}
	return false
}

// BeforeFinalWrite implements history.WriteGuard. It adds state to attemptedStates.
func (l *Lease) BeforeFinalWrite(state release.Info) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.attemptedStates = append(l.attemptedStates, state)
}

// AfterWrite implements history.WriteGuard. It sets confirmed to sent, the time at which the
// request was sent, and clears previous.
func (l *Lease) AfterWrite(sent time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.confirmed, l.previous = sent, nil
}

// IsFinalStateStored implements history.WriteGuard. It reports whether Confirm has found the
// release stored in the given final state.
func (l *Lease) IsFinalStateStored(state *release.Info) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.foundState != nil && isSameState(l.foundState, state)
}

// isSameState reports whether two states have the same status and description.
func isSameState(a, b *release.Info) bool {
	return a.Status == b.Status && a.Description == b.Description
}

// isUnchanged reports whether current is the same revision as read, which was read earlier,
// with the same status, lease and heartbeat.
func isUnchanged(read, current *release.Release) bool {
	was, is := leaseOf(read), leaseOf(current)
	if was == nil || is == nil {
		return was == is && current.Info.Status == read.Info.Status
	}
	return current.Info.Status == read.Info.Status && was.ID == is.ID && was.RenewedAt.Equal(is.RenewedAt)
}
