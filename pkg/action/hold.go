// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ordered-helm/helm/internal/process"
	"github.com/ordered-helm/helm/internal/releaserecord"
	"github.com/ordered-helm/helm/internal/sequencer"
)

const (
	// leaseDuration is for how long a release is held without a sign of life of its
	// holder. It is longer than an API server is away for when it is restarted.
	leaseDuration = 45 * time.Second
	// renewInterval is how often a lease is renewed.
	renewInterval = 10 * time.Second
	// trustDuration is for how long after a sign of life its holder changes things without
	// asking whether it still holds the release. Whoever takes it for dead has looked for
	// longer (shortestLook), whatever the clocks say.
	trustDuration = renewInterval + 2*time.Second
)

// isHeld reports whether a status says that an operation works on the revision.
func isHeld(status release.Status) bool {
	return status.IsPending() || status == release.StatusUninstalling
}

// hold is how the ledger of an operation holds its release: by a lease in the record,
// as long as the status says that somebody works on it.
type hold struct {
	lease releaserecord.Lease
	// before is the revision as it was before the operation, until its lease is stored for
	// sure; nil where it was created with that.
	before *release.Release
	// ends are the states without a lease in which it was tried to store the revision, and
	// ended the one that it is stored in: that may be done although no answer said so.
	ends  []release.Info
	ended *release.Info
	// status is what the release is stored as while it is held.
	status release.Status
	// confirmed is when the storage last had the lease for sure.
	confirmed time.Time
	// lose ends the operation; lost is why it was ended.
	lose context.CancelCauseFunc
	lost error
}

// hold has the release, from its next write on, say that this operation works on it. The
// status is the one that it will be stored with until that ends. Lose is called when it
// turns out that others have taken the release over; from then on nothing is written.
func (l *ledger) hold(operation string, status release.Status, lose context.CancelCauseFunc) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bare == nil {
		return nil // there is no record that it could be in
	}
	now := time.Now()
	l.held = &hold{
		lease: releaserecord.Lease{
			Revision: l.rel.Version, ID: rand.Text(), Operation: operation, Process: process.Current(),
			StartedAt: now.UTC().Truncate(time.Millisecond), Seconds: int(leaseDuration / time.Second),
		},
		status: status, confirmed: now, lose: lose,
	}
	return l.attach()
}

// replaces has the ledger know what is stored until its first write is done.
func (l *ledger) replaces(before *release.Release) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held != nil {
		l.held.before = before
	}
}

// heldRecord is the record with the lease, as it is to be written now. The caller
// holds mu.
func (l *ledger) heldRecord() *releaserecord.Record {
	if l.held == nil || !isHeld(l.rel.Info.Status) {
		return l.rec
	}
	held := releaserecord.Record{Revision: l.rel.Version, Charts: &sequencer.Chart{Name: chartName(l.rel)}}
	if l.rec != nil {
		held = *l.rec
	}
	lease := l.held.lease
	lease.RenewedAt = time.Now().UTC().Truncate(time.Millisecond)
	held.Lease = &lease
	return &held
}

// leaseID is the lease by which this operation holds the release; empty if it does
// not.
func (l *ledger) leaseID() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		return ""
	}
	return l.held.lease.ID
}

// own is the operation of the ledger, for another one that undoes it.
func (l *ledger) own() *undone { return &undone{revision: l.rel.Version, lease: l.leaseID()} }

// removes reports whether the operation that holds the release removes it.
func (l *ledger) removes() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held != nil && l.held.status == release.StatusUninstalling
}

// letGo forgets that the operation holds the release, where that could not be stored.
func (l *ledger) letGo() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = nil
}

// putBack stores the revision as it was before the operation, if that still holds it.
func (l *ledger) putBack(before *release.Release) error {
	again := newLedger(l.cfg, ownRelease(before))
	l.mu.Lock()
	again.held = l.held
	l.mu.Unlock()
	return again.store(nil)
}

// lostTo is why the operation no longer holds the release; nil if it does.
func (l *ledger) lostTo() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		return nil
	}
	return l.held.lost
}

// isSure reports whether nobody can have taken the release over by now, or the error
// that somebody has. The caller holds mu.
func (l *ledger) isSure() (bool, error) {
	if l.held == nil {
		return true, nil
	}
	return elapsed(l.held.confirmed) < trustDuration, l.held.lost
}

// elapsed is how long ago a time was. A machine that slept counts the time of day alone,
// one whose clock was set only what went by.
func elapsed(since time.Time) time.Duration {
	return max(time.Since(since), time.Now().Round(0).Sub(since.Round(0)))
}

