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
	// outageCheckInterval is the interval between checks of timeouts during an outage, which
	// suspends the timeouts.
	outageCheckInterval = 100 * time.Millisecond
	// finalReadTimeout limits the final read: objects that are not ready when they time out
	// are read once more, because the watch may not have reported the latest version.
	finalReadTimeout = 2 * time.Second
)

// TimeoutError is the Cause of a NotReadyError if the wait for one or more targets timed out.
type TimeoutError struct {
	// Timeout is the timeout of the first of these targets.
	Timeout time.Duration
}

func (e *TimeoutError) Error() string { return fmt.Sprintf("not ready within %s", e.Timeout) }

// remainingTime returns the time until the wait for the object times out. Outages of the
// stream do not count; suspended is true during an outage. The timeout starts again when the
// object was ready and no longer is. The caller must have locked the watcher's mu.
func (i *watchedObject) remainingTime(now time.Time) (remaining time.Duration, suspended bool) {
	since, outagesBefore := i.group.options.Start, i.outagesBefore
	if i.unreadySince.After(since) {
		since = i.unreadySince
		if i.outagesBeforeUnready < 0 {
			i.outagesBeforeUnready = i.stream.reachability.outages(now)
		}
		outagesBefore = i.outagesBeforeUnready
	}
	remaining = i.target.Timeout - now.Sub(since)
	if i.awaited {
		remaining += i.stream.reachability.outages(now) - outagesBefore
		suspended = i.stream.reachability.hasOutage()
	}
	return remaining, suspended
}

// isOpen reports whether the object is not ready, but the wait can still succeed: the object
// has not failed, timed out, or turned out to be forbidden to read. The caller must have
// locked the watcher's mu.
func (i *watchedObject) isOpen() bool {
	return !i.timedOut && i.forbidden == nil && i.report.Status.State != readiness.Ready && i.report.Status.State != readiness.Failed
}

// nextCheck returns the time until the next timeout or recheck of a target, when Wait must
// evaluate the targets even if nothing has changed. found is false if there is none.
func (g *TargetGroup) nextCheck() (next time.Duration, found bool) {
	g.watcher.mu.Lock()
	defer g.watcher.mu.Unlock()
	now := time.Now()
	add := func(after time.Duration) {
		if !found || after < next {
			next, found = after, true
		}
	}
	for _, i := range g.objects {
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

// timeOutObjects handles open objects whose timeout has expired. At the first call for an
// object, it reads the object once more. If the object is still open at the next call, it has
// timed out. timeOutObjects reports whether it read or timed out any object.
func (g *TargetGroup) timeOutObjects(ctx context.Context) bool {
	var unread []*watchedObject
	timedOut := false
	g.watcher.mu.Lock()
	now := time.Now()
	for _, i := range g.objects {
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
		g.readObjectsNow(ctx, unread)
	}
	return timedOut || len(unread) > 0
}

// readObjectsNow reads objects in addition to the running watches, and delivers the results.
func (g *TargetGroup) readObjectsNow(ctx context.Context, objects []*watchedObject) {
	ctx, cancel := context.WithTimeout(ctx, finalReadTimeout)
	defer cancel()
	g.watcher.mu.Lock()
	parts := g.byStream(func(i *watchedObject) bool { return i.awaited && slices.Contains(objects, i) })
	g.watcher.mu.Unlock()
	for _, part := range parts {
		part.stream.readNow(ctx, part.names())
	}
}

// readAtDeadline reads and evaluates all open objects one last time if the deadline of ctx
// has passed. It does nothing if ctx ended for another reason.
func (g *TargetGroup) readAtDeadline(ctx context.Context, onChange func(Report)) {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finalReadTimeout)
	defer cancel()
	var open []*watchedObject
	g.watcher.mu.Lock()
	for _, i := range g.objects {
		if i.isOpen() {
			open = append(open, i)
		}
	}
	g.watcher.mu.Unlock()
	g.readObjectsNow(ctx, open)
	g.evaluate(ctx, onChange)
}
