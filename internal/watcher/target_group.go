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
	"github.com/ordered-helm/helm/internal/watcher/observation"
)

// TargetGroup waits for several objects at the same time: its targets. It is used for only one
// wait: call Applied for each object that was written, and then Wait. Call Close instead if
// Wait will not be called.
type TargetGroup struct {
	watcher *Watcher
	// objects are the targets, in the order in which the caller passed them.
	objects []*watchedObject
	index   map[objectKey]*watchedObject
	// changed wakes the goroutine in Wait: a value is sent when any object has new
	// observations.
	changed chan struct{}
	options WaitOptions
	// unwritten says that the operation does not write the targets (see Watcher.ObserveReady).
	unwritten bool
	// changedObjects have new observations in their queues. Guarded by the watcher's mu.
	changedObjects []*watchedObject
}

// objectKey identifies an object. It has no API version, because the same object can be
// read in any version.
type objectKey struct {
	kind            schema.GroupKind
	namespace, name string
}

// Applied tells the group that one of its targets was written. obj is the object that the
// server returned: Wait evaluates obj first, and then only newer versions. The caller must
// not change obj afterwards. Applied can be called by several goroutines. It returns an error
// if obj is not a target of the group.
func (g *TargetGroup) Applied(obj *unstructured.Unstructured) error {
	kind := obj.GroupVersionKind().GroupKind()
	i := g.index[objectKey{kind, obj.GetNamespace(), obj.GetName()}]
	if i == nil {
		return fmt.Errorf("%s %q is not a target of the group", kind, obj.GetName())
	}
	g.watcher.mu.Lock()
	defer g.watcher.mu.Unlock()
	i.setBaseline(observation.Of(obj))
	return nil
}

// Remove removes a target from the group, for which Wait then does not wait. It must be
// called before Wait.
func (g *TargetGroup) Remove(target Target) {
	g.watcher.mu.Lock()
	defer g.watcher.mu.Unlock()
	key := objectKey{target.GVK.GroupKind(), target.Namespace, target.Name}
	if i := g.index[key]; i != nil {
		i.stream.unregister(i)
		delete(g.index, key)
		g.objects = slices.DeleteFunc(g.objects, func(other *watchedObject) bool { return other == i })
	}
}

// WaitOptions configure how a group waits.
type WaitOptions struct {
	// Start is the time that Limit.Start gets.
	Start time.Time
	// WaitForAll says how to continue after a target has failed or turned out to be
	// forbidden to read. If true, the wait continues until the result of every target is
	// known. If false, the wait ends immediately.
	WaitForAll bool
	// OnFailure, if not nil, is called when a target has failed, timed out, or turned out to
	// be forbidden to read. It can be called several times, and must return quickly.
	OnFailure func()
	// StayReadyUntil, if not nil, delays the success of the wait: Wait returns without an
	// error only after the channel is closed and all targets are ready.
	StayReadyUntil <-chan struct{}
}

// SetOptions sets the options of the next call of Wait, and starts the limits of the targets.
func (g *TargetGroup) SetOptions(options WaitOptions) {
	g.options = options
	for _, i := range g.objects {
		if i.target.Limit != nil {
			i.target.Limit.Start(options.Start)
		}
	}
}

