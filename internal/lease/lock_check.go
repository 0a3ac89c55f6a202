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

// Takeover says when an operation takes over a release that is locked by another operation
// (docs/reference.md, "Release locks").
type Takeover string

const (
	// TakeoverAuto takes over the release if its lock holder is no longer alive. An empty
	// Takeover means the same.
	TakeoverAuto Takeover = "auto"
	// TakeoverNever never takes over a release.
	TakeoverNever Takeover = "never"
	// TakeoverForce also takes over a release whose order record names no lock holder, for
	// example because stock Helm was working on it. The caller must be sure that no
	// operation is running on the release. Even TakeoverForce does not take over a release
	// whose lock holder is alive.
	TakeoverForce Takeover = "force"
)

// Takeovers returns all values of Takeover, for example for shell completion.
func Takeovers() []Takeover { return []Takeover{TakeoverAuto, TakeoverNever, TakeoverForce} }

// Validate returns an error if t is not one of the constants above and not empty.
func (t Takeover) Validate() error {
	if t == "" || slices.Contains(Takeovers(), t) {
		return nil
	}
	return fmt.Errorf("invalid takeover %q: must be one of %v", string(t), Takeovers())
}

const (
	// heartbeatCheckInterval is the interval at which LockCheck looks for a new heartbeat of the
	// lock holder.
	heartbeatCheckInterval = 2 * time.Second
	// minWatchDuration is the minimum time for which LockCheck watches a lock holder before it
	// considers it no longer alive. A lock holder that is alive sends a heartbeat within
	// this time, even if its clock differs from ours.
	minWatchDuration = history.RenewInterval + 5*time.Second
)

// LockCheck finds out, before an operation begins, whether the release is locked, and whether
// the operation can take it over.
type LockCheck struct {
	Store  *history.Store
	Events *event.Sink
	// Release is the name of the release.
	Release  string
	Takeover Takeover
	// DryRun says that the operation changes nothing. The check then does not wait for a
	// heartbeat: if the lease has expired, the lock holder is considered no longer alive.
	DryRun bool
	// Undo identifies the failed operation that this operation rolls back or uninstalls
	// because of --atomic; otherwise it is nil.
	Undo *FailedOperation
	// StatusError returns the error with which stock Helm rejects a release whose last
	// revision has the given status, or nil if stock Helm continues. A nil StatusError means
	// that stock Helm continues with every status.
	StatusError func(release.Status) error
}

// FailedOperation identifies a failed operation that is rolled back or uninstalled because of
// --atomic. The rollback or uninstall fails if another operation has started on the release
// since the failure.
type FailedOperation struct {
	// Revision is the revision that the failed operation worked on.
	Revision int
	// LeaseID is the ID of the lease of the failed operation, which may still be stored;
	// empty if the operation had no lease.
	LeaseID string
}

// isLatestRevision reports whether last, the last revision of the release, is the one of the
// failed operation and is still as that operation left it.
func (f *FailedOperation) isLatestRevision(last *release.Release) bool {
	return last.Version == f.Revision && (last.Info.Status == release.StatusFailed || f.ownsLease(leaseOf(last)))
}

// ownsLease reports whether lease belongs to the failed operation: it has the ID of that
// operation's lease, or it is nil and that operation had none.
func (f *FailedOperation) ownsLease(lease *orderrecord.Lease) bool {
	return f != nil && (lease == nil && f.LeaseID == "" || lease != nil && lease.ID == f.LeaseID)
}

// LockCheckResult describes a release on which an operation can begin, as LockCheck found it.
type LockCheckResult struct {
	// History contains all revisions of the release. If the operation takes over the last
	// one, it has the status failed here. Err is the error if the revisions could not be
	// read.
	History []*release.Release
	Err     error
	// Last is the last revision as it is stored; nil if there is none. Stale is the same
	// revision if the operation takes it over, for example because the lock holder is no
	// longer alive; otherwise nil.
	Last, Stale *release.Release
}

// Run reads the revisions of the release. If an operation seems to be running on the last
// one, Run waits until it is known whether the lock holder is still alive. If it is, the
// error is a *HeldError.
func (c *LockCheck) Run(ctx context.Context) (*LockCheckResult, error) {
	for {
		s := &LockCheckResult{}
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

// takeOver sets Stale to the last revision, and replaces this revision in History by a copy
// with the status failed.
func (s *LockCheckResult) takeOver() {
	s.Stale = s.Last
	failed := AsInterrupted(s.Stale)
	s.History = slices.Clone(s.History)
	s.History[slices.Index(s.History, s.Stale)] = failed
}

// isDead reports whether the operation can take over last, a revision on which another
// operation seems to be running: because the lock holder is no longer alive, because c.Undo
// identifies that operation, or because of TakeoverForce. If the operation must not take
// over last, isDead returns a *HeldError. If the other operation finishes meanwhile, isDead
// returns false without an error.
func (c *LockCheck) isDead(ctx context.Context, last *release.Release) (bool, error) {
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

// watch reads the revision last repeatedly until its lock holder sends a heartbeat, or has
// not sent one for so long that it is considered no longer alive. lease is the lease of
// last. After a heartbeat, watch returns held. If the operation of the lock holder finishes
// first, watch returns false without an error.
func (c *LockCheck) watch(ctx context.Context, last *release.Release, lease *orderrecord.Lease, held *HeldError) (dead bool, err error) {
	sinceHeartbeat := max(0, time.Since(lease.RenewedAt)) // the clock of the lock holder may be ahead
	limit := max(minWatchDuration, lease.Duration()-sinceHeartbeat)
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
		if err != nil { // the lock holder probably cannot send a heartbeat either, so watch it for longer
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
