// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package watcher

import "time"

// outageGracePeriod is added to the duration of each outage, because changes that happened
// during the outage arrive only some time after it.
const outageGracePeriod = 500 * time.Millisecond

// connection records whether the API server responds to the requests of a stream, and for
// how long it has not. It also sends the notices about this. Guarded by the watcher's mu.
type connection struct {
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
func (c *connection) isUnreachable() bool { return c.unreachable || c.failingReads > 0 }

// startOutage starts an outage at the given time, unless there already is one.
func (c *connection) startOutage(at time.Time) {
	if c.outageStart.IsZero() {
		c.outageStart = at
	}
}

// hasOutage reports whether there currently is an outage.
func (c *connection) hasOutage() bool { return !c.outageStart.IsZero() }

// outages returns the total duration of all outages until now.
func (c *connection) outages(now time.Time) time.Duration {
	if !c.hasOutage() {
		return c.pastOutages
	}
	return c.pastOutages + now.Sub(c.outageStart)
}

// stop records that the stream has stopped, which also ends an outage.
func (c *connection) stop() {
	c.pastOutages, c.outageStart, c.unreachable = c.outages(time.Now()), time.Time{}, false
}

// markUnreachable records that the API server does not respond, because of err.
func (c *connection) markUnreachable(err error) {
	c.notifyUnreachable(err)
	c.err, c.unreachable = err, true
}

// markResponded records that the API server responded to a read after a watch had failed.
// The time since the failure only counts as an outage if the server was unreachable.
func (c *connection) markResponded() {
	if !c.unreachable {
		c.outageStart = time.Time{}
	}
	c.markRestored(time.Now())
}

// markRestored ends the current outage at the time since.
func (c *connection) markRestored(since time.Time) {
	c.pastOutages = c.outages(since)
	if c.unreachable {
		c.pastOutages += outageGracePeriod
	}
	c.outageStart, c.err, c.unreachable = time.Time{}, nil, false
	c.notify(NoticeReachable, nil)
}

// notifyUnreachable sends NoticeUnreachable, unless the API server already does not respond
// to some stream. It must be called before this connection is marked as unreachable.
func (c *connection) notifyUnreachable(err error) {
	if !c.watcher.hasUnreachableStream() {
		c.notify(NoticeUnreachable, err)
	}
}

func (c *connection) notify(kind NoticeKind, err error) {
	c.watcher.notify(Notice{
		Kind: kind, Resource: c.key.resource, Namespace: c.key.namespace,
		Interval: pollInterval, Err: err,
	})
}

// forbidden returns the error for an object that the account is not allowed to read. err is
// the response of the server.
func (c *connection) forbidden(i *watchedObject, err error) error {
	return &ForbiddenError{
		Verb: "get", Resource: c.key.resource.GroupResource(),
		Namespace: c.key.namespace, Name: i.target.Name, Err: err,
	}
}
