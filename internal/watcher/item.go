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

// maxQueuedObservations bounds what is kept of an object while nobody waits for it;
// the oldest is dropped first.
const maxQueuedObservations = 100

// observation is one version of an object, or its absence.
type observation struct {
	// object is nil when all that is known is that it is not there.
	object *unstructured.Unstructured
	// version is the server's state that this belongs to; empty if not told.
	version string
	gone    bool
	// current marks what was read, not told by a watch.
	current bool
}

// observationOf is the observation of an object that exists.
func observationOf(obj *unstructured.Unstructured) observation {
	return observation{object: withoutManagedFields(obj), version: obj.GetResourceVersion()}
}

// judgeFunc judges an observation.
type judgeFunc func(*item, context.Context, observation) readiness.Status

// item is one target of one group.
type item struct {
	target Target
	group  *Group
	index  int // in the group
	stream *stream
	judge  judgeFunc

	// Guarded by the tracker's mu.
	hasBaseline   bool          // the version that counts from is known
	latestVersion string        // the latest version taken into the queue
	incomparable  bool          // versions of this API cannot be compared
	needsRead     bool          // nothing but a fresh read counts
	gone          bool          // the latest in the queue is an absence
	attached      bool          // somebody waits, the stream must run
	coverage      int           // the stream's coverage when this was registered
	outagesBefore time.Duration // the stream's unobserved time when attached
	forbidden     error
	queue         []observation
	notified      bool // the group knows of something new

	// Used only by the goroutine that waits.
	report        Report
	reported      bool
	recheckAt     time.Time // when to judge again without news; zero for never
	readAtTimeout bool      // read once more because its time was over
	timedOut      bool      // given up for want of time
	// unreadySince is when it stopped being ready; blindReopened is the stream's
	// unobserved time then, negative until it was asked for.
	unreadySince         time.Time
	outagesBeforeUnready time.Duration
	uid                  types.UID
	finished             bool // no later version of the object with this uid changes the verdict
}

func newItem(g *Group, target Target, judge judgeFunc) *item {
	if target.Evaluate == nil {
		target.Evaluate = g.watcher.config.Evaluate
	}
	return &item{
		target: target, group: g, judge: judge,
		report: Report{
			Target: target,
			Status: readiness.Status{State: readiness.InProgress, Reason: "NotRead", Message: "not read so far"},
			Since:  time.Now(),
		},
	}
}

// setBaseline sets the observation from which on others count. What was kept before
// and is newer is taken over. The caller holds mu.
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

// enqueue takes an observation into the queue unless it is no news. The caller
// holds mu.
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

// accept notes how far an observation reaches and reports whether it is news.
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

func (i *item) isLater(o observation) bool {
	order, ordered := compareVersions(o.version, i.latestVersion)
	if !ordered {
		return true
	}
	// Older API servers report a deletion with the version of the last change,
	// and what was not served for a moment comes back with the version it had.
	return order > 0 || order == 0 && (o.gone || i.gone && o.current)
}

// observe judges an observation and reports whether that is news.
func (i *item) observe(ctx context.Context, o observation) bool {
	if i.finished && !i.isOther(o.object) {
		return false
	}
	previous := i.report
	i.report.Deleted = o.gone
	return i.setStatus(i.judge(i, ctx, o), previous)
}

// recheckDue reports whether the last verdict asked for another one by now.
func (i *item) recheckDue() bool {
	return !i.recheckAt.IsZero() && !time.Now().Before(i.recheckAt)
}

// setStatus puts the verdict into the report and tells whether that is news.
func (i *item) setStatus(verdict readiness.Status, previous Report) bool {
	i.report.Status = verdict
	i.recheckAt = time.Time{}
	if verdict.RecheckAfter > 0 {
		i.recheckAt = time.Now().Add(verdict.RecheckAfter)
	}
	if previous.Status.State != verdict.State || !i.reported {
		i.report.Since = time.Now()
	}
	if previous.Status.State == readiness.Ready && verdict.State != readiness.Ready {
		i.unreadySince, i.outagesBeforeUnready, i.readAtTimeout = time.Now(), -1, false
	}
	news := !i.reported || !sameStatus(previous, i.report)
	i.reported = true
	return news
}

// compareVersions orders two versions of one resource, if they can be.
func compareVersions(a, b string) (order int, ordered bool) {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return order, err == nil
}

// withoutManagedFields returns the object without its managedFields, which are often the larger
// half of it. The rest is shared.
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
