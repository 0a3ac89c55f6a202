// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/watcher/observation"
)

// statusFunc computes the status of an object from an observation. Each kind of wait has its
// own: until objects are ready, have completed, or are deleted.
type statusFunc func(*watchedObject, context.Context, observation.Observation) readiness.Status

// watchedObject tracks one target of a group: the observations that a stream has delivered,
// and the report that was computed from those processed so far.
type watchedObject struct {
	target        Target
	group         *TargetGroup
	index         int // index in the group
	stream        *stream
	computeStatus statusFunc

	// The fields up to notified are guarded by the watcher's mu.
	queue         observation.Queue
	awaited       bool          // set when Wait finds the object not ready: from then on, the stream must run
	coverage      int           // stream.coverage when the object was registered; -1 if the stream was not running
	outagesBefore time.Duration // the total duration of the stream's outages before awaited was set
	forbidden     error
	notified      bool // whether the object is in TargetGroup.changedObjects

	// The fields below are used only by the goroutine in Wait.
	unprocessed   []observation.Observation // taken from queue, to be processed next
	report        Report
	reported      bool
	recheckAt     time.Time // when to evaluate the object again even if it has not changed; zero for never
	readAtTimeout bool      // whether the final read at the timeout was done
	timedOut      bool
	uid           types.UID
	finished      bool // whether no later version of the object with this UID can change the status
}

func newWatchedObject(g *TargetGroup, target Target, computeStatus statusFunc) *watchedObject {
	if target.Evaluate == nil {
		target.Evaluate = g.watcher.evaluate
	}
	return &watchedObject{
		target: target, group: g, computeStatus: computeStatus,
		report: Report{
			Target: target,
			Status: readiness.Status{State: readiness.InProgress, Reason: "NotRead", Message: "not read yet"},
			Since:  time.Now(),
		},
	}
}

// setBaseline makes o the first observation to process: older ones are dropped. The caller
// must have locked the watcher's mu.
func (i *watchedObject) setBaseline(o observation.Observation) {
	i.queue.SetBaseline(o)
	i.group.notify(i)
}

// enqueue adds an observation to the queue if it is newer than the previous one. The caller
// must have locked the watcher's mu.
func (i *watchedObject) enqueue(o observation.Observation) {
	if i.queue.Add(o, i.awaited) {
		i.group.notify(i)
	}
}

// process updates i.report from an observation. It reports whether the status has changed
// for the user.
func (i *watchedObject) process(ctx context.Context, o observation.Observation) bool {
	if i.finished && !i.isOther(o.Object) {
		return false
	}
	previous := i.report
	i.report.Deleted = o.Gone
	return i.setStatus(i.computeStatus(i, ctx, o), previous)
}

// setStatus sets the status in i.report, and the fields that depend on it. previous is the
// report before the observation. It reports whether the status has changed for the user.
func (i *watchedObject) setStatus(status readiness.Status, previous Report) bool {
	i.report.Status = status
	i.recheckAt = time.Time{}
	if status.RecheckAfter > 0 {
		i.recheckAt = time.Now().Add(status.RecheckAfter)
	}
	if previous.Status.State != status.State || !i.reported {
		i.report.Since = time.Now()
	}
	i.observeForLimit()
	changed := !i.reported || !sameStatus(previous, i.report)
	i.reported = true
	return changed
}
