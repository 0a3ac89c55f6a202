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

// maxQueuedObservations limits the observations that are kept of an object while nobody
// waits for it. The oldest are dropped first.
const maxQueuedObservations = 100

// observation is one version of an object, or its absence.
type observation struct {
	// object is nil if only the absence is known.
	object *unstructured.Unstructured
	// version is the resource version of the observation. It is empty if unknown.
	version string
	gone    bool
	// current is whether it comes from a read rather than from a watch.
	current bool
}

// observationOf returns the observation of an existing object.
func observationOf(obj *unstructured.Unstructured) observation {
	return observation{object: withoutManagedFields(obj), version: obj.GetResourceVersion()}
}

// judgeFunc judges an observation of an item.
type judgeFunc func(*item, context.Context, observation) readiness.Status

// item is one target of one group.
type item struct {
	target Target
	group  *Group
	index  int // index in the group
	stream *stream
	judge  judgeFunc

	// These fields determine which observations count.
	hasBaseline   bool          // whether the version from which observations count is known
	latestVersion string        // of the queued observations
	incomparable  bool          // whether resource versions cannot be compared
	needsRead     bool          // whether only a new read counts
	gone          bool          // whether the last queued observation is an absence
	attached      bool          // whether somebody waits for the item, so that the stream must run
	coverage      int           // the coverage of the stream when the item was registered
	outagesBefore time.Duration // how long observing was interrupted before somebody waited
	forbidden     error
	queue         []observation
	notified      bool // whether the group was notified

	// Used only by the goroutine that waits.
	report        Report
	reported      bool
	recheckAt     time.Time // when to judge again without an event, or zero
	readAtTimeout bool      // whether it was read again at its timeout
	timedOut      bool
	// unreadySince is when the item was last ready. outagesBeforeUnready is how long
	// observing was interrupted before that. It is negative until it is computed.
	unreadySince         time.Time
	outagesBeforeUnready time.Duration
	uid                  types.UID
	finished             bool // whether no later version of the object with this UID can change the status
}

func newItem(g *Group, target Target, judge judgeFunc) *item {
	if target.Evaluate == nil {
		target.Evaluate = g.watcher.config.Evaluate
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

// setBaseline sets the observation from which later observations count. Queued
// observations that are newer are kept. The caller holds mu.
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

// accept reports whether an observation is newer than the previous one, and records its
// version.
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
	// Older API servers send a deletion with the version of the last change. An object that
	// was temporarily not served returns with its old version.
	return order > 0 || order == 0 && (o.gone || i.gone && o.current)
}

// observe judges an observation. It reports whether the report changed.
func (i *item) observe(ctx context.Context, o observation) bool {
	if i.finished && !i.isOther(o.object) {
		return false
	}
	previous := i.report
	i.report.Deleted = o.gone
	return i.setStatus(i.judge(i, ctx, o), previous)
}

// recheckDue reports whether it is time to judge the item again without an event.
func (i *item) recheckDue() bool {
	return !i.recheckAt.IsZero() && !time.Now().Before(i.recheckAt)
}

// setStatus updates the report. It reports whether the report changed.
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

// compareVersions compares two versions of one resource. It reports whether they can be
// compared.
func compareVersions(a, b string) (order int, ordered bool) {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return order, err == nil
}

// withoutManagedFields returns the object without its managedFields, which are often the
// larger half of an object. It shares the rest.
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
