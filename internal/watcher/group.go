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
)

// Group is a set of targets to wait for together. It is used once: call Applied for each
// object that was written, then Wait. Call Close instead if nobody waits for it.
type Group struct {
	watcher *Watcher
	items   []*item
	index   map[objectKey]*item
	// changed receives a value when any item has new observations.
	changed chan struct{}
	options Options
	// changedItems have new observations. They are guarded by the watcher's mu.
	changedItems []*item
}

// objectKey identifies an object in any version of its API.
type objectKey struct {
	kind            schema.GroupKind
	namespace, name string
}

// Applied tells the group which version of an object the server returned for a write. The
// status of this version is the first observation. Of all other observations, only newer
// ones count. The object must not be changed afterwards. Applied can be called by several
// goroutines. It returns an error for an object that is not a target of the group.
func (g *Group) Applied(obj *unstructured.Unstructured) error {
	kind := obj.GroupVersionKind().GroupKind()
	i := g.index[objectKey{kind, obj.GetNamespace(), obj.GetName()}]
	if i == nil {
		return fmt.Errorf("%s %q is not a target of the group", kind, obj.GetName())
	}
	g.watcher.mu.Lock()
	defer g.watcher.mu.Unlock()
	i.setBaseline(observationOf(obj))
	return nil
}

// Options configure how a group waits.
type Options struct {
	// Start is when the timeouts of the targets begin.
	Start time.Time
	// WaitForAll waits until each target is ready, has failed, or has timed out. Otherwise,
	// the wait ends at the first target that has failed or that cannot be read because of
	// missing permissions.
	WaitForAll bool
	// StayReadyUntil, if not nil, makes a successful wait continue until the channel is
	// closed. All targets must be ready at that time.
	StayReadyUntil <-chan struct{}
}

// SetOptions sets the options of Wait.
func (g *Group) SetOptions(options Options) { g.options = options }

// Wait waits until all targets are ready at the same time. It returns a *NotReadyError if
// a target has failed, if all targets that are not ready have timed out, or if ctx is
// done. A Job or Pod that has succeeded stays ready, even if it is deleted. Wait first
// reads the targets for which Applied was not called. The reports are complete in any
// case, and in the order of the targets.
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
		mustStayReady := g.mustStayReady() // called once for both, so that the channel cannot be closed between them
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

// Close stops observing the targets. Wait calls it before it returns.
func (g *Group) Close() {
	g.watcher.mu.Lock()
	defer g.watcher.mu.Unlock()
	for _, i := range g.items {
		i.stream.unregister(i)
	}
}

// notify wakes the goroutine in Wait because an item has new observations. It never
// blocks. The caller holds mu.
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

// evaluate judges new observations, and the items whose recheck is due.
func (g *Group) evaluate(ctx context.Context, onChange func(Report)) {
	for _, queue := range g.takeQueues() {
		if queue.item.timedOut {
			continue
		}
		for _, o := range queue.queue {
			g.observe(ctx, queue.item, o, onChange)
			if queue.item.report.Status.State == readiness.Failed {
				break
			}
		}
	}
	for _, i := range g.items {
		if i.recheckDue() && !i.timedOut {
			g.observe(ctx, i, observation{object: i.report.Object}, onChange)
		}
	}
}

func (g *Group) observe(ctx context.Context, i *item, o observation, onChange func(Report)) {
	if i.observe(ctx, o) && onChange != nil {
		onChange(g.completeReport(i))
	}
}

// itemQueue has the new observations of an item.
type itemQueue struct {
	item  *item
	queue []observation
}

// takeQueues removes and returns the new observations, in the order of the targets.
func (g *Group) takeQueues() []itemQueue {
	g.watcher.mu.Lock()
	queues := make([]itemQueue, 0, len(g.changedItems))
	for _, i := range g.changedItems {
		queues = append(queues, itemQueue{i, i.queue})
		i.queue, i.notified = nil, false
	}
	g.changedItems = nil
	g.watcher.mu.Unlock()
	slices.SortStableFunc(queues, func(a, b itemQueue) int { return a.item.index - b.item.index })
	return queues
}

// outcome reports whether the wait has ended, and the error if it failed. With
// mustStayReady, a successful wait continues.
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

// startStreams starts the streams of the targets that are not ready.
func (g *Group) startStreams() {
	g.watcher.mu.Lock()
	defer g.watcher.mu.Unlock()
	for _, part := range g.byStream(func(i *item) bool { return !i.attached && i.report.Status.State != readiness.Ready }) {
		part.stream.ensureRunning(part.items)
	}
}

// streamItems are the items of a group that one stream observes.
type streamItems struct {
	stream *stream
	items  []*item
}

// names returns the names of the objects.
func (s streamItems) names() []string {
	names := make([]string, len(s.items))
	for n, i := range s.items {
		names[n] = i.target.Name
	}
	return names
}

// byStream groups the selected items by stream, in the order of the targets. The caller
// holds mu.
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

// waitForChange waits for a new observation, the next recheck, or the next timeout.
func (g *Group) waitForChange(ctx context.Context, mustStayReady bool) error {
	var limit <-chan time.Time
	if next, found := g.nextTimeout(); found {
		timer := time.NewTimer(next)
		defer timer.Stop()
		limit = timer.C
	}
	var released <-chan struct{}
	if mustStayReady {
		released = g.options.StayReadyUntil
	}
	var recheck <-chan time.Time
	if next := g.nextRecheck(); !next.IsZero() {
		timer := time.NewTimer(time.Until(next))
		defer timer.Stop()
		recheck = timer.C
	}
	select {
	case <-g.changed:
		return nil
	case <-recheck:
		return nil
	case <-limit:
		return nil
	case <-released:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-g.watcher.done:
		return g.watcher.stopCause(ctx)
	}
}

func (g *Group) nextRecheck() time.Time {
	var next time.Time
	for _, i := range g.items {
		if !i.recheckAt.IsZero() && (next.IsZero() || i.recheckAt.Before(next)) {
			next = i.recheckAt
		}
	}
	return next
}

// result returns the results of Wait.
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

// completeReport adds the information of the stream to a report.
func (g *Group) completeReport(i *item) Report {
	g.watcher.mu.Lock()
	defer g.watcher.mu.Unlock()
	report := i.report
	if report.Status.State != readiness.Ready && report.Status.State != readiness.Failed {
		report.Forbidden = i.forbidden
	}
	if i.attached {
		report.Unobserved = i.stream.unobserved(time.Now()) - i.outagesBefore
		report.ObserveError = i.stream.err
	}
	return report
}
