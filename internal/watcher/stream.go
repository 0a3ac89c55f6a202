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
	// healthyWatchDuration is from when on a watch that ends is taken for healthy: it is
	// started again at once.
	healthyWatchDuration = time.Second
	// watchOpenDelay is how long a watch must stay open to count as granted if it tells
	// nothing meanwhile. The client takes a connection that is dropped without
	// an answer for a watch that ended.
	watchOpenDelay = 200 * time.Millisecond
	// maxShortWatches is how many watches in a row may end while they open until
	// the API counts as unreachable.
	maxShortWatches = 2
)

// outageGracePeriod is the time that does not count after an outage: what happened
// meanwhile has to arrive first.
const outageGracePeriod = 500 * time.Millisecond

// stream observes one resource in one namespace, for all items of all groups. It
// starts when somebody waits for what is not ready, and keeps its watch open for
// those who come later. When the watch ends and nobody waits, it stops.
//
// What follows a write is never missed: an item is registered before the write.
// A stream that runs by then passes on everything later; one that starts
// afterwards starts from the version written. Only a stream that was started
// from a later version for somebody else has to go back (see require).
type stream struct {
	watcher *Watcher
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
	err     error
	// unreachable and firstReads are why the API counts as unreachable: the watch is in
	// trouble, and so are that many readings of those who begin to wait.
	unreachable  bool
	failingReads int
	// outageStart is when observing was interrupted, zero while it works;
	// blind is the sum of the interruptions before.
	outageStart time.Time
	pastOutages time.Duration
	// shortWatches counts the watches in a row that ended while they opened.
	shortWatches int
}

