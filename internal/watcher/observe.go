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
	// patience is how long a watch may take until it is answered, and a reading
	// in its place until it is complete.
	patience = 5 * time.Second
	// silence is for how long an open watch may tell nothing until what it should
	// tell is read: there are proxies that keep it back.
	silence = 15 * time.Second
)

// list gives every item the state of now and returns the version to watch from.
func (s *stream) list(ctx context.Context, l leg) (version string, err error) {
	objects, version, err := s.reader.list(ctx)
	if err != nil && !apierrors.IsNotFound(err) {
		return "", err
	}
	// A resource that is not served has no objects.
	s.tracker.mu.Lock()
	defer s.tracker.mu.Unlock()
	if l.epoch != s.epoch {
		return "", errRestarted
	}
	for name, items := range s.items {
		o := reading{object: objects[name], version: version}.observation()
		for i := range items {
			if err == nil || i.attached {
				i.push(o)
			}
		}
	}
	if err == nil {
		s.version = version
	}
	return version, err
}

// watch passes events on until the watch ends.
func (s *stream) watch(ctx context.Context, l leg, version string) (healthy bool, err error) {
	w, end, err := s.open(ctx, version)
	if err != nil {
		return false, fmt.Errorf("watching: %w", err)
	}
	defer end()
	since := time.Now()
	granted, silent := time.NewTimer(opening), time.NewTimer(silence)
	defer granted.Stop()
	defer silent.Stop()
	for {
		select {
		case <-ctx.Done():
			return healthy, ctx.Err()
		case <-granted.C:
			if !s.begins(l, since) {
				return healthy, errRestarted
			}
		case <-silent.C:
			s.look(ctx, s.awaited())
			silent.Reset(silence)
		case event, open := <-w.ResultChan():
			if !open {
				return healthy || time.Since(since) >= longWatch, errStreamEnded
			}
			if event.Type != watch.Error && !healthy && !s.begins(l, since) {
				return false, errRestarted
			}
			if err := s.take(l, event); err != nil {
				return healthy, err
			}
			healthy = true
			silent.Reset(silence)
		}
	}
}

// open starts a watch, unless nobody answers. The function returned ends it.
func (s *stream) open(ctx context.Context, version string) (watch.Interface, func(), error) {
	ctx, cancel := context.WithCancel(ctx)
	impatient := time.AfterFunc(patience, cancel)
	w, err := s.reader.client.Watch(ctx, metav1.ListOptions{ResourceVersion: version, AllowWatchBookmarks: true})
	inTime := impatient.Stop()
	end := func() {
		cancel()
		if err != nil {
			return
		}
		w.Stop()
		for range w.ResultChan() { // its goroutine has ended once this is closed
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

// take passes one event on to the items that it concerns.
func (s *stream) take(l leg, event watch.Event) error {
	if event.Type == watch.Error {
		return fmt.Errorf("watching: %w", apierrors.FromObject(event.Object))
	}
	obj, ok := event.Object.(*unstructured.Unstructured)
	if !ok {
		return fmt.Errorf("watching: unexpected event %s with a %T", event.Type, event.Object)
	}
	s.tracker.mu.Lock()
	defer s.tracker.mu.Unlock()
	if l.epoch != s.epoch {
		return errRestarted
	}
	if version := obj.GetResourceVersion(); version != "" {
		s.version = version
	}
	items := s.items[obj.GetName()] // a bookmark has no name
	if len(items) == 0 {
		return nil
	}
	o := seen(obj)
	o.gone = event.Type == watch.Deleted
	for i := range items {
		i.push(o)
	}
	return nil
}

// poll reads in intervals what somebody waits for.
func (s *stream) poll(ctx context.Context, l leg) (healthy bool, err error) {
	for {
		names := s.awaited()
		if len(names) == 0 {
			return healthy, nil
		}
		readings, err := s.reader.readSome(ctx, names)
		if err != nil {
			return healthy, err
		}
		if !s.takeReadings(l, readings) {
			return healthy, errRestarted
		}
		healthy = true
		if !sleep(ctx, s.tracker.config.PollInterval) {
			return healthy, ctx.Err()
		}
	}
}

func (s *stream) awaited() []string {
	s.tracker.mu.Lock()
	defer s.tracker.mu.Unlock()
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

// takeReadings passes readings on. It reports false when the leg is over.
func (s *stream) takeReadings(l leg, readings map[string]reading) bool {
	s.tracker.mu.Lock()
	defer s.tracker.mu.Unlock()
	if !s.connected(l, time.Now()) {
		return false
	}
	for name, one := range readings {
		for i := range s.items[name] {
			switch {
			case !i.attached:
			case one.denied != nil:
				i.denied = s.forbidden(i, "get", one.denied)
				i.group.wake(i)
			default:
				i.push(one.observation())
			}
		}
	}
	return true
}

// readInstead reads what the watch should have told. It reports whether that
// worked, or was not needed because nobody waits: then nothing is unobserved.
func (s *stream) readInstead(ctx context.Context, l leg) bool {
	names := s.awaited()
	if len(names) == 0 {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	readings, err := s.reader.readSome(ctx, names)
	if err != nil {
		return false
	}
	s.tracker.mu.Lock()
	defer s.tracker.mu.Unlock()
	return l.epoch == s.epoch && s.takeInstead(readings)
}

// takeInstead passes readings on, and reports whether they tell everything. The
// caller holds mu.
func (s *stream) takeInstead(readings map[string]reading) bool {
	complete := true
	for name, one := range readings {
		for i := range s.items[name] {
			switch {
			case !i.attached:
			case one.denied != nil: // no reason to give up: watching is allowed
				complete = false
			default:
				i.push(one.aside())
				if i.opaque { // what a watch tells later may be older
					s.version = ""
				}
			}
		}
	}
	if !complete {
		return false
	}
	if !s.lost {
		s.blindSince = time.Time{}
	}
	s.restored(time.Now())
	return true
}

// look reads the named objects now and passes on what is news. It needs no leg: a
// watch that is open may tell more meanwhile, and that counts then. What cannot
// be read within a few seconds changes nothing.
func (s *stream) look(ctx context.Context, names []string) {
	marks := s.marks(names)
	if len(marks) == 0 {
		return
	}
	ctx, stop := s.tracker.briefly(ctx)
	defer stop()
	readings, err := s.reader.readSome(ctx, names)
	if err != nil {
		return
	}
	s.tracker.mu.Lock()
	defer s.tracker.mu.Unlock()
	for i, m := range marks {
		one, ok := readings[i.target.Name]
		if ok && i.attached && one.denied == nil && (m == i.mark() || before(i.newest, one.version)) {
			i.push(one.aside())
		}
	}
}

// mark is how far an item has come.
type mark struct {
	newest string
	gone   bool
}

func (i *item) mark() mark { return mark{i.newest, i.gone} }

// marks tells how far those who wait for the names have come.
func (s *stream) marks(names []string) map[*item]mark {
	s.tracker.mu.Lock()
	defer s.tracker.mu.Unlock()
	marks := map[*item]mark{}
	for _, name := range names {
		for i := range s.items[name] {
			if i.attached {
				marks[i] = i.mark()
			}
		}
	}
	return marks
}

// briefly bounds the time that a reading may take. It ends with the tracker too.
func (t *Watcher) briefly(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-t.done:
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		cancel()
		wg.Wait()
	}
}

// begins notes that a watch was granted, at the time given.
func (s *stream) begins(l leg, since time.Time) bool {
	s.tracker.mu.Lock()
	defer s.tracker.mu.Unlock()
	return s.connected(l, since)
}
