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

	"github.com/ordered-helm/helm/internal/clock"
	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/process"
)

const (
	// leaseDuration is the time for which a release stays locked after the last heartbeat
	// of its lock holder. It is longer than an API server takes to restart.
	leaseDuration = 45 * time.Second
	// confirmedDuration is the time after a heartbeat for which the lock holder makes
	// changes without checking that it still has the lock. It is shorter than
	// minWatchDuration, the time for which another operation watches the lock holder before
	// it takes over the release, so differences between clocks do not matter.
	confirmedDuration = history.RenewInterval + 2*time.Second
)

// Lease is the lock of an operation on its release. The writer of the release stores it in
// the release record for as long as the status of the release says that an operation is
// running. A Lease is also the Guard of the writer: it prevents writes after the operation
// has lost the lock. A nil Lease locks nothing.
type Lease struct {
	writer   *history.Writer
	name     string
	revision int
	// status is the status of the release while the operation runs, such as
	// pending-upgrade.
	status release.Status

	mu    sync.Mutex
	lease orderrecord.Lease
	// previous is the stored revision as it was before the operation. It is nil as soon as
	// the revision is certainly stored with the lease, and if the operation created the
	// revision.
	previous *release.Release
	// attemptedStates are the final states, without a lease, that the operation tried to
	// store. If the answer to such a write was lost, the revision may be stored in that
	// state. concluded is the state in which it was found; nil if it was not found in any
	// of them.
	attemptedStates []release.Info
	concluded       *release.Info
	// confirmed is the last time at which the stored revision certainly had the lease.
	confirmed time.Time
	// end ends the operation with a cause. lost is the error if the operation has lost the
	// lock.
	end  context.CancelCauseFunc
	lost error
}

var _ history.Guard = (*Lease)(nil)

// Acquire locks the release of w for an operation, as in "upgrade": from its next write on,
// w stores the lease in the release record. status is the status of the release while the
// operation runs. If another operation takes over the release, w refuses to write, and the
// lease calls end. Acquire returns nil for a release without a chart, because such a
// release cannot have a record.
func Acquire(w *history.Writer, operation string, status release.Status, end context.CancelCauseFunc) (*Lease, error) {
	now, rel := time.Now(), w.Release()
	l := &Lease{
		writer: w, name: rel.Name, revision: rel.Version, status: status, confirmed: now, end: end,
		lease: orderrecord.Lease{
			Revision: rel.Version, ID: rand.Text(), Operation: operation, Process: process.Current(),
			StartedAt: now.UTC().Truncate(time.Millisecond), Seconds: int(leaseDuration / time.Second),
		},
	}
	held, err := w.SetGuard(l)
	if !held || err != nil {
		return nil, err
	}
	return l, nil
}

// SetPrevious sets the revision as it is stored until the first write with the lease. An
// uninstall calls it, because it locks an existing revision.
func (l *Lease) SetPrevious(previous *release.Release) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.previous = previous
}

// SetCancel replaces the function end, which is called if another operation takes over the
// release.
func (l *Lease) SetCancel(end context.CancelCauseFunc) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end = end
}

// ID returns the ID of the lease; empty if the Lease is nil.
func (l *Lease) ID() string {
	if l == nil {
		return ""
	}
	return l.lease.ID // no lock is needed, because the ID does not change
}

// RenewedLease returns the lease with a new heartbeat, to be stored in the release record.
func (l *Lease) RenewedLease() *orderrecord.Lease {
	renewed := l.lease
	renewed.RenewedAt = time.Now().UTC().Truncate(time.Millisecond)
	return &renewed
}

// Lost returns a *LostError if it is known that the operation has lost the lock; otherwise
// nil.
func (l *Lease) Lost() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

// isCertain reports whether the last heartbeat is so recent that no other operation can
// have taken over the release. The error is not nil if the operation has lost the lock.
func (l *Lease) isCertain() (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return clock.Elapsed(l.confirmed) < confirmedDuration, l.lost
}

// MayChange returns an error if the operation must not change anything in the cluster,
// because it has lost the lock. It reads the stored release only if the operation was
// suspended for so long that another operation may have taken over the release.
func (l *Lease) MayChange() error {
	if l == nil {
		return nil
	}
	if certain, lost := l.isCertain(); certain || lost != nil {
		return lost
	}
	return l.writer.WithWriteLock(l.Check)
}

