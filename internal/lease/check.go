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
	"github.com/ordered-helm/helm/internal/releaserecord"
)

// Takeover says what an operation does with a release that another one works on, or did
// until it died (docs/reference.md, "Who holds a release").
type Takeover string

const (
	// TakeoverAuto takes the release over if the holder that its record names is dead. It
	// is the default, and so is an empty value.
	TakeoverAuto Takeover = "auto"
	// TakeoverNever takes no release over.
	TakeoverNever Takeover = "never"
	// TakeoverForce also takes over a release whose record names no holder, as that of
	// stock Helm: the caller knows that nobody works on it. A release whose holder is
	// alive is not taken over.
	TakeoverForce Takeover = "force"
)

// Takeovers are the values of Takeover, for those who offer them.
func Takeovers() []Takeover { return []Takeover{TakeoverAuto, TakeoverNever, TakeoverForce} }

// Validate returns an error for a value that does not exist.
func (t Takeover) Validate() error {
	if t == "" || slices.Contains(Takeovers(), t) {
		return nil
	}
	return fmt.Errorf("invalid takeover %q: must be one of %v", string(t), Takeovers())
}

const (
	// heartbeatCheckInterval is how often a holder is checked for a heartbeat.
	heartbeatCheckInterval = 2 * time.Second
	// minWatchDuration is how long a holder is watched at least: one that is alive sends a
	// heartbeat by then, whatever its clock says.
	minWatchDuration = history.RenewInterval + 5*time.Second
)

// Check finds out, before an operation begins, whether its release is free.
type Check struct {
	Store  *history.Store
	Events *event.Sink
	// Release is the name of the release.
	Release  string
	Takeover Takeover
	// DryRun is whether nothing is to be changed: then an expired lease is enough.
	DryRun bool
	// Undo is the operation that the caller undoes; nil if it undoes none.
	Undo *UndoTarget
	// StatusError is the error of stock Helm for a status with which it does not go on; nil
	// where it goes on with any.
	StatusError func(release.Status) error
}

// UndoTarget is a failed operation that another one undoes. Nobody else may have begun to
// work on the release since.
type UndoTarget struct {
	Revision int
	// LeaseID is the lease that it had and may not have given back; empty if it had none.
	LeaseID string
}

// isLatestRevision reports whether the last revision is the one to undo, as the operation left it.
func (u *UndoTarget) isLatestRevision(last *release.Release) bool {
	return last.Version == u.Revision && (last.Info.Status == release.StatusFailed || u.ownsLease(leaseOf(last)))
}

// ownsLease reports whether a lease is that of the operation. One that had none cannot tell.
func (u *UndoTarget) ownsLease(lease *releaserecord.Lease) bool {
	return u != nil && (lease == nil && u.LeaseID == "" || lease != nil && lease.ID == u.LeaseID)
}

// State is what a Check has found.
type State struct {
	// History are the revisions. A revision that is taken over is among them as failed.
	// Err is why they could not be read.
	History []*release.Release
	Err     error
	// Last is the last revision as it is stored. Stale is the same if it is to be taken
	// over, otherwise nil.
	Last, Stale *release.Release
}

// Run reads the revisions, and waits until it is clear whether anybody works on the last
// one. A *HeldError says that somebody does.
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

// takeOver has the history show the last revision as failed.
func (s *State) takeOver() {
	s.Stale = s.Last
	failed := Interrupt(s.Stale)
	s.History = slices.Clone(s.History)
	s.History[slices.Index(s.History, s.Stale)] = failed
}

// isDead reports whether a revision that an operation works on can be taken over. It
// cannot if the operation ended in the meantime.
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

// watch waits for a heartbeat of a holder, until it has sent one or none for so long that
// it is dead.
func (c *Check) watch(ctx context.Context, last *release.Release, lease *releaserecord.Lease, held *HeldError) (dead bool, err error) {
	silent := max(0, time.Since(lease.RenewedAt)) // its clock may be ahead
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
		if err != nil { // the holder cannot renew its lease either
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
