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
	// healthyWatchDuration is how long a watch without events must last so that the next
	// watch starts without delay.
	healthyWatchDuration = time.Second
	// watchOpenDelay is how long a watch without events must stay open to count as
	// opened. A connection that is dropped without a response looks like a watch that
	// ended.
	watchOpenDelay = 200 * time.Millisecond
	// maxShortWatches is how many consecutive watches can end while they open before the
	// API server counts as unreachable.
	maxShortWatches = 2
)

// outageGracePeriod is added to the duration of each outage, because it takes some time
// until the changes during the outage arrive.
const outageGracePeriod = 500 * time.Millisecond

// stream observes one resource in one namespace, for the items of all groups. It starts to
// run when a group waits for an object that is not ready. It keeps its watch open for later
// items, and stops when the watch ends and no group waits.
//
// It misses no change after a write, because items are registered before the write. If the
// stream is running then, it delivers all later events. If not, it starts from the version
// that was written. It only has to restart if it was started from a later version in the
// meantime (see ensureRunning).
//
// A run is a sequence of attempts: each attempt lists the objects if necessary, and then
// watches or polls them until it fails or is interrupted.
type stream struct {
	watcher *Watcher
	key     streamKey
	reader  *reader

	// Guarded by the watcher's mu.
	items   map[string]map[*item]struct{} // by name
	running bool
	polling bool   // whether to poll, because the account is not allowed to watch
	version string // the resource version from which the next watch starts, or empty to list first
	// coveredFrom is the version from which the watch was started. If it had to list since
	// then, the list brought every item up to date. coverage counts how often the stream
	// was started: an item that was registered after the last start has missed nothing.
	coveredFrom string
	coverage    int
	// epoch is increased at each restart. Results of attempts with an earlier epoch are
	// dropped. restart cancels the current attempt.
	epoch   int
	restart context.CancelFunc
	err     error
	// unreachable is true while the API server does not respond to the watch. failingReads
	// is the number of calls of readUntilAnswered to which it does not respond. err is why
	// the objects cannot be observed at the moment, or nil.
	unreachable  bool
	failingReads int
	// An outage is a time in which the stream is running but has no open watch or
	// successful poll. outageStart is when the current outage began, or zero. pastOutages
	// is the total duration of earlier ones.
	outageStart time.Time
	pastOutages time.Duration
	// shortWatches is the number of consecutive watches that ended before they counted as
	// opened.
	shortWatches int
}

// attempt is the state of a stream at the start of an attempt. endedAt is set at its end.
type attempt struct {
	epoch   int
	version string
	polling bool
	endedAt time.Time
}

// register makes the stream deliver observations of its object to an item. For this method,
// unregister, ensureRunning, attach and earliestVersion, the caller must have locked the
// watcher's mu.
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

// ensureRunning starts the stream if it is not running. If the running stream was started
// from a later version than one of the items needs, it restarts it from the earlier
// version.
func (s *stream) ensureRunning(items []*item) {
	if s.watcher.closed {
		return
	}
	from, list := s.attach(items)
	switch {
	case s.polling: // restart, to read immediately
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

// attach sets attached for the items. If they need a new watch, it returns the version from
// which the watch must start, or that a list is needed because versions cannot be compared.
// Otherwise the version is empty.
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

// earliestVersion returns the lowest of the versions that are known for the registered
// items. A watch that starts from it does not have to restart when a group later waits for
// the other items.
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

// before reports whether the resource version a is lower than b.
func before(a, b string) bool {
	order, ordered := compareVersions(a, b)
	return ordered && order < 0
}

// run makes attempts until no group waits or the Watcher is closed.
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

// startAttempt returns the next attempt and its context. It returns false, and marks the
// stream as stopped, if no group waits or the Watcher is closed.
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

// interrupt cancels the current attempt. The caller must have locked the watcher's mu.
func (s *stream) interrupt() {
	if s.restart != nil {
		s.restart()
	}
}

// isWanted reports whether any item is attached.
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

// observe performs an attempt, and returns why it ended. healthy is true if it worked for a
// while before, so that the next attempt can start without delay.
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

// needsRead reports whether objects must be read after an attempt to find out whether the
// API server responds: the error of the attempt does not tell.
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

// endedTooOften reports whether so many watches ended early that the API server counts as
// unreachable.
func (s *stream) endedTooOften(healthy bool) bool {
	return !healthy && s.shortWatches >= maxShortWatches
}

// finishAttempt sets the fields that decide what the next attempt does, depending on the
// error of this attempt. It returns whether to pause before the next attempt.
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

// markUnreachable records that the API server does not respond. For this method,
// markConnected and markRestored, the caller must have locked the watcher's mu.
func (s *stream) markUnreachable(err error) {
	isFirst := !s.watcher.hasUnreachableStream()
	s.err, s.unreachable = err, true
	if isFirst {
		s.watcher.notify(s.notice(NoticeUnreachable, err))
	}
}

// markConnected records that the attempt a has been successful since a time. It returns
// false if the stream was restarted after the attempt began.
func (s *stream) markConnected(a attempt, since time.Time) bool {
	if a.epoch != s.epoch {
		return false
	}
	s.shortWatches = 0
	s.markRestored(since)
	return true
}

// markRestored ends the current outage: the API server has responded since a time.
func (s *stream) markRestored(since time.Time) {
	s.pastOutages = s.unobserved(since)
	if s.unreachable {
		s.pastOutages += outageGracePeriod
	}
	s.outageStart, s.err, s.unreachable = time.Time{}, nil, false
	s.watcher.notify(s.notice(NoticeReachable, nil))
}

// unobserved returns the total duration of the outages up to now.
func (s *stream) unobserved(now time.Time) time.Duration {
	if s.outageStart.IsZero() {
		return s.pastOutages
	}
	return s.pastOutages + now.Sub(s.outageStart)
}

func (s *stream) notice(kind NoticeKind, err error) Notice {
	return Notice{
		Kind: kind, Resource: s.key.resource, Namespace: s.key.namespace,
		Interval: pollInterval, Err: err,
	}
}

func (s *stream) forbidden(i *item, verb string, err error) error {
	return &ForbiddenError{
		Verb: verb, Resource: s.key.resource.GroupResource(),
		Namespace: s.key.namespace, Name: i.target.Name, Err: err,
	}
}
