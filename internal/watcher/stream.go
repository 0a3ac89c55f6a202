// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

var (
	errStreamEnded = errors.New("the watch ended")
	errRestarted   = errors.New("the watch was restarted")
	errNoAnswer    = errors.New("the server does not answer")
)

const (
	// longWatch is from when on a watch that ends is taken for healthy: it is
	// started again at once.
	longWatch = time.Second
	// opening is how long a watch must stay open to count as granted if it tells
	// nothing meanwhile. The client takes a connection that is dropped without
	// an answer for a watch that ended.
	opening = 200 * time.Millisecond
	// shortWatches is how many watches in a row may end while they open until
	// the API counts as unreachable.
	shortWatches = 2
)

// catchingUp is the time that does not count after an outage: what happened
// meanwhile has to arrive first.
const catchingUp = 500 * time.Millisecond

// stream observes one resource in one namespace, for all items of all groups. It
// starts when somebody waits for what is not ready, and keeps its watch open for
// those who come later. When the watch ends and nobody waits, it stops.
//
// What follows a write is never missed: an item is registered before the write.
// A stream that runs by then passes on everything later; one that starts
// afterwards starts from the version written. Only a stream that was started
// from a later version for somebody else has to go back (see require).
type stream struct {
	tracker *Watcher
	key     streamKey
	reader  *reader

	// Guarded by the tracker's mu.
	items   map[string]map[*item]struct{} // by name
	running bool
	polling bool   // watching is not possible
	version string // where to go on watching; empty to list first
	// coveredFrom is the earliest version that the watching was started from. A
	// list later on brings every item up to date. Coverage counts the starts; an
	// item registered in the present one has missed nothing.
	coveredFrom string
	coverage    int
	// epoch counts the restarts; what belongs to an earlier one is dropped.
	epoch   int
	restart context.CancelFunc
	trouble error
	// lost and firstReads are why the API counts as unreachable: the watch is in
	// trouble, and so are that many readings of those who begin to wait.
	lost       bool
	firstReads int
	// blindSince is when observing was interrupted, zero while it works;
	// blind is the sum of the interruptions before.
	blindSince time.Time
	blind      time.Duration
	// short counts the watches in a row that ended while they opened.
	short int
}

// leg is one attempt to observe, from a start to an interruption.
type leg struct {
	epoch   int
	version string
	polling bool
	ended   time.Time
}

// register has events of the item's name kept. The caller holds mu, as for the
// next three.
func (s *stream) register(i *item) {
	if s.items[i.target.Name] == nil {
		s.items[i.target.Name] = map[*item]struct{}{}
	}
	s.items[i.target.Name][i] = struct{}{}
	i.coverage = -1
	if s.running {
		i.coverage = s.coverage
	}
}

func (s *stream) unregister(i *item) {
	i.queue = nil
	delete(s.items[i.target.Name], i)
	if len(s.items[i.target.Name]) == 0 {
		delete(s.items, i.target.Name)
	}
}

// require makes the stream run for these items, and go back as far as they need.
func (s *stream) require(items []*item) {
	if s.tracker.closed {
		return
	}
	from, list := s.attach(items)
	switch {
	case s.polling: // the next reading is now
	case list:
		s.version = ""
	case !s.running:
		s.version, s.coveredFrom = from, from
		s.coverage++
	case from != "" && s.version != "":
		s.version, s.coveredFrom = from, from
	default: // what runs will do, and so will a list that is under way
		return
	}
	s.epoch++
	if s.running {
		s.interrupt()
		return
	}
	s.running = true
	s.blindSince = time.Now()
	s.tracker.spawn(s.run)
}

// attach notes that somebody waits for the items. It returns the earliest version
// from which a watch has to start for them, empty if the one that runs will do,
// or that a list is needed.
func (s *stream) attach(items []*item) (from string, list bool) {
	if !s.running {
		from = s.earliest()
	}
	for _, i := range items {
		i.attached = true
		i.blindAt = s.unobserved(time.Now())
		if i.opaque {
			list = true
			continue
		}
		if s.running && (i.coverage == s.coverage || !before(i.newest, s.coveredFrom)) {
			continue
		}
		if from == "" || before(i.newest, from) {
			from = i.newest
		}
	}
	return from, list
}

// earliest is the lowest version that was written of what this stream knows:
// those who do not wait so far will not have to send it back to the start.
func (s *stream) earliest() (version string) {
	for _, items := range s.items {
		for i := range items {
			if i.known && !i.opaque && (version == "" || before(i.newest, version)) {
				version = i.newest
			}
		}
	}
	return version
}

func before(a, b string) bool {
	order, ordered := compareVersions(a, b)
	return ordered && order < 0
}

