// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

const (
	// responseTimeout limits the time until a watch is opened, and the duration of a read
	// that replaces it.
	responseTimeout = 5 * time.Second
	// maxSilence is how long an open watch can be silent before its objects are read. Some
	// proxies delay the events of a watch.
	maxSilence = 15 * time.Second
)

// list delivers the current state to each item, and returns the version to watch from.
func (s *stream) list(ctx context.Context, a attempt) (version string, err error) {
	objects, version, err := s.reader.list(ctx)
	if err != nil && !apierrors.IsNotFound(err) {
		return "", err
	}
	// If the API server does not serve a resource, it has no objects.
	s.watcher.mu.Lock()
	defer s.watcher.mu.Unlock()
	if a.epoch != s.epoch {
		return "", errRestarted
	}
	for name, items := range s.items {
		o := readResult{object: objects[name], version: version}.observation()
		for i := range items {
			if err == nil || i.attached {
				i.enqueue(o)
			}
		}
	}
	if err == nil {
		s.version = version
	}
	return version, err
}

// watch delivers events until the watch ends.
func (s *stream) watch(ctx context.Context, a attempt, version string) (healthy bool, err error) {
	w, end, err := s.open(ctx, version)
	if err != nil {
		return false, fmt.Errorf("watching: %w", err)
	}
	defer end()
	since := time.Now()
	opened, silent := time.NewTimer(watchOpenDelay), time.NewTimer(maxSilence)
	defer opened.Stop()
	defer silent.Stop()
	for {
		select {
		case <-ctx.Done():
			return healthy, ctx.Err()
		case <-opened.C:
			if !s.markOpened(a, since) {
				return healthy, errRestarted
			}
		case <-silent.C:
			s.readNow(ctx, s.awaitedNames())
			silent.Reset(maxSilence)
		case event, open := <-w.ResultChan():
			if !open {
				return healthy || time.Since(since) >= healthyWatchDuration, errStreamEnded
			}
			if event.Type != watch.Error && !healthy && !s.markOpened(a, since) {
				return false, errRestarted
			}
			if err := s.handleEvent(a, event); err != nil {
				return healthy, err
			}
			healthy = true
			silent.Reset(maxSilence)
		}
	}
}

// open starts a watch. It fails if there is no response in time. The returned function
// ends the watch.
func (s *stream) open(ctx context.Context, version string) (watch.Interface, func(), error) {
	ctx, cancel := context.WithCancel(ctx)
	timer := time.AfterFunc(responseTimeout, cancel)
	w, err := s.reader.client.Watch(ctx, metav1.ListOptions{ResourceVersion: version, AllowWatchBookmarks: true})
	inTime := timer.Stop()
	end := func() {
		cancel()
		if err != nil {
			return
		}
		w.Stop()
		for range w.ResultChan() { // the goroutine of the watch has ended when this channel is closed
		}
	}
	switch {
	case !inTime:
		end()
		return nil, nil, errNoAnswer
	case err != nil:
		end()
		return nil, nil, err
	}
	return w, end, nil
}

// handleEvent delivers an event to the items of the object.
func (s *stream) handleEvent(a attempt, event watch.Event) error {
	if event.Type == watch.Error {
		return fmt.Errorf("watching: %w", apierrors.FromObject(event.Object))
	}
	obj, ok := event.Object.(*unstructured.Unstructured)
	if !ok {
		return fmt.Errorf("watching: unexpected event %s with a %T", event.Type, event.Object)
	}
	s.watcher.mu.Lock()
	defer s.watcher.mu.Unlock()
	if a.epoch != s.epoch {
		return errRestarted
	}
	if version := obj.GetResourceVersion(); version != "" {
		s.version = version
	}
	items := s.items[obj.GetName()] // a bookmark has no name
	if len(items) == 0 {
		return nil
	}
	o := observationOf(obj)
	o.gone = event.Type == watch.Deleted
	for i := range items {
		i.enqueue(o)
	}
	return nil
}

// poll reads the awaited objects at intervals.
func (s *stream) poll(ctx context.Context, a attempt) (healthy bool, err error) {
	for {
		names := s.awaitedNames()
		if len(names) == 0 {
			return healthy, nil
		}
		readings, err := s.reader.readPartially(ctx, names)
		if err != nil {
			return healthy, err
		}
		if !s.handleReads(a, readings) {
			return healthy, errRestarted
		}
		healthy = true
		if !sleep(ctx, s.watcher.config.PollInterval) {
			return healthy, ctx.Err()
		}
	}
}

