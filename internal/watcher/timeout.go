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
	// outageCheckInterval is how often a limit is looked at again while its clock stands
	// still because nothing can be observed.
	outageCheckInterval = 100 * time.Millisecond
	// finalReadTimeout is how long reading what is out of time may take: a watch that
	// tells nothing must not make something late that is ready.
	finalReadTimeout = 2 * time.Second
)

// TimeoutError is the cause of a NotReadyError when targets ran out of their
// own time.
type TimeoutError struct {
	// Timeout is the time that the first of them had.
	Timeout time.Duration
}

func (e *TimeoutError) Error() string { return fmt.Sprintf("not ready within %s", e.Timeout) }

// remainingTime is the time that an item still has, and whether its clock stands still
// because it cannot be observed. Time in which the API could not be reached does
// not count; what was ready and is not any more has its whole time again. The
// caller holds the tracker's mu.
func (i *item) remainingTime(now time.Time) (left time.Duration, blind bool) {
	since, blindBefore := i.group.options.Start, i.outagesBefore
	if i.unreadySince.After(since) {
		since = i.unreadySince
		if i.outagesBeforeUnready < 0 {
			i.outagesBeforeUnready = i.stream.unobserved(now)
		}
		blindBefore = i.outagesBeforeUnready
	}
	left = i.target.Timeout - now.Sub(since)
	if i.attached {
		left += i.stream.unobserved(now) - blindBefore
		blind = !i.stream.outageStart.IsZero()
	}
	return left, blind
}

// isOpen reports an item that may still become ready. The caller holds the
// tracker's mu.
func (i *item) isOpen() bool {
	return !i.timedOut && i.forbidden == nil && i.report.Status.State != readiness.Ready && i.report.Status.State != readiness.Failed
}

// nextTimeout says after what time a limit has to be looked at; false if there is
// none.
func (g *Group) nextTimeout() (next time.Duration, found bool) {
	g.watcher.mu.Lock()
	defer g.watcher.mu.Unlock()
	now := time.Now()
	for _, i := range g.items {
		if i.target.Timeout <= 0 || !i.isOpen() {
			continue
		}
		left, blind := i.remainingTime(now)
		if blind {
			left = max(left, outageCheckInterval)
		}
		if !found || left < next {
			next, found = left, true
		}
	}
	return next, found
}

// timeOutItems gives up what is out of time, each after a last look at it. It reports
// false when nothing was.
func (g *Group) timeOutItems(ctx context.Context) bool {
	var unseen []*item
	expired := false
	g.watcher.mu.Lock()
	now := time.Now()
	for _, i := range g.items {
		if i.target.Timeout <= 0 || !i.isOpen() {
			continue
		}
		if left, _ := i.remainingTime(now); left > 0 {
			continue
		}
		if !i.readAtTimeout {
			i.readAtTimeout = true
			unseen = append(unseen, i)
			continue
		}
		i.timedOut, i.report.TimedOutAfter, expired = true, i.target.Timeout, true
	}
	g.watcher.mu.Unlock()
	if len(unseen) > 0 {
		g.readItemsNow(ctx, unseen)
	}
	return expired || len(unseen) > 0
}

// readItemsNow reads items now, whatever their watch tells.
func (g *Group) readItemsNow(ctx context.Context, items []*item) {
	ctx, cancel := context.WithTimeout(ctx, finalReadTimeout)
	defer cancel()
	g.watcher.mu.Lock()
	parts := g.byStream(func(i *item) bool { return i.attached && slices.Contains(items, i) })
	g.watcher.mu.Unlock()
	for _, part := range parts {
		part.stream.readNow(ctx, part.names())
	}
}

// readAtDeadline reads what is still open when the time of the whole operation is
// over.
func (g *Group) readAtDeadline(ctx context.Context, onChange func(Report)) {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finalReadTimeout)
	defer cancel()
	var open []*item
	g.watcher.mu.Lock()
	for _, i := range g.items {
		if i.isOpen() {
			open = append(open, i)
		}
	}
	g.watcher.mu.Unlock()
	g.readItemsNow(ctx, open)
	g.evaluate(ctx, onChange)
}
