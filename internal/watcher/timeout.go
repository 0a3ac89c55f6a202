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
	// outageCheckInterval is how often a timeout is checked during an outage, when its time
	// is not running.
	outageCheckInterval = 100 * time.Millisecond
	// finalReadTimeout limits the final read: objects that are not ready at their timeout
	// are read again, in case the watch has not reported yet that they are ready.
	finalReadTimeout = 2 * time.Second
)

// TimeoutError is NotReadyError.Cause if targets have timed out.
type TimeoutError struct {
	// Timeout is the timeout of the first of these targets.
	Timeout time.Duration
}

func (e *TimeoutError) Error() string { return fmt.Sprintf("not ready within %s", e.Timeout) }

// remainingTime returns the time until an item times out. Outages of the stream do not
// count; suspended is true during an outage. The timeout starts again when a ready object
// becomes unready. The caller must have locked the watcher's mu.
func (i *item) remainingTime(now time.Time) (remaining time.Duration, suspended bool) {
	since, outagesBefore := i.group.options.Start, i.outagesBefore
	if i.unreadySince.After(since) {
		since = i.unreadySince
		if i.outagesBeforeUnready < 0 {
			i.outagesBeforeUnready = i.stream.connection.outages(now)
		}
		outagesBefore = i.outagesBeforeUnready
	}
	remaining = i.target.Timeout - now.Sub(since)
	if i.attached {
		remaining += i.stream.connection.outages(now) - outagesBefore
		suspended = i.stream.connection.hasOutage()
	}
	return remaining, suspended
}

// isOpen reports whether the result of an item is still open: it is not ready, but can
// still become ready. The caller must have locked the watcher's mu.
func (i *item) isOpen() bool {
	return !i.timedOut && i.forbidden == nil && i.report.Status.State != readiness.Ready && i.report.Status.State != readiness.Failed
}

// nextCheck returns the time until Wait must evaluate the targets again although none has
// changed, because of a timeout or a recheck. found is false if no item has either.
func (g *Group) nextCheck() (next time.Duration, found bool) {
	g.watcher.mu.Lock()
	defer g.watcher.mu.Unlock()
	now := time.Now()
	add := func(after time.Duration) {
		if !found || after < next {
			next, found = after, true
		}
	}
	for _, i := range g.items {
		if !i.timedOut && !i.recheckAt.IsZero() {
			add(i.recheckAt.Sub(now))
		}
		if i.target.Timeout <= 0 || !i.isOpen() {
			continue
		}
		remaining, suspended := i.remainingTime(now)
		if suspended {
			remaining = max(remaining, outageCheckInterval)
		}
		add(remaining)
	}
	return next, found
}

// timeOutItems handles open items whose time is up. The first time, it reads them again; if
// they are still open at the next call, they have timed out. It returns true if there were
// any.
func (g *Group) timeOutItems(ctx context.Context) bool {
	var unread []*item
	timedOut := false
	g.watcher.mu.Lock()
	now := time.Now()
	for _, i := range g.items {
		if i.target.Timeout <= 0 || !i.isOpen() {
			continue
		}
		if remaining, _ := i.remainingTime(now); remaining > 0 {
			continue
		}
		if !i.readAtTimeout {
			i.readAtTimeout = true
			unread = append(unread, i)
			continue
		}
		i.timedOut, i.report.TimedOutAfter, timedOut = true, i.target.Timeout, true
	}
	g.watcher.mu.Unlock()
	if len(unread) > 0 {
		g.readItemsNow(ctx, unread)
	}
	return timedOut || len(unread) > 0
}

// readItemsNow reads the objects of items and delivers the results, while the watches
// continue to run.
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

// readAtDeadline is the final read if the deadline of ctx has passed: it reads all open
// items and judges them. It does nothing if ctx ended for another reason.
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
