// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ordered-helm/helm/internal/readiness"
)

const (
	// blindCheck is how often a limit is looked at again while its clock stands
	// still because nothing can be observed.
	blindCheck = 100 * time.Millisecond
	// lastLook is how long reading what is out of time may take: a watch that
	// tells nothing must not make something late that is ready.
	lastLook = 2 * time.Second
)

// TimeoutError is the cause of a NotReadyError when targets ran out of their
// own time.
type TimeoutError struct {
	// Timeout is the time that the first of them had.
	Timeout time.Duration
}

func (e *TimeoutError) Error() string { return fmt.Sprintf("not ready within %s", e.Timeout) }

// left is the time that an item still has, and whether its clock stands still
// because it cannot be observed. Time in which the API could not be reached does
// not count; what was ready and is not any more has its whole time again. The
// caller holds the tracker's mu.
func (i *item) left(now time.Time) (left time.Duration, blind bool) {
	since, blindBefore := i.group.options.Start, i.blindAt
	if i.reopened.After(since) {
		since = i.reopened
		if i.blindReopened < 0 {
			i.blindReopened = i.stream.unobserved(now)
		}
		blindBefore = i.blindReopened
	}
	left = i.target.Timeout - now.Sub(since)
	if i.attached {
		left += i.stream.unobserved(now) - blindBefore
		blind = !i.stream.blindSince.IsZero()
	}
	return left, blind
}

// isOpen reports an item that may still become ready. The caller holds the
// tracker's mu.
func (i *item) isOpen() bool {
	return !i.expired && i.denied == nil && i.report.Status.State != readiness.Ready && i.report.Status.State != readiness.Failed
}

// nextLimit says after what time a limit has to be looked at; false if there is
// none.
func (g *Group) nextLimit() (next time.Duration, found bool) {
	g.tracker.mu.Lock()
	defer g.tracker.mu.Unlock()
	now := time.Now()
	for _, i := range g.items {
		if i.target.Timeout <= 0 || !i.isOpen() {
			continue
		}
		left, blind := i.left(now)
		if blind {
			left = max(left, blindCheck)
		}
		if !found || left < next {
			next, found = left, true
		}
	}
	return next, found
}

// expire gives up what is out of time, each after a last look at it. It reports
// false when nothing was.
func (g *Group) expire(ctx context.Context) bool {
	var unseen []*item
	expired := false
	g.tracker.mu.Lock()
	now := time.Now()
	for _, i := range g.items {
		if i.target.Timeout <= 0 || !i.isOpen() {
			continue
		}
		if left, _ := i.left(now); left > 0 {
			continue
		}
		if !i.looked {
			i.looked = true
			unseen = append(unseen, i)
			continue
		}
		i.expired, i.report.TimedOutAfter, expired = true, i.target.Timeout, true
	}
	g.tracker.mu.Unlock()
	if len(unseen) > 0 {
		g.look(ctx, unseen)
	}
	return expired || len(unseen) > 0
}

// look reads items now, whatever their watch tells.
func (g *Group) look(ctx context.Context, items []*item) {
	ctx, cancel := context.WithTimeout(ctx, lastLook)
	defer cancel()
	g.tracker.mu.Lock()
	parts := g.byStream(func(i *item) bool { return i.attached && slices.Contains(items, i) })
	g.tracker.mu.Unlock()
	for _, part := range parts {
		part.stream.look(ctx, part.names())
	}
}

// lookAtTheEnd reads what is still open when the time of the whole operation is
// over.
func (g *Group) lookAtTheEnd(ctx context.Context, onChange func(Report)) {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastLook)
	defer cancel()
	var open []*item
	g.tracker.mu.Lock()
	for _, i := range g.items {
		if i.isOpen() {
			open = append(open, i)
		}
	}
	g.tracker.mu.Unlock()
	g.look(ctx, open)
	g.evaluate(ctx, onChange)
}
