// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/dynamic"

	"github.com/ordered-helm/helm/internal/timing"
	"github.com/ordered-helm/helm/internal/watcher/notice"
	"github.com/ordered-helm/helm/internal/watcher/objectreader"
	"github.com/ordered-helm/helm/internal/watcher/observation"
)

var (
	errStreamEnded = errors.New("the watch ended")
	errRestarted   = errors.New("the watch was restarted")
	errNoResponse  = errors.New("the server does not respond")
)

const (
	// healthyWatchDuration is how long a watch without events must last before it ends, so
	// that the next watch is opened without delay.
	healthyWatchDuration = time.Second
	// watchOpenDelay is how long a watch without events must last to count as opened. A
	// connection that is dropped without a response looks like a watch that ended.
	watchOpenDelay = 200 * time.Millisecond
	// maxShortWatches is a limit: if this many consecutive watches end before they count as
	// opened, the API server counts as unreachable.
	maxShortWatches = 2
)

// stream observes the objects of one API resource in one namespace, for all groups. It starts
// to run when a group waits for an object that is not ready. It keeps its watch open for
// later waits, and stops when the watch ends and no group waits. While it runs, it makes one
// attempt after another to watch or poll the objects.
//
// No change after a write is missed, because objects are registered before they are written.
// If the stream is already running at that time, it delivers all later events. Otherwise it
// starts later, from the resource version that was written. It has to restart only if it was
// started from a newer version in the meantime (see ensureRunning).
type stream struct {
	watcher *Watcher
	client  dynamic.ResourceInterface
	reader  *objectreader.Reader

	// Guarded by the watcher's mu.
	reachability reachability
	objects      objectsByName
	running      bool
	polling      bool   // whether to poll, because the account is not allowed to watch
	version      string // the resource version from which the next watch starts; if empty, it lists first
	// coveredFrom is the resource version from which the stream was started: it has
	// delivered all changes after this version. coverage counts how often it was started. An
	// object that was registered after the latest start has missed no change. coveredFrom is
	// empty if the stream was started with a list.
	coveredFrom string
	coverage    int
	// epoch is incremented at each restart. The results of attempts with an older epoch are
	// dropped. restart cancels the context of the current attempt.
	epoch   int
	restart context.CancelFunc
	// shortWatches counts the consecutive watches that ended before they counted as opened.
	shortWatches int
}

// register adds i to the objects that the stream observes: from then on, i receives the
// observations of its object. Callers of register, unregister, ensureRunning and markAwaited
// must have locked the watcher's mu.
func (s *stream) register(i *watchedObject) {
	s.objects.add(i)
	i.coverage = -1
	if s.running {
		i.coverage = s.coverage
	}
}

func (s *stream) unregister(i *watchedObject) {
	i.queue.Take()
	s.objects.remove(i)
}

// ensureRunning makes the stream deliver all changes of the given objects, which must be
// registered. It starts the stream, or restarts it if it was started from a newer resource
// version than that of one of the objects.
func (s *stream) ensureRunning(objects []*watchedObject) {
	if s.watcher.closed {
		return
	}
	from, list := s.markAwaited(objects)
	switch {
	case s.polling: // restart, to read immediately
	case list:
		s.version, s.coveredFrom = "", ""
		if !s.running {
			s.coverage++
		}
	case !s.running:
		s.version, s.coveredFrom = from, from
		s.coverage++
	case from != "" && s.version != "":
		s.version, s.coveredFrom = from, from
	default: // the running watch, or a list in progress, delivers the changes of all objects
		return
	}
	s.epoch++
	if s.running {
		s.interrupt()
		return
	}
	s.running = true
	s.reachability.startOutage(time.Now())
	s.watcher.start(s.run)
}

// markAwaited sets awaited for the given objects. If they need a new watch, it returns the
// resource version from which the watch must start, otherwise "". If their versions cannot be
// compared, it reports instead that a list is needed.
func (s *stream) markAwaited(objects []*watchedObject) (from string, list bool) {
	if !s.running {
		from = s.objects.earliestVersion()
	}
	for _, i := range objects {
		i.awaited = true
		i.outagesBefore = s.reachability.outages(time.Now())
		if i.group.unwritten {
			list = list || !s.covers(i)
			continue
		}
		if i.queue.IsIncomparable() {
			list = true
			continue
		}
		if s.running && (i.coverage == s.coverage || !observation.Before(i.queue.Version(), s.coveredFrom)) {
			continue
		}
		if from == "" || observation.Before(i.queue.Version(), from) {
			from = i.queue.Version()
		}
	}
	return from, list
}

