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
	// responseTimeout limits the time until the server responds to the request for a watch,
	// and the duration of reads that check a watch.
	responseTimeout = 5 * time.Second
	// maxSilence is how long an open watch can be without events before its objects are
	// read in addition, because some proxies delay the events of a watch.
	maxSilence = 15 * time.Second
)

// list lists the objects of the stream, delivers the result to the items, and returns the
// resource version from which to watch.
func (s *stream) list(ctx context.Context, a attempt) (version string, err error) {
	objects, version, err := s.reader.list(ctx)
	if err != nil && !apierrors.IsNotFound(err) {
		return "", err
	}
	// NotFound means that the API server does not serve the resource, so no object exists.
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

// watch opens a watch from version, and delivers its events until it ends. healthy is true
// if it delivered an event or lasted for healthyWatchDuration.
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

// open opens a watch from version. It fails if the server does not respond within
// responseTimeout. The caller must call the returned function to end the watch.
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

// handleEvent delivers an event of a watch to the items of its object. It returns an error
// if the watch must end.
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

// poll reads the objects that somebody waits for at intervals, until there are none left or
// a request fails. healthy is true if a read was successful.
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
		if !sleep(ctx, pollInterval) {
			return healthy, ctx.Err()
		}
	}
}

// awaitedNames returns the names of the objects of attached items.
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

// handleReads delivers to attached items what poll has read; the keys of readings are
// names. It returns false if the stream was restarted after the attempt a began.
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

// readAwaited is called after a watch has failed. It reads the objects of attached items
// once, to find out whether the API server responds. It returns true if all of them were
// read, or if there are none.
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

// usePolledObservation delivers the results of readAwaited to attached items. It returns
// false if any object could not be read because of missing permissions. Otherwise the
// server responds, and the outage is finished. The caller must have locked the watcher's
// mu.
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

// position identifies the observation that an item accepted last. readNow compares
// positions to find out whether a watch delivered an event during a read.
type position struct {
	latestVersion string
	gone          bool
}

func (i *item) position() position { return position{i.latestVersion, i.gone} }

// positions returns the positions of the attached items with these names.
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

// withResponseTimeout returns a context that also ends after responseTimeout, or when the
// Watcher is closed. The caller must call the returned function.
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

// markOpened records that the watch of the attempt a has been open since a time. It returns
// false if the stream was restarted after the attempt began.
func (s *stream) markOpened(a attempt, since time.Time) bool {
	s.watcher.mu.Lock()
	defer s.watcher.mu.Unlock()
	return s.markConnected(a, since)
}
