// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/orderrecord"
)

// Takeover says when an operation takes over a release that another operation has locked
// (docs/reference.md, "Release locks").
type Takeover string

const (
	// TakeoverAuto takes over the release if the lock holder that its record names is no
	// longer alive. It is the default, also for an empty value.
	TakeoverAuto Takeover = "auto"
	// TakeoverNever never takes over a release.
	TakeoverNever Takeover = "never"
	// TakeoverForce also takes over a release whose record names no lock holder, as with
	// another implementation of Helm. The caller must be sure that no operation is running
	// on it. It does not take over a release whose lock holder is alive.
	TakeoverForce Takeover = "force"
)

// Takeovers returns the values of Takeover, for example for shell completion.
func Takeovers() []Takeover { return []Takeover{TakeoverAuto, TakeoverNever, TakeoverForce} }

// Validate returns an error for an invalid value.
func (t Takeover) Validate() error {
	if t == "" || slices.Contains(Takeovers(), t) {
		return nil
	}
	return fmt.Errorf("invalid takeover %q: must be one of %v", string(t), Takeovers())
}

const (
	// heartbeatCheckInterval is the interval at which Check reads the release to look for a
	// new heartbeat of the lock holder.
	heartbeatCheckInterval = 2 * time.Second
	// minWatchDuration is the minimum time for which Check watches a lock holder. A lock
	// holder that is alive sends a heartbeat within this time, whatever its clock says.
	minWatchDuration = history.RenewInterval + 5*time.Second
)

// Check finds out, before an operation begins, whether another operation has locked the
// release, and whether that lock can be taken over.
type Check struct {
	Store  *history.Store
	Events *event.Sink
	// Release is the name of the release.
	Release  string
	Takeover Takeover
	// DryRun says that the operation changes nothing. Check then does not watch the lock
	// holder: an expired lease is sufficient to consider it no longer alive.
	DryRun bool
	// Undo is the failed operation that the caller undoes; nil if it undoes none.
	Undo *UndoTarget
	// StatusError returns the error with which stock Helm refuses to continue if the last
	// revision has the given status; nil if it continues. The function is nil if stock Helm
	// continues with any status.
	StatusError func(release.Status) error
}

// UndoTarget identifies a failed operation that another operation undoes. This is only
// allowed if no other operation has started on the release since then.
type UndoTarget struct {
	// Revision is the revision of the failed operation.
	Revision int
	// LeaseID is the ID of the lease of the failed operation, which may still be stored;
	// empty if it had no lease.
	LeaseID string
}

// isLatestRevision reports whether last, the last revision of the release, is the revision
// to undo, in the state in which the failed operation left it.
func (u *UndoTarget) isLatestRevision(last *release.Release) bool {
	return last.Version == u.Revision && (last.Info.Status == release.StatusFailed || u.ownsLease(leaseOf(last)))
}

// ownsLease reports whether a lease belongs to the failed operation. If that operation had
// no lease, it reports whether lease is nil.
func (u *UndoTarget) ownsLease(lease *orderrecord.Lease) bool {
	return u != nil && (lease == nil && u.LeaseID == "" || lease != nil && lease.ID == u.LeaseID)
}

// State describes a release, as Check found it, for an operation that can begin.
type State struct {
	// History has the revisions of the release. If the last one is to be taken over, it has
	// the status failed in History. Err is the error if the revisions could not be read.
	History []*release.Release
	Err     error
	// Last is the last revision as it is stored; nil if there is none. Stale is the same
	// revision if its lock holder is no longer alive, so that the operation must take it
	// over; otherwise nil.
	Last, Stale *release.Release
}

