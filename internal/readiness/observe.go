// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
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
	w, err := s.reader.client.Watch(ctx, metav1.ListOptions{ResourceVersion: version, AllowWatchBookmarks: true})
	if err != nil {
		return false, fmt.Errorf("watching: %w", err)
	}
	defer func() {
		w.Stop()
		for range w.ResultChan() { // its goroutine has ended once this is closed
		}
	}()
	since := time.Now()
	granted := time.NewTimer(opening)
	defer granted.Stop()
	for {
		select {
		case <-ctx.Done():
			return healthy, ctx.Err()
		case <-granted.C:
			if !s.begins(l, since) {
				return healthy, errRestarted
			}
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
		}
	}
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
		readings, err := s.reader.read(ctx, names)
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

// begins notes that a watch was granted, at the time given.
func (s *stream) begins(l leg, since time.Time) bool {
	s.tracker.mu.Lock()
	defer s.tracker.mu.Unlock()
	return s.connected(l, since)
}
