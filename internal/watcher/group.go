// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/watcher/observations"
)

// Group waits for several objects together, its targets. A Group is used once: call Applied
// for each object that was written, then Wait. Call Close if Wait is never called.
type Group struct {
	// items are the targets, in the order of ExpectReady. index finds them by object.
	watcher *Watcher
	items   []*item
	index   map[objectKey]*item
	// changed wakes the goroutine in Wait. It receives a value when any item has new
	// observations.
	changed chan struct{}
	options Options
	// changedItems are the items that have new observations. Guarded by the watcher's mu.
	changedItems []*item
}

// objectKey identifies an object. It has no API version, because the same object can be
// read in any version.
type objectKey struct {
	kind            schema.GroupKind
	namespace, name string
}

// Applied tells the group that an object was written; obj is the object that the server
// returned. Wait judges obj first, and after it only newer versions of the object. The
// caller must not change obj afterwards. Applied can be called by several goroutines. It
// returns an error for an object that is not a target of the group.
func (g *Group) Applied(obj *unstructured.Unstructured) error {
	kind := obj.GroupVersionKind().GroupKind()
	i := g.index[objectKey{kind, obj.GetNamespace(), obj.GetName()}]
	if i == nil {
		return fmt.Errorf("%s %q is not a target of the group", kind, obj.GetName())
	}
	g.watcher.mu.Lock()
	defer g.watcher.mu.Unlock()
	i.setBaseline(observations.Of(obj))
	return nil
}

// Options configure how a group waits.
type Options struct {
	// Start is the time from which Target.Timeout is counted.
	Start time.Time
	// WaitForAll says when a wait with a failed target ends: if true, when each target is
	// ready, has failed, or has timed out; if false, as soon as one target has failed or
	// cannot be read because of missing permissions.
	WaitForAll bool
	// StayReadyUntil, if not nil, delays the success of a wait: when all targets are ready,
	// Wait does not return before the channel is closed, and all targets must be ready
	// then.
	StayReadyUntil <-chan struct{}
}

// SetOptions sets the options of the group. It must be called before Wait.
func (g *Group) SetOptions(options Options) { g.options = options }

// Wait waits until all targets are ready at the same time. It returns a report for each
// target, in the order of the targets, even if there is an error. The error is a
// *NotReadyError if a target has failed, if all targets that are not ready have timed out,
// or if ctx is done. A Job or Pod that has succeeded stays ready, even if it is deleted.
// Wait first reads the targets for which Applied was not called.
//
// Wait calls onChange, if not nil, with the first report on each target and whenever a
// report changes. It calls onChange in the goroutine of the caller.
func (g *Group) Wait(ctx context.Context, onChange func(Report)) ([]Report, error) {
	defer g.Close()
	if err := g.readWithoutBaseline(ctx); err != nil {
		return g.result(err)
	}
	for {
		g.evaluate(ctx, onChange)
		mustStayReady := g.mustStayReady() // read only once, because the channel may be closed between outcome and waitForChange
		if over, err := g.outcome(mustStayReady); over {
			return g.result(err)
		}
		g.startStreams()
		if g.timeOutItems(ctx) {
			continue
		}
		if err := g.waitForChange(ctx, mustStayReady); err != nil {
			g.readAtDeadline(ctx, onChange)
			if over, nothing := g.outcome(g.mustStayReady()); over && nothing == nil {
				err = nil
			}
			return g.result(err)
		}
	}
}

// Close stops the observation of the targets. Wait calls it before it returns.
func (g *Group) Close() {
	g.watcher.mu.Lock()
	defer g.watcher.mu.Unlock()
	for _, i := range g.items {
		i.stream.unregister(i)
	}
}

// notify tells the goroutine in Wait that an item has new observations. It never blocks.
// The caller must have locked the watcher's mu.
func (g *Group) notify(i *item) {
	if !i.notified {
		i.notified = true
		g.changedItems = append(g.changedItems, i)
	}
	select {
	case g.changed <- struct{}{}:
	default:
	}
}

// evaluate judges new observations, and judges items again whose recheck is due (see
// readiness.Status.RecheckAfter). It calls onChange for each report that changes.
func (g *Group) evaluate(ctx context.Context, onChange func(Report)) {
	for _, i := range g.takeChanged() {
		next := i.unjudged
		i.unjudged = nil
		if i.timedOut {
			continue
		}
		for _, o := range next {
			g.observe(ctx, i, o, onChange)
			if i.report.Status.State == readiness.Failed {
				break
			}
		}
	}
	for _, i := range g.items {
		if !i.timedOut && !i.recheckAt.IsZero() && !time.Now().Before(i.recheckAt) {
			g.observe(ctx, i, observations.Observation{Object: i.report.Object}, onChange)
		}
	}
}

func (g *Group) observe(ctx context.Context, i *item, o observations.Observation, onChange func(Report)) {
	if i.observe(ctx, o) && onChange != nil {
		onChange(g.completeReport(i))
	}
}