// Check returns an error if the operation has lost the lock. It reads the stored release
// only if it is not certain that the operation still has the lock. The caller must have
// locked writes to the release.
func (l *Lease) Check() error {
	if certain, lost := l.isCertain(); certain || lost != nil {
		return lost
	}
	return l.Confirm()
}

// MayConclude is MayChange for an operation that is about to store its final state. It also
// returns an error if there is a newer revision, because another implementation of Helm
// creates one without checking the lock.
func (l *Lease) MayConclude() error {
	if err := l.MayChange(); err != nil || l == nil {
		return err
	}
	if _, err := l.writer.Store().Read(l.name, l.revision+1); err != nil {
		return nil //nolint:nilerr // there is no newer revision, or it cannot be read
	}
	return l.writer.WithWriteLock(l.Confirm)
}

// Confirm reads the stored release, and returns an error if the operation has lost the
// lock. It then also ends the operation.
func (l *Lease) Confirm() error {
	if lost := l.Lost(); lost != nil {
		return lost
	}
	asked := time.Now()
	lost, err := l.findLoss()
	l.mu.Lock()
	var end context.CancelCauseFunc
	switch {
	case apierrors.IsForbidden(err) && clock.Elapsed(l.confirmed) < leaseDuration:
		// An account that is only allowed to write releases still sends heartbeats, so no
		// other operation takes over the release before the last heartbeat expires.
		err = nil
	case err != nil:
		err = fmt.Errorf("checking whether release %s was taken over: %w", l.name, err)
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

// findLoss reads the stored release, and returns an error that names the process that has
// taken it over; nil if none has.
func (l *Lease) findLoss() (*LostError, error) {
	store := l.writer.Store()
	current, err := store.Read(l.name, l.revision)
	if errors.Is(err, driver.ErrReleaseNotFound) {
		return &LostError{Release: l.name, Revision: l.revision, Gone: true}, nil
	}
	if err != nil {
		return nil, err
	}
	if l.findConcluded(current) {
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
	// An operation that takes over a revision records it as failed, but another
	// implementation of Helm does not. In that case this operation must do it.
	lost := &LostError{Release: l.name, Revision: l.revision, By: HolderOf(next), abandoned: Interrupt(current)}
	lost.abandoned.Info.Description = fmt.Sprintf("Interrupted: revision %d was created in the meantime", next.Version)
	return lost, nil
}

// isStillPrevious reports whether current, the stored revision, is unchanged since before
// the operation.
func (l *Lease) isStillPrevious(current *release.Release) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.previous != nil && isSame(l.previous, current)
}

// isStoredIn reports whether current, the stored revision, has this lease and the status
// that belongs to it.
func (l *Lease) isStoredIn(current *release.Release) bool {
	lease := leaseOf(current)
	return current.Info.Status == l.status && lease != nil && lease.ID == l.lease.ID
}

// findConcluded reports whether current, the stored revision, is in one of the final states
// that the operation tried to store. If so, it sets concluded.
func (l *Lease) findConcluded(current *release.Release) bool {
	if leaseOf(current) != nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, state := range l.attemptedStates {
		if isSameState(&state, current.Info) {
			l.concluded = &state
			return true
		}
	}
	return false
}

// BeforeConclusion adds a final state, which has no lease and is about to be stored, to
// attemptedStates.
func (l *Lease) BeforeConclusion(state release.Info) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.attemptedStates = append(l.attemptedStates, state)
}

// AfterWrite is called when the release has been stored. sent is the time at which the
// request was sent.
func (l *Lease) AfterWrite(sent time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.confirmed, l.previous = sent, nil
}

// IsConcluded reports whether Confirm has found the release stored in a final state,
// although the answer to the write was lost.
func (l *Lease) IsConcluded(state *release.Info) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.concluded != nil && isSameState(l.concluded, state)
}

// isSameState reports whether two states have the same status and description.
func isSameState(a, b *release.Info) bool {
	return a.Status == b.Status && a.Description == b.Description
}

// isSame reports whether a revision is unchanged since it was read: whether current has the
// same status, lease and heartbeat as the revision read.
func isSame(read, current *release.Release) bool {
	was, is := leaseOf(read), leaseOf(current)
	if was == nil || is == nil {
		return was == is && current.Info.Status == read.Info.Status
	}
	return current.Info.Status == read.Info.Status && was.ID == is.ID && was.RenewedAt.Equal(is.RenewedAt)
}
