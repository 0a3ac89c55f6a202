// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package watcher

import "time"

// outageGracePeriod is added to the duration of each outage, because it takes some time
// until the changes during the outage arrive.
const outageGracePeriod = 500 * time.Millisecond

// connection records whether the API server responds to a stream, and for how long it did
// not. It sends the notices about that. It is guarded by the watcher's mu.
type connection struct {
	watcher *Watcher
	key     streamKey

	// unreachable is true while the API server does not respond to the watch. failingReads
	// is the number of calls of readUntilAnswered to which it does not respond. err is why
	// the objects cannot be observed at the moment, or nil.
	unreachable  bool
	failingReads int
	err          error
	// An outage is a time in which the stream is running but has no open watch or
	// successful poll. outageStart is when the current outage began, or zero. pastOutages
	// is the total duration of earlier ones.
	outageStart time.Time
	pastOutages time.Duration
}

// isUnreachable reports whether the API server does not respond to a watch or read of the
// stream.
func (c *connection) isUnreachable() bool { return c.unreachable || c.failingReads > 0 }

// startOutage begins an outage at a time, unless one has begun before.
func (c *connection) startOutage(at time.Time) {
	if c.outageStart.IsZero() {
		c.outageStart = at
	}
}

// hasOutage reports whether there is an outage at the moment.
func (c *connection) hasOutage() bool { return !c.outageStart.IsZero() }

// outages returns the total duration of the outages up to now.
func (c *connection) outages(now time.Time) time.Duration {
	if !c.hasOutage() {
		return c.pastOutages
	}
	return c.pastOutages + now.Sub(c.outageStart)
}

// stop records that the stream stops. This also ends an outage.
func (c *connection) stop() {
	c.pastOutages, c.outageStart, c.unreachable = c.outages(time.Now()), time.Time{}, false
}

// markUnreachable records that the API server does not respond.
func (c *connection) markUnreachable(err error) {
	c.notifyUnreachable(err)
	c.err, c.unreachable = err, true
}

// markAnswered records that the API server has responded to a read after a watch has
// failed. The time since then is an outage only if the server was unreachable.
func (c *connection) markAnswered() {
	if !c.unreachable {
		c.outageStart = time.Time{}
	}
	c.markRestored(time.Now())
}

// markRestored ends the current outage: the API server has responded since a time.
func (c *connection) markRestored(since time.Time) {
	c.pastOutages = c.outages(since)
	if c.unreachable {
		c.pastOutages += outageGracePeriod
	}
	c.outageStart, c.err, c.unreachable = time.Time{}, nil, false
	c.notify(NoticeReachable, nil)
}

// notifyUnreachable sends NoticeUnreachable, unless the API server is already known not to
// respond to some stream. Call it before the connection is marked as unreachable.
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

// forbidden returns the error for an item whose object must not be read. err is the response
// of the server.
func (c *connection) forbidden(i *item, err error) error {
	return &ForbiddenError{
		Verb: "get", Resource: c.key.resource.GroupResource(),
		Namespace: c.key.namespace, Name: i.target.Name, Err: err,
	}
}