// Run reads the revisions, and waits until it is known whether an operation is running on
// the last one. If one is running, the error is a *HeldError.
func (c *Check) Run(ctx context.Context) (*State, error) {
	for {
		s := &State{}
		s.History, s.Err = c.Store.ReadAll(c.Release)
		s.Last = history.Newest(s.History)
		if c.Undo != nil && s.Last != nil && !c.Undo.isLatestRevision(s.Last) {
			return nil, &LostError{Release: c.Release, Revision: c.Undo.Revision, By: HolderOf(s.Last)}
		}
		if s.Err != nil || s.Last == nil || !history.IsInProgress(s.Last.Info.Status) {
			return s, nil
		}
		dead, err := c.isDead(ctx, s.Last)
		switch {
		case err != nil:
			return nil, err
		case dead:
			s.takeOver()
			return s, nil
		}
	}
}

// takeOver sets Stale to the last revision, and replaces that revision in History with one
// that has the status failed.
func (s *State) takeOver() {
	s.Stale = s.Last
	failed := Interrupt(s.Stale)
	s.History = slices.Clone(s.History)
	s.History[slices.Index(s.History, s.Stale)] = failed
}

// isDead reports whether the lock holder of last is no longer alive, or last can be taken
// over for another reason, such as TakeoverForce. If not, the error is a *HeldError. It
// returns false without an error if the operation of the lock holder finishes during the
// check.
func (c *Check) isDead(ctx context.Context, last *release.Release) (bool, error) {
	lease := leaseOf(last)
	held := &HeldError{Release: c.Release, Revision: last.Version, Status: last.Info.Status, takeover: c.Takeover}
	if c.StatusError != nil {
		held.Helm = c.StatusError(last.Info.Status)
	}
	switch {
	case lease == nil && c.Takeover == TakeoverForce:
		return true, nil
	case lease == nil:
		return false, held
	}
	held.Holder = newHolder(lease)
	switch {
	case c.Takeover == TakeoverNever:
		return false, held
	case c.Undo.ownsLease(lease) || held.Holder.Dead || c.DryRun && held.Holder.Expired:
		return true, nil
	case c.DryRun:
		return false, held
	}
	return c.watch(ctx, last, lease, held)
}

// watch waits until the lock holder of last sends a heartbeat, or has not sent one for so
// long that it is no longer alive. lease is the lease of last. held is the error to return
// after a heartbeat. If the operation of the lock holder finishes first, watch returns
// false without an error.
func (c *Check) watch(ctx context.Context, last *release.Release, lease *orderrecord.Lease, held *HeldError) (dead bool, err error) {
	silent := max(0, time.Since(lease.RenewedAt)) // the clock of the lock holder may be ahead
	limit := max(minWatchDuration, lease.Duration()-silent)
	c.Events.Warnf("release %s is locked by %s, %s; checking for up to %s whether it is still alive", c.Release, held.Holder, held.Holder.Age(), limit.Round(time.Second))
	ticker := time.NewTicker(heartbeatCheckInterval)
	defer ticker.Stop()
	giveUp := time.Now().Add(limit + leaseDuration)
	for until := time.Now().Add(limit); ; {
		select {
		case <-ctx.Done():
			return false, fmt.Errorf("checking whether the lock holder of release %s is still alive: %w", c.Release, context.Cause(ctx))
		case <-ticker.C:
		}
		current, err := c.Store.Read(c.Release, last.Version)
		if errors.Is(err, driver.ErrReleaseNotFound) {
			return false, nil
		}
		if err != nil { // the lock holder cannot renew its lease either
			if time.Now().After(giveUp) {
				return false, fmt.Errorf("checking whether the lock holder of release %s is still alive: %w", c.Release, err)
			}
			c.Store.Logf("failed to read release %s: %s", c.Release, err)
			until = time.Now().Add(limit)
			continue
		}
		now := leaseOf(current)
		switch {
		case current.Info.Status != last.Info.Status || now == nil || now.ID != lease.ID:
			return false, nil
		case !now.RenewedAt.Equal(lease.RenewedAt):
			held.Holder = newHolder(now)
			return false, held
		case lease.HasExited() || time.Now().After(until):
			return true, nil
		}
	}
}
