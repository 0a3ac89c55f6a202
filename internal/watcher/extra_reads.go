// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"context"

	"github.com/ordered-helm/helm/internal/watcher/objectreader"
	"github.com/ordered-helm/helm/internal/watcher/observation"
)

// readAwaited reads the objects for which a group waits, to find out after a failed watch
// whether the API server responds. It returns true if it could read all, or if there are none.
func (a *watchAttempt) readAwaited(ctx context.Context) bool {
	s := a.stream
	names := s.awaitedNames()
	if len(names) == 0 {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, responseTimeout)
	defer cancel()
	readings, err := s.reader.ReadPartially(ctx, names)
	if err != nil {
		return false
	}
	s.watcher.mu.Lock()
	defer s.watcher.mu.Unlock()
	return a.isCurrent() && s.useReads(readings)
}

// useReads delivers the results of readAwaited, and ends the outage. But if an object could
// not be read because of missing permissions, it returns false and the outage continues. The
// caller must have locked the watcher's mu.
func (s *stream) useReads(readings map[string]objectreader.Result) bool {
	complete := true
	for name, result := range readings {
		for i := range s.objects[name] {
			switch {
			case !i.awaited:
			case result.Forbidden != nil: // the wait continues, because watching is allowed
				complete = false
			default:
				i.enqueue(observation.OfSupplementaryRead(result.Object, result.Version))
				if i.queue.IsIncomparable() { // later events of the watch may be older than the read
					s.version = ""
				}
			}
		}
	}
	if !complete {
		return false
	}
	s.reachability.markResponded()
	return true
}

// readNow reads the objects with these names, and delivers the results to the groups that
// wait for them. If the watch has delivered an event for an object during the read, the
// result is dropped unless its version is newer. Errors are ignored.
func (s *stream) readNow(ctx context.Context, names []string) {
	positions := s.positions(names)
	if len(positions) == 0 {
		return
	}
	ctx, stop := s.watcher.withResponseTimeout(ctx)
	defer stop()
	readings, err := s.reader.ReadPartially(ctx, names)
	if err != nil {
		return
	}
	s.watcher.mu.Lock()
	defer s.watcher.mu.Unlock()
	for i, before := range positions {
		result, ok := readings[i.target.Name]
		if ok && i.awaited && result.Forbidden == nil && (before == i.queue.Position() || observation.Before(i.queue.Version(), result.Version)) {
			i.enqueue(observation.OfSupplementaryRead(result.Object, result.Version))
		}
	}
}

// positions returns the queue positions of the objects with these names for which a group
// waits. They show later whether a queue has accepted another observation.
func (s *stream) positions(names []string) map[*watchedObject]observation.Position {
	s.watcher.mu.Lock()
	defer s.watcher.mu.Unlock()
	positions := map[*watchedObject]observation.Position{}
	for _, name := range names {
		for i := range s.objects[name] {
			if i.awaited {
				positions[i] = i.queue.Position()
			}
		}
	}
	return positions
}

// withResponseTimeout returns a context that also ends after responseTimeout, or when the
// Watcher is closed. The caller must call the returned function.
func (w *Watcher) withResponseTimeout(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithTimeout(ctx, responseTimeout)
	stop := w.afterClose(cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}