// awaitedNames returns the names of the objects that somebody waits for.
func (s *stream) awaitedNames() []string {
	s.watcher.mu.Lock()
	defer s.watcher.mu.Unlock()
	var names []string
	for name, items := range s.items {
		for i := range items {
			if i.attached {
				names = append(names, name)
				break
			}
		}
	}
	return names
}

// handleReads delivers the results of reads. It reports false if the attempt has ended.
func (s *stream) handleReads(a attempt, readings map[string]readResult) bool {
	s.watcher.mu.Lock()
	defer s.watcher.mu.Unlock()
	if !s.markConnected(a, time.Now()) {
		return false
	}
	for name, one := range readings {
		for i := range s.items[name] {
			switch {
			case !i.attached:
			case one.forbidden != nil:
				i.forbidden = s.forbidden(i, "get", one.forbidden)
				i.group.notify(i)
			default:
				i.enqueue(one.observation())
			}
		}
	}
	return true
}

// readAwaited reads the objects that the watch should have reported. It reports whether
// that worked, or was not needed because nobody waits.
func (s *stream) readAwaited(ctx context.Context, a attempt) bool {
	names := s.awaitedNames()
	if len(names) == 0 {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, responseTimeout)
	defer cancel()
	readings, err := s.reader.readPartially(ctx, names)
	if err != nil {
		return false
	}
	s.watcher.mu.Lock()
	defer s.watcher.mu.Unlock()
	return a.epoch == s.epoch && s.usePolledObservation(readings)
}

// usePolledObservation delivers the results of reads, and reports whether they are
// complete. The caller holds mu.
func (s *stream) usePolledObservation(readings map[string]readResult) bool {
	complete := true
	for name, one := range readings {
		for i := range s.items[name] {
			switch {
			case !i.attached:
			case one.forbidden != nil: // this does not end the wait, because watching is allowed
				complete = false
			default:
				i.enqueue(one.supplementaryObservation())
				if i.incomparable { // later events of the watch may be older than the read
					s.version = ""
				}
			}
		}
	}
	if !complete {
		return false
	}
	if !s.unreachable {
		s.outageStart = time.Time{}
	}
	s.markRestored(time.Now())
	return true
}

// readNow reads objects and delivers newer versions. A watch can run at the same time. Its
// events count if they arrive first. Objects that cannot be read in time are skipped.
func (s *stream) readNow(ctx context.Context, names []string) {
	marks := s.positions(names)
	if len(marks) == 0 {
		return
	}
	ctx, stop := s.watcher.withResponseTimeout(ctx)
	defer stop()
	readings, err := s.reader.readPartially(ctx, names)
	if err != nil {
		return
	}
	s.watcher.mu.Lock()
	defer s.watcher.mu.Unlock()
	for i, m := range marks {
		one, ok := readings[i.target.Name]
		if ok && i.attached && one.forbidden == nil && (m == i.position() || before(i.latestVersion, one.version)) {
			i.enqueue(one.supplementaryObservation())
		}
	}
}

// position identifies the last observation of an item.
type position struct {
	latestVersion string
	gone          bool
}

func (i *item) position() position { return position{i.latestVersion, i.gone} }

// positions returns the positions of the items that somebody waits for.
func (s *stream) positions(names []string) map[*item]position {
	s.watcher.mu.Lock()
	defer s.watcher.mu.Unlock()
	marks := map[*item]position{}
	for _, name := range names {
		for i := range s.items[name] {
			if i.attached {
				marks[i] = i.position()
			}
		}
	}
	return marks
}

// withResponseTimeout limits the duration of a read. The read also ends when the watcher is
// closed.
func (w *Watcher) withResponseTimeout(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithTimeout(ctx, responseTimeout)
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-w.done:
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		cancel()
		wg.Wait()
	}
}

// markOpened records that a watch was opened, at a time.
func (s *stream) markOpened(a attempt, since time.Time) bool {
	s.watcher.mu.Lock()
	defer s.watcher.mu.Unlock()
	return s.markConnected(a, since)
}