// mayChange returns an error if the operation must not change anything: where it was
// away for so long that others may have taken the release over, it asks.
func (l *ledger) mayChange() error {
	l.mu.Lock()
	sure, lost := l.isSure()
	l.mu.Unlock()
	if sure || lost != nil {
		return lost
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	return l.makeSure()
}

// makeSure asks, unless that is known, whether this operation still holds the release.
// The caller holds writing.
func (l *ledger) makeSure() error {
	l.mu.Lock()
	sure, lost := l.isSure()
	l.mu.Unlock()
	if sure || lost != nil {
		return lost
	}
	return l.confirm()
}

// mayConclude is mayChange for the end of an operation, which also must not be recorded
// where there is a newer revision: a Helm of another make does not ask before it makes one.
func (l *ledger) mayConclude() error {
	if err := l.mayChange(); err != nil || l.leaseID() == "" {
		return err
	}
	l.mu.Lock()
	name, revision := l.rel.Name, l.rel.Version
	l.mu.Unlock()
	if _, err := readRevision(l.cfg.Releases, name, revision+1); err != nil {
		return nil //nolint:nilerr // there is none, or it cannot be told
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	return l.confirm()
}

// renew writes a new sign of life, unless others hold the release by now.
func (l *ledger) renew() {
	l.writing.Lock()
	defer l.writing.Unlock()
	err := l.confirm()
	if err == nil {
		err = l.write()
	}
	if err != nil {
		l.cfg.Log("warning: failed to renew the lease of release %s: %s", l.rel.Name, err)
	}
}

// confirm asks the storage whether this operation still holds the release. The caller
// holds writing.
func (l *ledger) confirm() error {
	l.mu.Lock()
	name, revision, held := l.rel.Name, l.rel.Version, l.held
	lost := held.lost
	l.mu.Unlock()
	if lost != nil {
		return lost
	}
	asked := time.Now()
	by, err := l.takenBy(name, revision, held)
	l.mu.Lock()
	switch {
	case apierrors.IsForbidden(err) && elapsed(held.confirmed) < leaseDuration:
		// Who may write releases alone gives signs of life all the same: nobody takes
		// it for dead before the last one runs out.
		err = nil
	case err != nil:
		err = fmt.Errorf("ask whether release %s was taken over: %w", name, err)
	case by == nil:
		held.confirmed = asked
	default:
		held.lost, err = by, by
		held.lose(by)
	}
	l.mu.Unlock()
	if by != nil && by.left != nil {
		l.try(newLedger(l.cfg, by.left).store(nil))
	}
	return err
}

// passOn has another function be called when it turns out that others have taken the
// release over.
func (l *ledger) passOn(lose context.CancelCauseFunc) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held != nil {
		l.held.lose = lose
	}
}

// takenBy finds out who has taken the release over; nil if nobody has.
func (l *ledger) takenBy(name string, revision int, held *hold) (*TakenOverError, error) {
	current, err := readRevision(l.cfg.Releases, name, revision)
	if errors.Is(err, driver.ErrReleaseNotFound) {
		return &TakenOverError{Release: name, Revision: revision, Gone: true}, nil
	}
	if err != nil {
		return nil, err
	}
	if held.hasEndedIn(current) {
		return nil, nil
	}
	isBefore := held.before != nil && isSame(held.before, current)
	if !isBefore && !held.isIn(current) {
		return &TakenOverError{Release: name, Revision: revision, By: HolderOf(current)}, nil
	}
	next, err := readRevision(l.cfg.Releases, name, revision+1)
	if errors.Is(err, driver.ErrReleaseNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if isBefore {
		return &TakenOverError{Release: name, Revision: revision, By: HolderOf(next)}, nil
	}
	// Who takes a revision over records that, unless it is a Helm of another make: then
	// nobody else ends what is still ours.
	lost := &TakenOverError{Release: name, Revision: revision, By: HolderOf(next), left: interrupted(current)}
	lost.left.Info.Description = fmt.Sprintf("Interrupted: revision %d was made meanwhile", next.Version)
	return lost, nil
}

// isIn reports whether a revision is stored as held by the operation.
func (h *hold) isIn(current *release.Release) bool {
	lease := leaseOf(current)
	return current.Info.Status == h.status && lease != nil && lease.ID == h.lease.ID
}

// hasEndedIn reports whether a revision is stored as the operation wanted to leave it.
func (h *hold) hasEndedIn(current *release.Release) bool {
	if leaseOf(current) != nil {
		return false
	}
	for _, end := range h.ends {
		if isSameState(&end, current.Info) {
			h.ended = &end
			return true
		}
	}
	return false
}

// isSameState reports whether a revision is stored as having come to the same.
func isSameState(a, b *release.Info) bool {
	return a.Status == b.Status && a.Description == b.Description
}

// leaseOf is the lease of a revision; nil if it has none that can be read.
func leaseOf(rel *release.Release) *releaserecord.Lease {
	rec, err := releaserecord.Read(rel)
	if err != nil {
		return nil
	}
	return rec.LeaseFor(rel.Version)
}

// TakenOverError says that an operation has stopped because others work on its release:
// it was away for so long that they had to take it for dead, or they did not ask. What they
// found of it, and what became of that, is theirs.
type TakenOverError struct {
	Release  string
	Revision int
	// By is who works on the release now; nil if that is not known.
	By *Holder
	// Gone is whether the revision is no longer stored at all.
	Gone bool
	// left is the revision as it is to be left; nil if others have taken it.
	left *release.Release
}

func (e *TakenOverError) Error() string {
	if e.Gone {
		return fmt.Sprintf("the record of revision %d of release %s is gone: somebody has uninstalled the release, or deleted its record or its whole namespace: "+
			"this operation has stopped, and records and undoes nothing more", e.Revision, e.Release)
	}
	by := "another operation"
	if e.By != nil {
		by = e.By.String()
	}
	return fmt.Sprintf("release %s was taken over by %s: this operation has stopped at revision %d, and records and undoes nothing more", e.Release, by, e.Revision)
}