// takeChanged returns the items that have new observations, in the order of the targets. It
// moves these observations from the queues of the items to item.unjudged.
func (g *Group) takeChanged() []*item {
	g.watcher.mu.Lock()
	changed := g.changedItems
	g.changedItems = nil
	for _, i := range changed {
		i.unjudged, i.notified = i.queue.Take(), false
	}
	g.watcher.mu.Unlock()
	slices.SortFunc(changed, func(a, b *item) int { return a.index - b.index })
	return changed
}

// outcome reports whether the wait is finished, and returns the cause of the failure if it
// failed. If mustStayReady is true, a wait whose targets are all ready is not finished yet.
func (g *Group) outcome(mustStayReady bool) (over bool, err error) {
	g.watcher.mu.Lock()
	defer g.watcher.mu.Unlock()
	var failed, forbidden, timeout error
	open := false
	for _, i := range g.items {
		switch {
		case i.report.Status.State == readiness.Failed:
			failed = ErrFailed
		case i.timedOut && timeout == nil:
			timeout = &TimeoutError{Timeout: i.target.Timeout}
		case i.isOpen():
			open = true
		case i.report.Status.State != readiness.Ready && forbidden == nil:
			forbidden = i.forbidden
		}
	}
	if cause := cmp.Or(failed, forbidden); cause != nil && (!open || !g.options.WaitForAll) {
		return true, cause
	}
	switch {
	case open:
		return false, nil
	case timeout != nil:
		return true, timeout
	}
	return !mustStayReady, nil
}

// mustStayReady reports whether StayReadyUntil is set and not closed yet.
func (g *Group) mustStayReady() bool {
	if g.options.StayReadyUntil == nil {
		return false
	}
	select {
	case <-g.options.StayReadyUntil:
		return false
	default:
		return true
	}
}

// startStreams makes the streams of all targets run that are not ready.
func (g *Group) startStreams() {
	g.watcher.mu.Lock()
	defer g.watcher.mu.Unlock()
	for _, part := range g.byStream(func(i *item) bool { return !i.attached && i.report.Status.State != readiness.Ready }) {
		part.stream.ensureRunning(part.items)
	}
}

// streamItems has the items of a group that one stream observes.
type streamItems struct {
	stream *stream
	items  []*item
}

func (s streamItems) names() []string {
	names := make([]string, len(s.items))
	for n, i := range s.items {
		names[n] = i.target.Name
	}
	return names
}

// byStream returns the items for which pick is true, grouped by stream, in the order of the
// targets. The caller must have locked the watcher's mu.
func (g *Group) byStream(pick func(*item) bool) []streamItems {
	var parts []streamItems
	index := map[*stream]int{}
	for _, i := range g.items {
		if !pick(i) {
			continue
		}
		n, ok := index[i.stream]
		if !ok {
			n = len(parts)
			index[i.stream] = n
			parts = append(parts, streamItems{stream: i.stream})
		}
		parts[n].items = append(parts[n].items, i)
	}
	return parts
}

// waitForChange returns nil when there is a reason to evaluate the targets again: a new
// observation, a recheck or timeout that is due, or, with mustStayReady, that
// StayReadyUntil was closed. It returns an error when ctx is done or the Watcher is closed.
func (g *Group) waitForChange(ctx context.Context, mustStayReady bool) error {
	var due <-chan time.Time
	if next, found := g.nextCheck(); found {
		due = time.After(next)
	}
	var released <-chan struct{}
	if mustStayReady {
		released = g.options.StayReadyUntil
	}
	select {
	case <-g.changed:
		return nil
	case <-due:
		return nil
	case <-released:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-g.watcher.done:
		return g.watcher.stopCause(ctx)
	}
}

// result builds what Wait returns: a report for each target, and, if cause is not nil, a
// NotReadyError with the reports of the targets that are not ready.
func (g *Group) result(cause error) ([]Report, error) {
	reports := make([]Report, 0, len(g.items))
	var open []Report
	for _, i := range g.items {
		report := g.completeReport(i)
		reports = append(reports, report)
		if report.Status.State != readiness.Ready || report.TimedOutAfter > 0 {
			open = append(open, report)
		}
	}
	if cause == nil {
		return reports, nil
	}
	return reports, &NotReadyError{Reports: open, Cause: cause}
}

// completeReport returns the report of an item, with the fields that describe problems of
// its stream.
func (g *Group) completeReport(i *item) Report {
	g.watcher.mu.Lock()
	defer g.watcher.mu.Unlock()
	report := i.report
	if report.Status.State != readiness.Ready && report.Status.State != readiness.Failed {
		report.Forbidden = i.forbidden
	}
	if i.attached {
		report.Unobserved = i.stream.connection.outages(time.Now()) - i.outagesBefore
		report.ObserveError = i.stream.connection.err
	}
	return report
}