// attempt is one attempt to observe, from a start to an interruption.
type attempt struct {
	epoch   int
	version string
	polling bool
	endedAt time.Time
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

// ensureRunning makes the stream run for these items, and go back as far as they need.
func (s *stream) ensureRunning(items []*item) {
	if s.watcher.closed {
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
	s.outageStart = time.Now()
	s.watcher.start(s.run)
}

// attach notes that somebody waits for the items. It returns the earliest version
// from which a watch has to start for them, empty if the one that runs will do,
// or that a list is needed.
func (s *stream) attach(items []*item) (from string, list bool) {
	if !s.running {
		from = s.earliestVersion()
	}
	for _, i := range items {
		i.attached = true
		i.outagesBefore = s.unobserved(time.Now())
		if i.incomparable {
			list = true
			continue
		}
		if s.running && (i.coverage == s.coverage || !before(i.latestVersion, s.coveredFrom)) {
			continue
		}
		if from == "" || before(i.latestVersion, from) {
			from = i.latestVersion
		}
	}
	return from, list
}

// earliestVersion is the lowest version that was written of what this stream knows:
// those who do not wait so far will not have to send it back to the start.
func (s *stream) earliestVersion() (version string) {
	for _, items := range s.items {
		for i := range items {
			if i.hasBaseline && !i.incomparable && (version == "" || before(i.latestVersion, version)) {
				version = i.latestVersion
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
	pause := retryBackoff()
	for {
		legCtx, l, ok := s.startAttempt(ctx)
		if !ok {
			return
		}
		healthy, err := s.observe(legCtx, l)
		l.endedAt = time.Now()
		if healthy {
			pause = retryBackoff()
		}
		if s.needsRead(legCtx, l, healthy, err) && s.readAwaited(legCtx, l) || s.finishAttempt(legCtx, l, healthy, err) {
			sleep(legCtx, pause.Step())
		}
	}
}

func (s *stream) startAttempt(ctx context.Context) (context.Context, attempt, bool) {
	s.watcher.mu.Lock()
	defer s.watcher.mu.Unlock()
	s.interrupt()
	if ctx.Err() != nil || !s.isWanted() {
		s.running, s.unreachable = false, false
		s.pastOutages, s.outageStart = s.unobserved(time.Now()), time.Time{}
		return nil, attempt{}, false
	}
	ctx, s.restart = context.WithCancel(ctx)
	return ctx, attempt{epoch: s.epoch, version: s.version, polling: s.polling}, true
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
func (s *stream) observe(ctx context.Context, l attempt) (healthy bool, err error) {
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

// needsRead reports whether a leg ended in a way after which it has to be
// found out if the API is there at all.
func (s *stream) needsRead(ctx context.Context, l attempt, healthy bool, err error) bool {
	s.watcher.mu.Lock()
	defer s.watcher.mu.Unlock()
	switch {
	case err == nil || l.epoch != s.epoch || ctx.Err() != nil:
		return false
	case errors.Is(err, errStreamEnded):
		s.shortWatches++
		return s.endedTooOften(healthy)
	}
	return !l.polling && !isExpired(err) && !isNotAllowed(err) && !apierrors.IsNotFound(err)
}

func (s *stream) endedTooOften(healthy bool) bool {
	return !healthy && s.shortWatches >= maxShortWatches
}

// finishAttempt decides how to go on and whether to pause before.
func (s *stream) finishAttempt(ctx context.Context, l attempt, healthy bool, err error) (pause bool) {
	s.watcher.mu.Lock()
	defer s.watcher.mu.Unlock()
	if s.outageStart.IsZero() {
		s.outageStart = l.endedAt
	}
	if err == nil || l.epoch != s.epoch || ctx.Err() != nil {
		return false
	}
	switch {
	case errors.Is(err, errStreamEnded):
		if s.endedTooOften(healthy) {
			s.markUnreachable(err)
		}
		return !healthy
	case isExpired(err):
		s.version = ""
		return l.version == "" && !healthy
	case isNotAllowed(err) && !s.polling:
		s.polling = true
		s.watcher.notify(s.notice(NoticePolling, err))
		return false
	case apierrors.IsNotFound(err):
		// The resource is not served: not yet, or no longer. The API answered, so
		// this is no time in which it is away.
		s.markRestored(time.Now())
		s.version, s.err = "", err
	default:
		s.markUnreachable(err)
	}
	return true
}

// markUnreachable notes that the API does not answer. The caller holds mu, as for the next
// two.
func (s *stream) markUnreachable(err error) {
	isFirst := !s.watcher.hasUnreachableStream()
	s.err, s.unreachable = err, true
	if isFirst {
		s.watcher.notify(s.notice(NoticeUnreachable, err))
	}
}

// markConnected notes that the leg works, since the time given. It reports false when
// the leg is over.
func (s *stream) markConnected(l attempt, since time.Time) bool {
	if l.epoch != s.epoch {
		return false
	}
	s.shortWatches = 0
	s.markRestored(since)
	return true
}

// markRestored notes that observing works, since the time given.
func (s *stream) markRestored(since time.Time) {
	s.pastOutages = s.unobserved(since)
	if s.unreachable {
		s.pastOutages += outageGracePeriod
	}
	s.outageStart, s.err, s.unreachable = time.Time{}, nil, false
	s.watcher.notify(s.notice(NoticeReachable, nil))
}

// unobserved is the time for which nothing could be observed so far.
func (s *stream) unobserved(now time.Time) time.Duration {
	if s.outageStart.IsZero() {
		return s.pastOutages
	}
	return s.pastOutages + now.Sub(s.outageStart)
}

func (s *stream) notice(kind NoticeKind, err error) Notice {
	return Notice{
		Kind: kind, Resource: s.key.resource, Namespace: s.key.namespace,
		Interval: s.watcher.config.PollInterval, Err: err,
	}
}

func (s *stream) forbidden(i *item, verb string, err error) error {
	return &ForbiddenError{
		Verb: verb, Resource: s.key.resource.GroupResource(),
		Namespace: s.key.namespace, Name: i.target.Name, Err: err,
	}
}