// Wait waits until all targets are ready at the same time. It returns a report on each
// target, in the order of the targets, even if there is an error. The error is a
// *NotReadyError if a target has failed or is forbidden to read, if all targets that are not
// ready have timed out, or if ctx is done. A Job or Pod that has succeeded stays ready, even
// if it is deleted. Wait first reads the targets for which Applied was not called.
//
// Wait calls onChange, if not nil, with the first report on each target, and with each
// later report that differs. The calls are made by the goroutine that called Wait.
func (g *TargetGroup) Wait(ctx context.Context, onChange func(Report)) ([]Report, error) {
	defer g.Close()
	if err := g.readWithoutBaseline(ctx); err != nil {
		return g.result(err)
	}
	for {
		g.evaluate(ctx, onChange)
		mustStayReady := g.mustStayReady() // once, because the channel may be closed between outcome and waitForChange
		if over, err := g.outcome(mustStayReady); over {
			return g.result(err)
		}
		g.startStreams()
		if g.timeOutObjects(ctx) {
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

// Close stops watching the targets. Wait calls Close before it returns.
func (g *TargetGroup) Close() {
	g.watcher.mu.Lock()
	defer g.watcher.mu.Unlock()
	for _, i := range g.objects {
		i.stream.unregister(i)
	}
}

// notify wakes the goroutine in Wait, because an object has new observations. It does not
// block. The caller must have locked the watcher's mu.
func (g *TargetGroup) notify(i *watchedObject) {
	if !i.notified {
		i.notified = true
		g.changedObjects = append(g.changedObjects, i)
	}
	select {
	case g.changed <- struct{}{}:
	default:
	}
}

// evaluate processes new observations, and evaluates objects again whose recheck is due (see
// readiness.Status.RecheckAfter). It calls onChange for each report that changes.
func (g *TargetGroup) evaluate(ctx context.Context, onChange func(Report)) {
	for _, i := range g.takeChanged() {
		next := i.unprocessed
		i.unprocessed = nil
		if i.timedOut {
			continue
		}
		for _, o := range next {
			g.process(ctx, i, o, onChange)
			if i.report.Status.State == readiness.Failed {
				break
			}
		}
	}
	for _, i := range g.objects {
		if !i.timedOut && !i.recheckAt.IsZero() && !time.Now().Before(i.recheckAt) {
			g.process(ctx, i, observation.Observation{Object: i.report.Object}, onChange)
		}
	}
}

func (g *TargetGroup) process(ctx context.Context, i *watchedObject, o observation.Observation, onChange func(Report)) {
	if i.process(ctx, o) && onChange != nil {
		onChange(g.completeReport(i))
	}
}

// takeChanged returns the objects that have new observations, in the order of the targets.
// It moves these observations from the queues to watchedObject.unprocessed.
func (g *TargetGroup) takeChanged() []*watchedObject {
	g.watcher.mu.Lock()
	changed := g.changedObjects
	g.changedObjects = nil
	for _, i := range changed {
		i.unprocessed, i.notified = i.queue.Take(), false
	}
	g.watcher.mu.Unlock()
	slices.SortFunc(changed, func(a, b *watchedObject) int { return a.index - b.index })
	return changed
}

// outcome reports whether the wait is over, and returns the cause if it failed. While
// mustStayReady is true, the wait continues even if all targets are ready.
func (g *TargetGroup) outcome(mustStayReady bool) (over bool, err error) {
	g.watcher.mu.Lock()
	defer g.watcher.mu.Unlock()
	var failed, forbidden, timeout error
	open := false
	for _, i := range g.objects {
		switch {
		case i.report.Status.State == readiness.Failed:
			failed = ErrFailed
		case i.timedOut && timeout == nil:
			timeout = i.report.TimedOut
		case i.isOpen():
			open = true
		case i.report.Status.State != readiness.Ready && forbidden == nil:
			forbidden = i.forbidden
		}
	}
	if g.options.OnFailure != nil && cmp.Or(failed, forbidden, timeout) != nil {
		g.options.OnFailure()
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

// mustStayReady reports whether WaitOptions.StayReadyUntil is set and not closed yet.
func (g *TargetGroup) mustStayReady() bool {
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

// startStreams starts the streams of targets that are not ready, unless they already run.
func (g *TargetGroup) startStreams() {
	g.watcher.mu.Lock()
	defer g.watcher.mu.Unlock()
	for _, part := range g.byStream(func(i *watchedObject) bool { return !i.awaited && i.report.Status.State != readiness.Ready }) {
		part.stream.ensureRunning(part.objects)
	}
}

// streamObjects holds the objects of a group that one stream observes.
type streamObjects struct {
	stream  *stream
	objects []*watchedObject
}

func (s streamObjects) names() []string {
	names := make([]string, len(s.objects))
	for n, i := range s.objects {
		names[n] = i.target.Name
	}
	return names
}

// byStream returns the objects for which pick is true, grouped by the stream that observes
// them. The caller must have locked the watcher's mu.
func (g *TargetGroup) byStream(pick func(*watchedObject) bool) []streamObjects {
	var parts []streamObjects
	index := map[*stream]int{}
	for _, i := range g.objects {
		if !pick(i) {
			continue
		}
		n, ok := index[i.stream]
		if !ok {
			n = len(parts)
			index[i.stream] = n
			parts = append(parts, streamObjects{stream: i.stream})
		}
		parts[n].objects = append(parts[n].objects, i)
	}
	return parts
}

// waitForChange returns nil when the targets must be evaluated again: after a new
// observation, at the time of a recheck or timeout, or, if mustStayReady is true, when
// StayReadyUntil is closed. It returns an error when ctx is done or the Watcher is closed.
func (g *TargetGroup) waitForChange(ctx context.Context, mustStayReady bool) error {
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

// result returns the results of Wait: a report on each target and, if cause is not nil, a
// *NotReadyError with the reports on the targets that are not ready.
func (g *TargetGroup) result(cause error) ([]Report, error) {
	reports := make([]Report, 0, len(g.objects))
	var open []Report
	for _, i := range g.objects {
		report := g.completeReport(i)
		reports = append(reports, report)
		if report.Status.State != readiness.Ready || report.TimedOut != nil {
			open = append(open, report)
		}
	}
	if cause == nil {
		return reports, nil
	}
	return reports, &NotReadyError{Reports: open, Cause: cause}
}

// completeReport returns the report on an object, including the fields that describe
// problems with observing the object.
func (g *TargetGroup) completeReport(i *watchedObject) Report {
	g.watcher.mu.Lock()
	defer g.watcher.mu.Unlock()
	report := i.report
	if report.Status.State != readiness.Ready && report.Status.State != readiness.Failed {
		report.Forbidden = i.forbidden
	}
	if i.awaited {
		report.Unobserved = i.stream.reachability.outages(time.Now()) - i.outagesBefore
		report.ObserveError = i.stream.reachability.err
	}
	return report
}
