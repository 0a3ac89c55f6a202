// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"context"

	"github.com/ordered-helm/helm/internal/watcher/objectreader"
	"github.com/ordered-helm/helm/internal/watcher/observations"
)

// readAwaited is called after a watch has failed. It reads the objects of attached items
// once, to find out whether the API server responds. It returns true if all of them were
// read, or if there are none.
func (a *attempt) readAwaited(ctx context.Context) bool {
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

// useReads delivers the results of readAwaited to attached items. It returns false if any
// object could not be read because of missing permissions. Otherwise the server responds,
// and the outage is finished. The caller must have locked the watcher's mu.
func (s *stream) useReads(readings map[string]objectreader.Result) bool {
	complete := true
	for name, one := range readings {
		for i := range s.items[name] {
			switch {
			case !i.attached:
			case one.Forbidden != nil: // this does not end the wait, because watching is allowed
				complete = false
			default:
				i.enqueue(observations.OfSupplementaryRead(one.Object, one.Version))
				if i.queue.IsIncomparable() { // later events of the watch may be older than the read
					s.version = ""
				}
			}
		}
	}
	if !complete {
		return false
	}
	s.connection.markAnswered()
	return true
}

// readNow reads the objects with these names and delivers the results to attached items. A
// watch can run at the same time: if it has delivered an event during the read, the result
// counts only if its version is newer. Errors are ignored.
func (s *stream) readNow(ctx context.Context, names []string) {
	marks := s.positions(names)
	if len(marks) == 0 {
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
	for i, m := range marks {
		one, ok := readings[i.target.Name]
		if ok && i.attached && one.Forbidden == nil && (m == i.queue.Position() || observations.Before(i.queue.Version(), one.Version)) {
			i.enqueue(observations.OfSupplementaryRead(one.Object, one.Version))
		}
	}
}

// positions returns the positions of the attached items with these names.
func (s *stream) positions(names []string) map[*item]observations.Position {
	s.watcher.mu.Lock()
	defer s.watcher.mu.Unlock()
	marks := map[*item]observations.Position{}
	for _, name := range names {
		for i := range s.items[name] {
			if i.attached {
				marks[i] = i.queue.Position()
			}
		}
	}
	return marks
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
