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

// keptObservations bounds what is kept of an object while nobody waits for it;
// the oldest is dropped first.
const keptObservations = 100

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

// seen is the observation of an object that exists.
func seen(obj *unstructured.Unstructured) observation {
	return observation{object: slim(obj), version: obj.GetResourceVersion()}
}

// verdict judges an observation.
type verdict func(*item, context.Context, observation) readiness.Status

// item is one target of one group.
type item struct {
	target Target
	group  *Group
	place  int // in the group
	stream *stream
	judge  verdict

	// Guarded by the tracker's mu.
	known    bool          // the version that counts from is known
	newest   string        // the latest version taken into the queue
	opaque   bool          // versions of this API cannot be compared
	stale    bool          // nothing but a fresh read counts
	gone     bool          // the latest in the queue is an absence
	attached bool          // somebody waits, the stream must run
	coverage int           // the stream's coverage when this was registered
	blindAt  time.Duration // the stream's unobserved time when attached
	denied   error
	queue    []observation
	woken    bool // the group knows of something new

	// Used only by the goroutine that waits.
	report    Report
	reported  bool
	recheckAt time.Time // when to judge again without news; zero for never
	looked    bool      // read once more because its time was over
	expired   bool      // given up for want of time
	// reopened is when it stopped being ready; blindReopened is the stream's
	// unobserved time then, negative until it was asked for.
	reopened      time.Time
	blindReopened time.Duration
	uid           types.UID
	finished      bool // no later version of the object with this uid changes the verdict
}

func newItem(g *Group, target Target, judge verdict) *item {
	if target.Evaluate == nil {
		target.Evaluate = g.tracker.config.Evaluate
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

// begin sets the observation from which on others count. What was kept before
// and is newer is taken over. The caller holds mu.
func (i *item) begin(o observation) {
	kept := i.queue
	i.known, i.newest, i.gone = true, o.version, o.gone
	_, ordered := compareVersions(o.version, o.version)
	i.opaque, i.stale = !ordered, !ordered
	i.queue = []observation{o}
	i.group.wake(i)
	for _, k := range kept {
		if _, ordered := compareVersions(k.version, o.version); ordered {
			i.push(k)
		}
	}
}

// push takes an observation into the queue unless it is no news. The caller
// holds mu.
func (i *item) push(o observation) {
	if i.known && !i.admit(o) {
		return
	}
	if len(i.queue) >= keptObservations {
		i.queue = i.queue[1:]
	}
	i.queue = append(i.queue, o)
	i.group.wake(i)
}

// admit notes how far an observation reaches and reports whether it is news.
func (i *item) admit(o observation) bool {
	switch {
	case !i.stale:
		if !i.isLater(o) {
			return false
		}
	case o.current && i.attached:
		i.stale = false
	default:
		return false
	}
	if o.version != "" {
		i.newest = o.version
	}
	known := i.gone && o.gone
	i.gone = o.gone
	return !known
}

func (i *item) isLater(o observation) bool {
	order, ordered := compareVersions(o.version, i.newest)
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
	return i.rule(i.judge(i, ctx, o), previous)
}

// recheckDue reports whether the last verdict asked for another one by now.
func (i *item) recheckDue() bool {
	return !i.recheckAt.IsZero() && !time.Now().Before(i.recheckAt)
}

// rule puts the verdict into the report and tells whether that is news.
func (i *item) rule(verdict readiness.Status, previous Report) bool {
	i.report.Status = verdict
	i.recheckAt = time.Time{}
	if verdict.RecheckAfter > 0 {
		i.recheckAt = time.Now().Add(verdict.RecheckAfter)
	}
	if previous.Status.State != verdict.State || !i.reported {
		i.report.Since = time.Now()
	}
	if previous.Status.State == readiness.Ready && verdict.State != readiness.Ready {
		i.reopened, i.blindReopened, i.looked = time.Now(), -1, false
	}
	news := !i.reported || !sameNews(previous, i.report)
	i.reported = true
	return news
}

// compareVersions orders two versions of one resource, if they can be.
func compareVersions(a, b string) (order int, ordered bool) {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return order, err == nil
}

// slim returns the object without its managedFields, which are often the larger
// half of it. The rest is shared.
func slim(obj *unstructured.Unstructured) *unstructured.Unstructured {
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
