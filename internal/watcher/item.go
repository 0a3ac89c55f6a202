// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/watcher/observations"
)

// judgeFunc returns the status of an item after an observation. There is one for each kind
// of wait: ready, completed or deleted.
type judgeFunc func(*item, context.Context, observations.Observation) readiness.Status

// item is the state of one target of a group: the observations that a stream has delivered,
// and the report that follows from those already judged.
type item struct {
	target Target
	group  *Group
	index  int // index in the group
	stream *stream
	judge  judgeFunc

	// The fields up to notified are guarded by the watcher's mu.
	queue         observations.Queue
	attached      bool          // set when Wait finds the item not ready: from then on its stream must run
	coverage      int           // stream.coverage when the item was registered, or -1 if the stream was not running
	outagesBefore time.Duration // the total outage of the stream before attached was set
	forbidden     error
	notified      bool // whether the item is in Group.changedItems

	// Used only by the goroutine in Wait.
	unjudged      []observations.Observation // taken from queue, to be judged next
	report        Report
	reported      bool
	recheckAt     time.Time // when to judge the object again even if it has not changed; zero for never
	readAtTimeout bool      // whether the final read at the timeout was done
	timedOut      bool
	// unreadySince is when the item last changed from ready to not ready.
	// outagesBeforeUnready is the total outage of the stream up to that time; negative
	// until it is computed.
	unreadySince         time.Time
	outagesBeforeUnready time.Duration
	uid                  types.UID
	finished             bool // whether no later version of the object with this UID can change the status
}

func newItem(g *Group, target Target, judge judgeFunc) *item {
	if target.Evaluate == nil {
		target.Evaluate = g.watcher.evaluate
	}
	return &item{
		target: target, group: g, judge: judge,
		report: Report{
			Target: target,
			Status: readiness.Status{State: readiness.InProgress, Reason: "NotRead", Message: "not read yet"},
			Since:  time.Now(),
		},
	}
}

// setBaseline makes o the first observation to judge. The caller must have locked the
// watcher's mu.
func (i *item) setBaseline(o observations.Observation) {
	i.queue.SetBaseline(o)
	i.group.notify(i)
}

// enqueue adds an observation to the queue if it is newer than the previous one. The caller
// must have locked the watcher's mu.
func (i *item) enqueue(o observations.Observation) {
	if i.queue.Add(o, i.attached) {
		i.group.notify(i)
	}
}

// observe judges an observation and updates i.report. It returns true if the user should
// see the change.
func (i *item) observe(ctx context.Context, o observations.Observation) bool {
	if i.finished && !i.isOther(o.Object) {
		return false
	}
	previous := i.report
	i.report.Deleted = o.Gone
	return i.setStatus(i.judge(i, ctx, o), previous)
}

// setStatus sets the status of i.report, and the fields that depend on it. previous is the
// report before the observation. It returns true if the user should see the change.
func (i *item) setStatus(status readiness.Status, previous Report) bool {
	i.report.Status = status
	i.recheckAt = time.Time{}
	if status.RecheckAfter > 0 {
		i.recheckAt = time.Now().Add(status.RecheckAfter)
	}
	if previous.Status.State != status.State || !i.reported {
		i.report.Since = time.Now()
	}
	if previous.Status.State == readiness.Ready && status.State != readiness.Ready {
		i.unreadySince, i.outagesBeforeUnready, i.readAtTimeout = time.Now(), -1, false
	}
	changed := !i.reported || !sameStatus(previous, i.report)
	i.reported = true
	return changed
}
