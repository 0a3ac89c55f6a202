// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"time"

	"github.com/ordered-helm/helm/internal/watcher/notice"
)

// outageGracePeriod is added to the duration of each outage, because changes that happened
// during the outage arrive only some time after it.
const outageGracePeriod = 500 * time.Millisecond

// reachability records whether the API server responds to the requests of a stream, and for
// how long it has not. It also sends the notices about this. Guarded by the watcher's mu.
type reachability struct {
	watcher *Watcher
	key     streamKey

	// unreachable is true while the API server does not respond to the watch. failingReads
	// counts the running calls of readUntilResponse whose last request failed. err says why
	// the objects can currently be neither watched nor polled, or is nil.
	unreachable  bool
	failingReads int
	err          error
	// An outage is a time during which the stream is running, but no watch is open and no
	// poll is successful. outageStart is the start of the current outage; zero if there is
	// none. pastOutages is the total duration of all earlier outages.
	outageStart time.Time
	pastOutages time.Duration
}

// isUnreachable reports whether the API server does not respond to a watch or read of the
// stream.
func (r *reachability) isUnreachable() bool { return r.unreachable || r.failingReads > 0 }

// startOutage starts an outage at the given time, unless there already is one.
func (r *reachability) startOutage(at time.Time) {
	if r.outageStart.IsZero() {
		r.outageStart = at
	}
}

// hasOutage reports whether there currently is an outage.
func (r *reachability) hasOutage() bool { return !r.outageStart.IsZero() }

// outages returns the total duration of all outages until now.
func (r *reachability) outages(now time.Time) time.Duration {
	if !r.hasOutage() {
		return r.pastOutages
	}
	return r.pastOutages + now.Sub(r.outageStart)
}

// stop records that the stream has stopped, which also ends an outage.
func (r *reachability) stop() {
	r.pastOutages, r.outageStart, r.unreachable = r.outages(time.Now()), time.Time{}, false
}

// markUnreachable records that the API server does not respond, because of err.
func (r *reachability) markUnreachable(err error) {
	r.notifyUnreachable(err)
	r.err, r.unreachable = err, true
}

// markResponded records that the API server responded to a read after a watch had failed.
// The time since the failure only counts as an outage if the server was unreachable.
func (r *reachability) markResponded() {
	if !r.unreachable {
		r.outageStart = time.Time{}
	}
	r.markRestored(time.Now())
}

// markRestored ends the current outage at the time since.
func (r *reachability) markRestored(since time.Time) {
	r.pastOutages = r.outages(since)
	if r.unreachable {
		r.pastOutages += outageGracePeriod
	}
	r.outageStart, r.err, r.unreachable = time.Time{}, nil, false
	r.notify(notice.Reachable, nil)
}

// notifyUnreachable sends notice.Unreachable, unless the API server already does not respond
// to some stream. It must be called before r is marked as unreachable.
func (r *reachability) notifyUnreachable(err error) {
	if !r.watcher.hasUnreachableStream() {
		r.notify(notice.Unreachable, err)
	}
}

func (r *reachability) notify(kind notice.Kind, err error) {
	r.watcher.notify(notice.Notice{
		Kind: kind, Resource: r.key.resource, Namespace: r.key.namespace,
		Interval: pollInterval, Err: err,
	})
}

// forbidden returns the error for an object that the account is not allowed to read. err is
// the response of the server.
func (r *reachability) forbidden(i *watchedObject, err error) error {
	return &ForbiddenError{
		Verb: "get", Resource: r.key.resource.GroupResource(),
		Namespace: r.key.namespace, Name: i.target.Name, Err: err,
	}
}
