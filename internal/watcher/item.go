// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"context"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/ordered-helm/helm/internal/readiness"
)

// maxQueuedObservations limits how many observations of an item are kept before Wait judges
// them. The oldest are dropped first.
const maxQueuedObservations = 100

// observation is one version of an object that was watched or read, or the fact that it did
// not exist.
type observation struct {
	// object is the observed version. If gone is true, it is the last version before the
	// deletion, or nil if that is not known.
	object *unstructured.Unstructured
	// version is the resource version of the object, or of the list in which it was
	// missing. It is empty if unknown.
	version string
	// gone says that the object did not exist.
	gone bool
	// current is true if the observation comes from a read, and false if it comes from a
	// watch, whose events can be older than the last read.
	current bool
}

// observationOf returns the observation that an object exists in the version obj.
func observationOf(obj *unstructured.Unstructured) observation {
	return observation{object: withoutManagedFields(obj), version: obj.GetResourceVersion()}
}

// judgeFunc returns the status of an item after an observation. There is one for each kind
// of wait: ready, completed or deleted.
type judgeFunc func(*item, context.Context, observation) readiness.Status

// item is the state of one target of a group: the observations that a stream has delivered,
// and the report that follows from those already judged.
type item struct {
	target Target
	group  *Group
	index  int // index in the group
	stream *stream
	judge  judgeFunc

	// The fields up to notified are guarded by the watcher's mu. The first of them
	// determine which observations count: after the baseline, which is the written version
	// or the first one read, only newer observations.
	hasBaseline   bool          // whether setBaseline was called
	latestVersion string        // the version of the observation that was queued last
	incomparable  bool          // whether resource versions cannot be compared
	needsRead     bool          // whether the next observation must come from a read
	gone          bool          // whether the last queued observation is an absence
	attached      bool          // set when Wait finds the item not ready: from then on its stream must run
	coverage      int           // stream.coverage when the item was registered, or -1 if the stream was not running
	outagesBefore time.Duration // the total outage of the stream before attached was set
	forbidden     error
	queue         []observation
	notified      bool // whether the item is in Group.changedItems

	// Used only by the goroutine in Wait.
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

// setBaseline makes o the first observation to judge. Of the observations that are already
// queued and of later ones, only those newer than o count. The caller must have locked the
// watcher's mu.
func (i *item) setBaseline(o observation) {
	kept := i.queue
	i.hasBaseline, i.latestVersion, i.gone = true, o.version, o.gone
	_, ordered := compareVersions(o.version, o.version)
	i.incomparable, i.needsRead = !ordered, !ordered
	i.queue = []observation{o}
	i.group.notify(i)
	for _, k := range kept {
		if _, ordered := compareVersions(k.version, o.version); ordered {
			i.enqueue(k)
		}
	}
}

// enqueue adds an observation to the queue if it is newer than the previous one. The caller
// must have locked the watcher's mu.
func (i *item) enqueue(o observation) {
	if i.hasBaseline && !i.accept(o) {
		return
	}
	if len(i.queue) >= maxQueuedObservations {
		i.queue = i.queue[1:]
	}
	i.queue = append(i.queue, o)
	i.group.notify(i)
}

// accept reports whether to queue an observation: it must be newer than the previous one,
// and not repeat that the object is gone. accept records its version as the latest.
func (i *item) accept(o observation) bool {
	switch {
	case !i.needsRead:
		if !i.isLater(o) {
			return false
		}
	case o.current && i.attached:
		i.needsRead = false
	default:
		return false
	}
	if o.version != "" {
		i.latestVersion = o.version
	}
	known := i.gone && o.gone
	i.gone = o.gone
	return !known
}

// isLater reports whether an observation is newer than the previous one. If the versions
// cannot be compared, it returns true.
func (i *item) isLater(o observation) bool {
	order, ordered := compareVersions(o.version, i.latestVersion)
	if !ordered {
		return true
	}
	// Older API servers send a deletion with the version of the last change. An object that
	// was temporarily not served returns with its old version.
	return order > 0 || order == 0 && (o.gone || i.gone && o.current)
}

// observe judges an observation and updates i.report. It returns true if the user should
// see the change.
func (i *item) observe(ctx context.Context, o observation) bool {
	if i.finished && !i.isOther(o.object) {
		return false
	}
	previous := i.report
	i.report.Deleted = o.gone
	return i.setStatus(i.judge(i, ctx, o), previous)
}

// recheckDue reports whether it is time to judge the item again although it has not
// changed.
func (i *item) recheckDue() bool {
	return !i.recheckAt.IsZero() && !time.Now().Before(i.recheckAt)
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

// compareVersions compares two resource versions, as cmp.Compare does. ordered is false if
// they cannot be compared, because one of them is not a number.
func compareVersions(a, b string) (order int, ordered bool) {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return order, err == nil
}

// withoutManagedFields returns a copy of an object without its managedFields, which are
// often the larger half of an object. The copy shares all other values with the object.
func withoutManagedFields(obj *unstructured.Unstructured) *unstructured.Unstructured {
	metadata, ok := obj.Object["metadata"].(map[string]any)
	if !ok || metadata["managedFields"] == nil {
		return obj
	}
	metadata = maps.Clone(metadata)
	delete(metadata, "managedFields")
	content := maps.Clone(obj.Object)
	content["metadata"] = metadata
	return &unstructured.Unstructured{Object: content}
}
