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
	"github.com/ordered-helm/helm/internal/process"
	"github.com/ordered-helm/helm/internal/releaserecord"
)

const (
	// leaseDuration is how long a release is held without a heartbeat of its holder. It
	// is longer than an API server takes to restart.
	leaseDuration = 45 * time.Second
	// confirmedDuration is how long after a heartbeat its holder changes things without
	// asking whether it still holds the release. Whoever considers it dead has watched it
	// for longer (minWatchDuration), whatever the clocks say.
	confirmedDuration = history.RenewInterval + 2*time.Second
)

// Lease is how an operation holds its release: by a lease in the record, as long as the
// status of the release says that an operation works on it. It guards the writer of the
// release. A nil Lease holds nothing.
type Lease struct {
	writer   *history.Writer
	name     string
	revision int
	// status is the status of the release while it is held.
	status release.Status

	mu    sync.Mutex
	lease releaserecord.Lease
	// previous is the revision as it was before the operation, until its lease is
	// certainly stored; nil where it was created with the lease.
	previous *release.Release
	// attemptedStates are the states without a lease in which the operation tried to store the
	// revision. It may be stored as one of them, which is concluded, although no answer
	// said so.
	attemptedStates []release.Info
	concluded       *release.Info
	// confirmed is when the storage last had the lease for certain.
	confirmed time.Time
	// end ends the operation; lost is why it was ended.
	end  context.CancelCauseFunc
	lost error
}

var _ history.Guard = (*Lease)(nil)

// Acquire has the release of a writer say, from its next write on, that the operation
// works on it. The status is the one that the release has until the operation ends. End is
// called when others have taken the release over; from then on nothing is written. It
// returns nil for a release that cannot hold a lease because it has no chart.
func Acquire(w *history.Writer, operation string, status release.Status, end context.CancelCauseFunc) (*Lease, error) {
	now, rel := time.Now(), w.Release()
	l := &Lease{
		writer: w, name: rel.Name, revision: rel.Version, status: status, confirmed: now, end: end,
		lease: releaserecord.Lease{
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

// SetPrevious sets what is stored until the first write with the lease.
func (l *Lease) SetPrevious(previous *release.Release) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.previous = previous
}

// SetCancel has another function be called when others have taken the release over.
func (l *Lease) SetCancel(end context.CancelCauseFunc) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end = end
}

// ID is the ID of the lease; empty if the operation holds nothing.
func (l *Lease) ID() string {
	if l == nil {
		return ""
	}
	return l.lease.ID // which does not change
}

// Lease is the lease with a new heartbeat.
func (l *Lease) Lease() *releaserecord.Lease {
	renewed := l.lease
	renewed.RenewedAt = time.Now().UTC().Truncate(time.Millisecond)
	return &renewed
}

// Lost is why the operation no longer holds the release; nil if it does.
func (l *Lease) Lost() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

// isCertain reports whether nobody can have taken the release over by now. The error says
// that somebody has.
func (l *Lease) isCertain() (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return history.Elapsed(l.confirmed) < confirmedDuration, l.lost
}

// MayChange returns an error if the operation must not change anything. Where it was
// suspended for so long that others may have taken the release over, it asks the storage.
func (l *Lease) MayChange() error {
	if l == nil {
		return nil
	}
	if certain, lost := l.isCertain(); certain || lost != nil {
		return lost
	}
	return l.writer.WithWriteLock(l.Check)
}

// Check asks the storage, unless that is certain, whether the operation still holds the
// release.
func (l *Lease) Check() error {
	if certain, lost := l.isCertain(); certain || lost != nil {
		return lost
	}
	return l.Confirm()
}

// MayConclude is MayChange for the end of an operation, which also must not be recorded
// where there is a newer revision: another implementation of Helm creates one without
// asking.
func (l *Lease) MayConclude() error {
	if err := l.MayChange(); err != nil || l == nil {
		return err
	}
	if _, err := l.writer.Store().Read(l.name, l.revision+1); err != nil {
		return nil //nolint:nilerr // there is none, or that cannot be found out
	}
	return l.writer.WithWriteLock(l.Confirm)
}

// Confirm asks the storage whether the operation still holds the release.
func (l *Lease) Confirm() error {
	if lost := l.Lost(); lost != nil {
		return lost
	}
	asked := time.Now()
	lost, err := l.findLoss()
	l.mu.Lock()
	var end context.CancelCauseFunc
	switch {
	case apierrors.IsForbidden(err) && history.Elapsed(l.confirmed) < leaseDuration:
		// An account that may only write releases sends heartbeats all the same: nobody
		// considers it dead before the last one expires.
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

// findLoss finds out who has taken the release over; nil if nobody has.
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
	// An operation that takes a revision over records that, unless it is of another
	// implementation of Helm: then nobody else concludes the revision of this one.
	lost := &LostError{Release: l.name, Revision: l.revision, By: HolderOf(next), abandoned: Interrupt(current)}
	lost.abandoned.Info.Description = fmt.Sprintf("Interrupted: revision %d was created in the meantime", next.Version)
	return lost, nil
}

// isStillPrevious reports whether a revision is stored as it was before the operation.
func (l *Lease) isStillPrevious(current *release.Release) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.previous != nil && isSame(l.previous, current)
}

// isStoredIn reports whether a revision is stored with the lease.
func (l *Lease) isStoredIn(current *release.Release) bool {
	lease := leaseOf(current)
	return current.Info.Status == l.status && lease != nil && lease.ID == l.lease.ID
}

// findConcluded reports whether a revision is stored as the operation tried to leave it.
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

// BeforeConclusion notes a state without a lease that is about to be stored.
func (l *Lease) BeforeConclusion(state release.Info) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.attemptedStates = append(l.attemptedStates, state)
}

// AfterWrite notes that the release was stored by a request that was sent at that time.
func (l *Lease) AfterWrite(sent time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.confirmed, l.previous = sent, nil
}

// IsConcluded reports whether the release is stored in that state already.
func (l *Lease) IsConcluded(state *release.Info) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.concluded != nil && isSameState(l.concluded, state)
}

// isSameState reports whether two revisions are recorded with the same result.
func isSameState(a, b *release.Info) bool {
	return a.Status == b.Status && a.Description == b.Description
}

// isSame reports whether nobody has written a heartbeat, or another status, since a
// revision was read.
func isSame(read, current *release.Release) bool {
	was, is := leaseOf(read), leaseOf(current)
	if was == nil || is == nil {
		return was == is && current.Info.Status == read.Info.Status
	}
	return current.Info.Status == read.Info.Status && was.ID == is.ID && was.RenewedAt.Equal(is.RenewedAt)
}