// covers reports whether the stream, without a restart, delivers all changes of i, whose group does
// not write it, after i was read. Otherwise a list is needed: the version of such an object is
// usually too old to start a watch from it.
func (s *stream) covers(i *watchedObject) bool {
	switch {
	case !s.running:
		return false
	case s.version == "" || i.coverage == s.coverage: // a list is in progress, or follows
		return true
	}
	return !i.queue.IsIncomparable() && !observation.Before(i.queue.Version(), s.coveredFrom)
}

// run makes attempts to watch or poll until no group waits or the Watcher is closed.
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
			timing.Sleep(attemptCtx, pause.Step())
		}
	}
}

// startAttempt returns the next attempt and its context. If no group waits or the Watcher is
// closed, it marks the stream as stopped and returns false.
func (s *stream) startAttempt(ctx context.Context) (context.Context, *watchAttempt, bool) {
	s.watcher.mu.Lock()
	defer s.watcher.mu.Unlock()
	s.interrupt()
	if ctx.Err() != nil || len(s.objects.awaitedNames()) == 0 {
		s.running = false
		s.reachability.stop()
		return nil, nil, false
	}
	ctx, s.restart = context.WithCancel(ctx)
	return ctx, &watchAttempt{stream: s, epoch: s.epoch, version: s.version, polling: s.polling}, true
}

// interrupt cancels the current attempt, if any. The caller must have locked the watcher's mu.
func (s *stream) interrupt() {
	if s.restart != nil {
		s.restart()
	}
}

// needsRead reports whether the error of an attempt leaves open whether the API server
// responds, so that objects must be read to find out.
func (s *stream) needsRead(ctx context.Context, a *watchAttempt) bool {
	s.watcher.mu.Lock()
	defer s.watcher.mu.Unlock()
	switch {
	case a.err == nil || !a.isCurrent() || ctx.Err() != nil:
		return false
	case errors.Is(a.err, errStreamEnded):
		s.shortWatches++
		return s.tooManyShortWatches(a)
	}
	return !a.polling && !isExpired(a.err) && !objectreader.IsNotAllowed(a.err) && !apierrors.IsNotFound(a.err)
}

// tooManyShortWatches reports whether so many consecutive watches ended before they counted
// as opened that the API server counts as unreachable.
func (s *stream) tooManyShortWatches(a *watchAttempt) bool {
	return !a.healthy && s.shortWatches >= maxShortWatches
}

// finishAttempt prepares the next attempt, depending on the error of a: whether to poll, and
// from which version to watch. It reports whether to pause before the next attempt.
func (s *stream) finishAttempt(ctx context.Context, a *watchAttempt) (pause bool) {
	s.watcher.mu.Lock()
	defer s.watcher.mu.Unlock()
	s.reachability.startOutage(a.endedAt)
	if a.err == nil || !a.isCurrent() || ctx.Err() != nil {
		return false
	}
	switch {
	case errors.Is(a.err, errStreamEnded):
		if s.tooManyShortWatches(a) {
			s.reachability.markUnreachable(a.err)
		}
		return !a.healthy
	case isExpired(a.err):
		s.version = ""
		return a.version == "" && !a.healthy
	case objectreader.IsNotAllowed(a.err) && !s.polling:
		s.polling = true
		s.reachability.notify(notice.Polling, a.err)
		return false
	case apierrors.IsNotFound(a.err):
		// The API server does not serve the resource, or not yet. Because it responded, this
		// is not an outage.
		s.reachability.markRestored(time.Now())
		s.version, s.reachability.err = "", a.err
	default:
		s.reachability.markUnreachable(a.err)
	}
	return true
}

// awaitedNames returns the names of the objects for which a group waits.
func (s *stream) awaitedNames() []string {
	s.watcher.mu.Lock()
	defer s.watcher.mu.Unlock()
	return s.objects.awaitedNames()
}

// isExpired reports whether an error means that a watch must start with a new list, because
// the API server no longer has the changes since the requested resource version.
func isExpired(err error) bool {
	return apierrors.IsGone(err) || apierrors.IsResourceExpired(err)
}