// run observes until nobody waits or the tracker is closed.
func (s *stream) run(ctx context.Context) {
	pause := retryPause()
	for {
		legCtx, l, ok := s.beginLeg(ctx)
		if !ok {
			return
		}
		healthy, err := s.observe(legCtx, l)
		l.ended = time.Now()
		if healthy {
			pause = retryPause()
		}
		if s.isObstructed(legCtx, l, healthy, err) && s.readInstead(legCtx, l) || s.endLeg(legCtx, l, healthy, err) {
			sleep(legCtx, pause.Step())
		}
	}
}

func (s *stream) beginLeg(ctx context.Context) (context.Context, leg, bool) {
	s.tracker.mu.Lock()
	defer s.tracker.mu.Unlock()
	s.interrupt()
	if ctx.Err() != nil || !s.isWanted() {
		s.running, s.lost = false, false
		s.blind, s.blindSince = s.unobserved(time.Now()), time.Time{}
		return nil, leg{}, false
	}
	ctx, s.restart = context.WithCancel(ctx)
	return ctx, leg{epoch: s.epoch, version: s.version, polling: s.polling}, true
}

// interrupt ends the present leg. The caller holds mu.
func (s *stream) interrupt() {
	if s.restart != nil {
		s.restart()
	}
}

func (s *stream) isWanted() bool {
	for _, items := range s.items {
		for i := range items {
			if i.attached {
				return true
			}
		}
	}
	return false
}

// observe works until something is in the way, and reports whether it was of
// use by then.
func (s *stream) observe(ctx context.Context, l leg) (healthy bool, err error) {
	switch {
	case l.polling:
		return s.poll(ctx, l)
	case l.version != "":
		return s.watch(ctx, l, l.version)
	}
	version, err := s.list(ctx, l)
	if err != nil {
		return false, err
	}
	return s.watch(ctx, l, version)
}

// isObstructed reports whether a leg ended in a way after which it has to be
// found out if the API is there at all.
func (s *stream) isObstructed(ctx context.Context, l leg, healthy bool, err error) bool {
	s.tracker.mu.Lock()
	defer s.tracker.mu.Unlock()
	switch {
	case err == nil || l.epoch != s.epoch || ctx.Err() != nil:
		return false
	case errors.Is(err, errStreamEnded):
		s.short++
		return s.endedTooOften(healthy)
	}
	return !l.polling && !isExpired(err) && !isDenied(err) && !apierrors.IsNotFound(err)
}

func (s *stream) endedTooOften(healthy bool) bool { return !healthy && s.short >= shortWatches }

// endLeg decides how to go on and whether to pause before.
func (s *stream) endLeg(ctx context.Context, l leg, healthy bool, err error) (pause bool) {
	s.tracker.mu.Lock()
	defer s.tracker.mu.Unlock()
	if s.blindSince.IsZero() {
		s.blindSince = l.ended
	}
	if err == nil || l.epoch != s.epoch || ctx.Err() != nil {
		return false
	}
	switch {
	case errors.Is(err, errStreamEnded):
		if s.endedTooOften(healthy) {
			s.lose(err)
		}
		return !healthy
	case isExpired(err):
		s.version = ""
		return l.version == "" && !healthy
	case isDenied(err) && !s.polling:
		s.polling = true
		s.tracker.notify(s.notice(NoticePolling, err))
		return false
	case apierrors.IsNotFound(err):
		// The resource is not served: not yet, or no longer. The API answered, so
		// this is no time in which it is away.
		s.restored(time.Now())
		s.version, s.trouble = "", err
	default:
		s.lose(err)
	}
	return true
}

// lose notes that the API does not answer. The caller holds mu, as for the next
// two.
func (s *stream) lose(err error) {
	isFirst := !s.tracker.isLost()
	s.trouble, s.lost = err, true
	if isFirst {
		s.tracker.notify(s.notice(NoticeUnreachable, err))
	}
}

// connected notes that the leg works, since the time given. It reports false when
// the leg is over.
func (s *stream) connected(l leg, since time.Time) bool {
	if l.epoch != s.epoch {
		return false
	}
	s.short = 0
	s.restored(since)
	return true
}

// restored notes that observing works, since the time given.
func (s *stream) restored(since time.Time) {
	s.blind = s.unobserved(since)
	if s.lost {
		s.blind += catchingUp
	}
	s.blindSince, s.trouble, s.lost = time.Time{}, nil, false
	s.tracker.notify(s.notice(NoticeReachable, nil))
}

// unobserved is the time for which nothing could be observed so far.
func (s *stream) unobserved(now time.Time) time.Duration {
	if s.blindSince.IsZero() {
		return s.blind
	}
	return s.blind + now.Sub(s.blindSince)
}

func (s *stream) notice(kind NoticeKind, err error) Notice {
	return Notice{
		Kind: kind, Resource: s.key.resource, Namespace: s.key.namespace,
		Interval: s.tracker.config.PollInterval, Err: err,
	}
}

func (s *stream) forbidden(i *item, verb string, err error) error {
	return &ForbiddenError{
		Verb: verb, Resource: s.key.resource.GroupResource(),
		Namespace: s.key.namespace, Name: i.target.Name, Err: err,
	}
}
