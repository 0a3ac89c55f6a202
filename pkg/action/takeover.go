// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/ordered-helm/helm/internal/releaserecord"
)

// Takeover says what an operation does with a release that another one works on, or
// did until it died (docs/reference.md, "Who holds a release").
type Takeover string

const (
	// TakeoverAuto takes the release over if the holder that its record names is dead.
	// It is the default, and so is an empty text.
	TakeoverAuto Takeover = "auto"
	// TakeoverNever takes no release over.
	TakeoverNever Takeover = "never"
	// TakeoverForce also takes over a release whose record names nobody, as of stock
	// Helm: the caller knows that nobody works on it. One whose holder lives is not
	// taken over.
	TakeoverForce Takeover = "force"
)

// Takeovers are the values of Takeover, for those who offer them.
func Takeovers() []Takeover { return []Takeover{TakeoverAuto, TakeoverNever, TakeoverForce} }

func (t Takeover) validate() error {
	if t == "" || slices.Contains(Takeovers(), t) {
		return nil
	}
	return fmt.Errorf("there is no takeover %q: it is one of %v", string(t), Takeovers())
}

const (
	// lookInterval is how often it is looked whether the holder of a release lives.
	lookInterval = 2 * time.Second
	// shortestLook is how long it is looked at least: a holder that lives gives a sign
	// of life by then, whatever its clock says.
	shortestLook = renewInterval + 5*time.Second
)

// HeldError says that an operation cannot begin because another one works on the
// release, or may do.
type HeldError struct {
	Release  string
	Revision int
	Status   release.Status
	// Holder is who works on it; nil if that is not known, as of stock Helm.
	Holder *Holder
	// Helm is what stock Helm says of it; nil where it goes on.
	Helm error
	// takeover is what the operation was asked to do.
	takeover Takeover
}

func (e *HeldError) Error() string {
	text := fmt.Sprintf("revision %d of release %s is %s", e.Revision, e.Release, e.Status)
	switch h := e.Holder; {
	case h == nil:
		text += ", and its record does not say who works on it: it may be a Helm of another make that still runs; " +
			"if you know that nobody does, --takeover=force takes the release over"
	case e.takeover == TakeoverNever && h.Expired:
		text += fmt.Sprintf(", by %s, %s: without --takeover=never it would be taken for dead, and the release be taken over", h, h.Age())
	default:
		text += fmt.Sprintf(", by %s, %s: wait for its end, or end it there", h, h.Age())
	}
	if e.Helm != nil {
		text = e.Helm.Error() + ": " + text
	}
	return text
}

// Unwrap gives what stock Helm says.
func (e *HeldError) Unwrap() error { return e.Helm }

// inquiry finds out, before an operation begins, whether its release is free.
type inquiry struct {
	cfg      *Configuration
	events   *events
	name     string
	takeover Takeover
	// dry is whether nothing is to be changed: then a lease that has run out is enough.
	dry bool
	// undoes is what the caller has failed at and undoes; nil if it does not.
	undoes *undone
	// helm is what stock Helm says of a status with which it does not go on.
	helm func(release.Status) error
}

// undone is an operation of which another one, its own, undoes what it did: nobody else may
// have begun on the release since.
type undone struct {
	revision int
	// lease is the ID of the one that it had and may not have given back; empty if it
	// had none.
	lease string
}

// isLast reports whether the last revision is the one to undo, as it was left.
func (u *undone) isLast(last *release.Release) bool {
	return last.Version == u.revision && (last.Info.Status == release.StatusFailed || u.had(leaseOf(last)))
}

// had reports whether a lease is the operation's. One that had none cannot tell.
func (u *undone) had(lease *releaserecord.Lease) bool {
	return u != nil && (lease == nil && u.lease == "" || lease != nil && lease.ID == u.lease)
}

// noObjection is for operations that stock Helm begins whatever the status is.
func noObjection(release.Status) error { return nil }

// found is what an inquiry has found.
type found struct {
	// history are the revisions; one that is taken over is in it as failed. Err is why
	// they could not be read.
	history []*release.Release
	err     error
	// last is the last revision as it is stored; stale is the same if it is to be taken
	// over, and else nil.
	last, stale *release.Release
}

// run reads the revisions, and waits until it is clear whether anybody works on the last
// one. A *HeldError says that somebody does.
func (q *inquiry) run(ctx context.Context) (*found, error) {
	for {
		f := &found{}
		f.history, f.err = readRevisions(q.cfg.Releases, q.name)
		f.last = newest(f.history)
		if q.undoes != nil && f.last != nil && !q.undoes.isLast(f.last) {
			return nil, &TakenOverError{Release: q.name, Revision: q.undoes.revision, By: HolderOf(f.last)}
		}
		if f.err != nil || f.last == nil || !isHeld(f.last.Info.Status) {
			return f, nil
		}
		dead, err := q.isDead(ctx, f.last)
		switch {
		case err != nil:
			return nil, err
		case dead:
			f.takeOver()
			return f, nil
		}
	}
}

