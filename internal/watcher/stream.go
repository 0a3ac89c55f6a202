// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/dynamic"

	"github.com/ordered-helm/helm/internal/clock"
	"github.com/ordered-helm/helm/internal/watcher/objectreader"
	"github.com/ordered-helm/helm/internal/watcher/observations"
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

// stream observes one resource in one namespace, for the items of all groups. It starts to
// run when a group waits for an object that is not ready. It keeps its watch open for later
// items, and stops when the watch ends and no group waits.
//
// It misses no change after a write, because items are registered before the write. If the
// stream is running then, it delivers all later events. If not, it starts from the version
// that was written. It only has to restart if it was started from a later version in the
// meantime (see ensureRunning).
//
// A run is a sequence of attempts.
type stream struct {
	watcher *Watcher
	client  dynamic.ResourceInterface
	reader  *objectreader.Reader

	// Guarded by the watcher's mu.
	connection connection
	items      itemSet
	running    bool
	polling    bool   // whether to poll, because the account is not allowed to watch
	version    string // the resource version from which the next watch starts, or empty to list first
	// coveredFrom is the version from which the watch was started. If it had to list since
	// then, the list brought every item up to date. coverage counts how often the stream
	// was started: an item that was registered after the last start has missed nothing.
	coveredFrom string
	coverage    int
	// epoch is increased at each restart. Results of attempts with an earlier epoch are
	// dropped. restart cancels the current attempt.
	epoch   int
	restart context.CancelFunc
	// shortWatches is the number of consecutive watches that ended before they counted as
	// opened.
	shortWatches int
}

// register makes the stream deliver observations of its object to an item. For this method,
// unregister, ensureRunning and attach, the caller must have locked the watcher's mu.
func (s *stream) register(i *item) {
	s.items.add(i)
	i.coverage = -1
	if s.running {
		i.coverage = s.coverage
	}
}

func (s *stream) unregister(i *item) {
	i.queue.Take()
	s.items.remove(i)
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
	s.connection.startOutage(time.Now())
	s.watcher.start(s.run)
}

// attach sets attached for the items. If they need a new watch, it returns the version from
// which the watch must start, or that a list is needed because versions cannot be compared.
// Otherwise the version is empty.
func (s *stream) attach(items []*item) (from string, list bool) {
	if !s.running {
		from = s.items.earliestVersion()
	}
	for _, i := range items {
		i.attached = true
		i.outagesBefore = s.connection.outages(time.Now())
		if i.queue.IsIncomparable() {
			list = true
			continue
		}
		if s.running && (i.coverage == s.coverage || !observations.Before(i.queue.Version(), s.coveredFrom)) {
			continue
		}
		if from == "" || observations.Before(i.queue.Version(), from) {
			from = i.queue.Version()
		}
	}
	return from, list
}

// run makes attempts until no group waits or the Watcher is closed.
func (s *stream) run(ctx context.Context) {
	pause := retryBackoff()
	for {
		attemptCtx, a, ok := s.startAttempt(ctx)
		if !ok {
			return
		}
		a.run(attemptCtx)
		if a.healthy {
			pause = retryBackoff()
		}
		if s.needsRead(attemptCtx, a) && a.readAwaited(attemptCtx) || s.finishAttempt(attemptCtx, a) {
			clock.Sleep(attemptCtx, pause.Step())
		}
	}
}

// startAttempt returns the next attempt and its context. It returns false, and marks the
// stream as stopped, if no group waits or the Watcher is closed.
func (s *stream) startAttempt(ctx context.Context) (context.Context, *attempt, bool) {
	s.watcher.mu.Lock()
	defer s.watcher.mu.Unlock()
	s.interrupt()
	if ctx.Err() != nil || len(s.items.attachedNames()) == 0 {
		s.running = false
		s.connection.stop()
		return nil, nil, false
	}
	ctx, s.restart = context.WithCancel(ctx)
	return ctx, &attempt{stream: s, epoch: s.epoch, version: s.version, polling: s.polling}, true
}

// interrupt cancels the current attempt. The caller must have locked the watcher's mu.
func (s *stream) interrupt() {
	if s.restart != nil {
		s.restart()
	}
}

// needsRead reports whether objects must be read after an attempt to find out whether the
// API server responds: the error of the attempt does not tell.
func (s *stream) needsRead(ctx context.Context, a *attempt) bool {
	s.watcher.mu.Lock()
	defer s.watcher.mu.Unlock()
	switch {
	case a.err == nil || !a.isCurrent() || ctx.Err() != nil:
		return false
	case errors.Is(a.err, errStreamEnded):
		s.shortWatches++
		return s.endedTooOften(a)
	}
	return !a.polling && !isExpired(a.err) && !objectreader.IsNotAllowed(a.err) && !apierrors.IsNotFound(a.err)
}

// endedTooOften reports whether so many watches ended early that the API server counts as
// unreachable.
func (s *stream) endedTooOften(a *attempt) bool {
	return !a.healthy && s.shortWatches >= maxShortWatches
}

// finishAttempt sets the fields that decide what the next attempt does, depending on the
// error of this attempt. It returns whether to pause before the next attempt.
func (s *stream) finishAttempt(ctx context.Context, a *attempt) (pause bool) {
	s.watcher.mu.Lock()
	defer s.watcher.mu.Unlock()
	s.connection.startOutage(a.endedAt)
	if a.err == nil || !a.isCurrent() || ctx.Err() != nil {
		return false
	}
	switch {
	case errors.Is(a.err, errStreamEnded):
		if s.endedTooOften(a) {
			s.connection.markUnreachable(a.err)
		}
		return !a.healthy
	case isExpired(a.err):
		s.version = ""
		return a.version == "" && !a.healthy
	case objectreader.IsNotAllowed(a.err) && !s.polling:
		s.polling = true
		s.connection.notify(NoticePolling, a.err)
		return false
	case apierrors.IsNotFound(a.err):
		// The resource is not served, or not yet. Because the API server responded, this is
		// not an outage.
		s.connection.markRestored(time.Now())
		s.version, s.connection.err = "", a.err
	default:
		s.connection.markUnreachable(a.err)
	}
	return true
}

// awaitedNames returns the names of the objects of attached items.
func (s *stream) awaitedNames() []string {
	s.watcher.mu.Lock()
	defer s.watcher.mu.Unlock()
	return s.items.attachedNames()
}

// isExpired reports whether an error means that the server no longer has the changes since
// the version from which to watch.
func isExpired(err error) bool {
	return apierrors.IsGone(err) || apierrors.IsResourceExpired(err)
}
