// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"context"
	"errors"
	"slices"
	"sync"
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

// limitTime returns the time to pass to the object's Limit: now without the outages of the
// stream. The caller must have locked the watcher's mu.
func (i *watchedObject) limitTime(now time.Time) time.Time {
	if !i.awaited {
		return now
	}
	return now.Add(i.outagesBefore - i.stream.reachability.outages(now))
}

// observeForLimit passes the last observed version of the object to its Limit.
func (i *watchedObject) observeForLimit() {
	if i.target.Limit == nil || i.report.Object == nil {
		return
	}
	i.group.watcher.mu.Lock()
	at := i.limitTime(time.Now())
	i.group.watcher.mu.Unlock()
	i.target.Limit.Observe(i.report.Object, i.report.Status.State == readiness.Ready, at)
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
		if i.target.Limit == nil || !i.isOpen() {
			continue
		}
		again := i.target.Limit.Check(i.limitTime(now))
		if i.awaited && i.stream.reachability.hasOutage() {
			again = max(again, outageCheckInterval)
		}
		add(again)
	}
	return next, found
}

// timeOutObjects handles open objects whose time is used up. At the first call for an object,
// it reads the object once more, and calls Limit.Examine. If the object is still open at the
// next call, and its time still used up, it has timed out. timeOutObjects reports whether it
// read or timed out any object.
func (g *TargetGroup) timeOutObjects(ctx context.Context) bool {
	var unread []*watchedObject
	timedOut := false
	g.watcher.mu.Lock()
	now := time.Now()
	for _, i := range g.objects {
		if i.target.Limit == nil || !i.isOpen() {
			continue
		}
		if i.target.Limit.Check(i.limitTime(now)) > 0 {
			i.readAtTimeout = false
			continue
		}
		if !i.readAtTimeout {
			i.readAtTimeout = true
			unread = append(unread, i)
			continue
		}
		i.timedOut, i.report.TimedOut, timedOut = true, i.target.Limit.Err(), true
	}
	g.watcher.mu.Unlock()
	if len(unread) > 0 {
		g.readObjectsNow(ctx, unread)
		var wg sync.WaitGroup
		for _, i := range unread {
			wg.Go(func() { i.target.Limit.Examine(ctx) })
		}
		wg.Wait()
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
