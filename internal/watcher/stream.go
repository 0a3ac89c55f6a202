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
	errNoAnswer    = errors.New("the server does not respond")
)

const (
	// healthyWatchDuration is how long a watch must last to be restarted without delay.
	healthyWatchDuration = time.Second
	// watchOpenDelay is how long a watch without events must stay open to count as
	// opened. A connection that is dropped without a response looks like a watch that
	// ended.
	watchOpenDelay = 200 * time.Millisecond
	// maxShortWatches is how many consecutive watches can end while they open before the
	// API server counts as unreachable.
	maxShortWatches = 2
)

// outageGracePeriod is added to each outage. In this time the changes that happened
// during the outage arrive.
const outageGracePeriod = 500 * time.Millisecond

// stream observes one resource in one namespace, for all items of all groups. It starts
// when somebody waits for an object that is not ready. It keeps its watch open for later
// items, and stops when the watch ends and nobody waits.
//
// No event after a write is missed, because items are registered before the write. A
// running stream delivers all later events. A new stream starts from the version that was
// written. Only a stream that was started from a later version has to restart from an
// earlier one (see ensureRunning).
type stream struct {
	watcher *Watcher
	key     streamKey
	reader  *reader

	// Guarded by the watcher's mu.
	items   map[string]map[*item]struct{} // by name
	running bool
	polling bool   // whether it polls, because it is not allowed to watch
	version string // the version to continue the watch from, or empty to list first
	// coveredFrom is the earliest version that the watch was started from. A later list
	// brings every item up to date. Coverage counts the starts: an item that was
	// registered after the last start has missed nothing.
	coveredFrom string
	coverage    int
	// epoch counts the restarts. Results from an earlier epoch are dropped.
	epoch   int
	restart context.CancelFunc
	err     error
	// unreachable is whether the watch cannot reach the API server. failingReads is the
	// number of initial reads that cannot reach it.
	unreachable  bool
	failingReads int
	// outageStart is when the current interruption began, or zero. pastOutages is the total
	// duration of earlier interruptions.
	outageStart time.Time
	pastOutages time.Duration
	// shortWatches is the number of consecutive watches that ended while they opened.
	shortWatches int
}

// attempt is one attempt to observe, until it is interrupted.
type attempt struct {
	epoch   int
	version string
	polling bool
	endedAt time.Time
}

// register delivers the events of the object to an item. The caller holds mu, as in
// unregister, ensureRunning and attach.
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

// ensureRunning makes the stream run for these items, from the earliest version that they
// need.
func (s *stream) ensureRunning(items []*item) {
	if s.watcher.closed {
		return
	}
	from, list := s.attach(items)
	switch {
	case s.polling: // read now
	case list:
		s.version = ""
	case !s.running:
		s.version, s.coveredFrom = from, from
		s.coverage++
	case from != "" && s.version != "":
		s.version, s.coveredFrom = from, from
	default: // the running watch, or a list in progress, covers the items
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

// attach records that somebody waits for the items. If a new watch is needed, it returns
// the earliest version to start it from, or that a list is needed. Otherwise the version is
// empty.
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

// earliestVersion returns the lowest version that was written of all items, so that no
// restart is needed when somebody later waits for the others.
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

// run observes until nobody waits or the watcher is closed.
func (s *stream) run(ctx context.Context) {
	pause := retryBackoff()
	for {
		attemptCtx, a, ok := s.startAttempt(ctx)
		if !ok {
			return
		}
		healthy, err := s.observe(attemptCtx, a)
		a.endedAt = time.Now()
		if healthy {
			pause = retryBackoff()
		}
		if s.needsRead(attemptCtx, a, healthy, err) && s.readAwaited(attemptCtx, a) || s.finishAttempt(attemptCtx, a, healthy, err) {
			sleep(attemptCtx, pause.Step())
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

// interrupt ends the current attempt. The caller holds mu.
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

// observe watches or polls until it is interrupted. It reports whether that worked for a
// while.
func (s *stream) observe(ctx context.Context, a attempt) (healthy bool, err error) {
	switch {
	case a.polling:
		return s.poll(ctx, a)
	case a.version != "":
		return s.watch(ctx, a, a.version)
	}
	version, err := s.list(ctx, a)
	if err != nil {
		return false, err
	}
	return s.watch(ctx, a, version)
}

// needsRead reports whether it is still unknown after an attempt whether the API server can
// be reached.
func (s *stream) needsRead(ctx context.Context, a attempt, healthy bool, err error) bool {
	s.watcher.mu.Lock()
	defer s.watcher.mu.Unlock()
	switch {
	case err == nil || a.epoch != s.epoch || ctx.Err() != nil:
		return false
	case errors.Is(err, errStreamEnded):
		s.shortWatches++
		return s.endedTooOften(healthy)
	}
	return !a.polling && !isExpired(err) && !isNotAllowed(err) && !apierrors.IsNotFound(err)
}

func (s *stream) endedTooOften(healthy bool) bool {
	return !healthy && s.shortWatches >= maxShortWatches
}

// finishAttempt decides how to continue, and whether to pause before.
func (s *stream) finishAttempt(ctx context.Context, a attempt, healthy bool, err error) (pause bool) {
	s.watcher.mu.Lock()
	defer s.watcher.mu.Unlock()
	if s.outageStart.IsZero() {
		s.outageStart = a.endedAt
	}
	if err == nil || a.epoch != s.epoch || ctx.Err() != nil {
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
		return a.version == "" && !healthy
	case isNotAllowed(err) && !s.polling:
		s.polling = true
		s.watcher.notify(s.notice(NoticePolling, err))
		return false
	case apierrors.IsNotFound(err):
		// The resource is not served, or not yet. Because the API server responded, this is
		// not an outage.
		s.markRestored(time.Now())
		s.version, s.err = "", err
	default:
		s.markUnreachable(err)
	}
	return true
}

// markUnreachable records that the API server does not respond. The caller holds mu, as
// in markConnected and markRestored.
func (s *stream) markUnreachable(err error) {
	isFirst := !s.watcher.hasUnreachableStream()
	s.err, s.unreachable = err, true
	if isFirst {
		s.watcher.notify(s.notice(NoticeUnreachable, err))
	}
}

// markConnected records that an attempt has been successful since a time. It reports false
// if the attempt has ended.
func (s *stream) markConnected(a attempt, since time.Time) bool {
	if a.epoch != s.epoch {
		return false
	}
	s.shortWatches = 0
	s.markRestored(since)
	return true
}

// markRestored records that observing has been successful since a time.
func (s *stream) markRestored(since time.Time) {
	s.pastOutages = s.unobserved(since)
	if s.unreachable {
		s.pastOutages += outageGracePeriod
	}
	s.outageStart, s.err, s.unreachable = time.Time{}, nil, false
	s.watcher.notify(s.notice(NoticeReachable, nil))
}

// unobserved returns the total time during which observing was interrupted.
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