// takeOver has the history show the last revision as failed.
func (f *found) takeOver() {
	f.stale = f.last
	failed := interrupted(f.stale)
	f.history = slices.Clone(f.history)
	f.history[slices.Index(f.history, f.stale)] = failed
}

// isDead reports whether a revision that an operation works on can be taken over. It is
// not where it has come to its end meanwhile.
func (q *inquiry) isDead(ctx context.Context, last *release.Release) (bool, error) {
	lease := leaseOf(last)
	held := &HeldError{Release: q.name, Revision: last.Version, Status: last.Info.Status, Helm: q.helm(last.Info.Status), takeover: q.takeover}
	switch {
	case lease == nil && q.takeover == TakeoverForce:
		return true, nil
	case lease == nil:
		return false, held
	}
	held.Holder = newHolder(lease)
	switch {
	case q.takeover == TakeoverNever:
		return false, held
	case q.undoes.had(lease) || held.Holder.Dead || q.dry && held.Holder.Expired:
		return true, nil
	case q.dry:
		return false, held
	}
	return q.watch(ctx, last, lease, held)
}

// watch looks for signs of life of a holder, until it has given one or none for so
// long that it is dead.
func (q *inquiry) watch(ctx context.Context, last *release.Release, lease *releaserecord.Lease, held *HeldError) (dead bool, err error) {
	silent := max(0, time.Since(lease.RenewedAt)) // its clock may be ahead
	long := max(shortestLook, lease.Duration()-silent)
	q.events.warn(fmt.Sprintf("release %s is held by %s, %s: looking for %s whether it still lives", q.name, held.Holder, held.Holder.Age(), long.Round(time.Second)))
	look := time.NewTicker(lookInterval)
	defer look.Stop()
	giveUp := time.Now().Add(long + leaseDuration)
	for until := time.Now().Add(long); ; {
		select {
		case <-ctx.Done():
			return false, fmt.Errorf("looking whether the holder of release %s still lives: %w", q.name, context.Cause(ctx))
		case <-look.C:
		}
		current, err := readRevision(q.cfg.Releases, q.name, last.Version)
		if errors.Is(err, driver.ErrReleaseNotFound) {
			return false, nil
		}
		if err != nil { // nor can the holder renew its lease
			if time.Now().After(giveUp) {
				return false, fmt.Errorf("looking whether the holder of release %s still lives: %w", q.name, err)
			}
			q.cfg.Log("release %s cannot be read: %s", q.name, err)
			until = time.Now().Add(long)
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

// interrupted is a revision that is taken over: it has failed, and nobody holds it.
func interrupted(stale *release.Release) *release.Release {
	failed := ownRelease(stale)
	failed.Info.Status, failed.Info.Description = release.StatusFailed, interruption(stale)
	rec, err := releaserecord.Read(stale)
	if err != nil || rec == nil {
		return failed
	}
	if rec = left(rec); rec != nil {
		rec.Lease = nil
	}
	if bare, err := releaserecord.WithRecord(stale.Chart, rec); err == nil { // which it was read from
		failed.Chart = bare
	}
	return failed
}

// interruption says what became of the operation on a revision that is taken over.
func interruption(stale *release.Release) string {
	h := HolderOf(stale)
	if h == nil {
		return fmt.Sprintf("Interrupted: it was left %s", stale.Info.Status)
	}
	return fmt.Sprintf("Interrupted: %s ended without a word%s", h, reached(stale))
}

// reached says how far the operation on a revision came; empty if that is not known.
func reached(rel *release.Release) string {
	order, err := OrderOf(rel)
	if err != nil || order == nil || !order.Interrupted {
		return ""
	}
	what := "done"
	if order.Removing {
		what = "removed"
	}
	return fmt.Sprintf(", %d of %s %s", len(order.Done), counted(order.Nodes, "node"), what)
}

// left is what stays of a record when the lease is taken out.
func left(rec *releaserecord.Record) *releaserecord.Record {
	if rec == nil || !rec.Ordered && rec.Earlier == nil && !runsHooksInParallel(rec.Charts) {
		return nil // it was there for the lease alone
	}
	return rec
}

func (op *operation) sayTakenOver(stale *release.Release) {
	who := "its record does not say by whom"
	if h := HolderOf(stale); h != nil {
		who = fmt.Sprintf("%s, which has worked on it %s and is dead%s", h, h.Age(), reached(stale))
	}
	op.events.warn(fmt.Sprintf("revision %d of release %s was left %s: %s; the release is taken over", stale.Version, stale.Name, stale.Info.Status, who))
}
