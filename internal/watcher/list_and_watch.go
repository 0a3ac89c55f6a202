// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/ordered-helm/helm/internal/clock"
	"github.com/ordered-helm/helm/internal/watcher/objectreader"
	"github.com/ordered-helm/helm/internal/watcher/observations"
)

const (
	// responseTimeout limits the time until the server responds to the request for a watch,
	// and the duration of reads that check a watch.
	responseTimeout = 5 * time.Second
	// maxSilence is how long an open watch can be without events before its objects are
	// read in addition, because some proxies delay the events of a watch.
	maxSilence = 15 * time.Second
)

// attempt is one try of a stream to observe its objects: it lists them if necessary, and then
// watches or polls them until it fails or is interrupted. epoch, version and polling are
// those of the stream at the start of the attempt.
type attempt struct {
	stream  *stream
	epoch   int
	version string
	polling bool

	// Set at the end of the attempt. err is why it ended. healthy is true if it worked for a
	// while before, so that the next attempt can start without delay.
	err     error
	healthy bool
	endedAt time.Time
}

// run performs the attempt, and sets why and when it ended.
func (a *attempt) run(ctx context.Context) {
	a.healthy, a.err = a.observe(ctx)
	a.endedAt = time.Now()
}

// observe lists, watches or polls the objects. It returns the fields healthy and err.
func (a *attempt) observe(ctx context.Context) (healthy bool, err error) {
	if a.polling {
		return a.poll(ctx)
	}
	version := a.version
	if version == "" {
		if version, err = a.list(ctx); err != nil {
			return false, err
		}
	}
	return a.watch(ctx, version)
}

// isCurrent reports whether the stream was not restarted since the attempt began. Otherwise
// the results of the attempt do not count. The caller must have locked the watcher's mu.
func (a *attempt) isCurrent() bool { return a.epoch == a.stream.epoch }

// list lists the objects of the stream, delivers the result to the items, and returns the
// resource version from which to watch.
func (a *attempt) list(ctx context.Context) (version string, err error) {
	s := a.stream
	objects, version, err := s.reader.List(ctx)
	if err != nil && !apierrors.IsNotFound(err) {
		return "", err
	}
	// NotFound means that the API server does not serve the resource, so no object exists.
	s.watcher.mu.Lock()
	defer s.watcher.mu.Unlock()
	if !a.isCurrent() {
		return "", errRestarted
	}
	for name, items := range s.items {
		o := observations.OfRead(objects[name], version)
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
func (a *attempt) watch(ctx context.Context, version string) (healthy bool, err error) {
	w, end, err := a.stream.open(ctx, version)
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
			if !a.markOpened(since) {
				return healthy, errRestarted
			}
		case <-silent.C:
			a.stream.readNow(ctx, a.stream.awaitedNames())
			silent.Reset(maxSilence)
		case event, open := <-w.ResultChan():
			if !open {
				return healthy || time.Since(since) >= healthyWatchDuration, errStreamEnded
			}
			if event.Type != watch.Error && !healthy && !a.markOpened(since) {
				return false, errRestarted
			}
			if err := a.handleEvent(event); err != nil {
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
	w, err := s.client.Watch(ctx, metav1.ListOptions{ResourceVersion: version, AllowWatchBookmarks: true})
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
func (a *attempt) handleEvent(event watch.Event) error {
	s := a.stream
	if event.Type == watch.Error {
		return fmt.Errorf("watching: %w", apierrors.FromObject(event.Object))
	}
	obj, ok := event.Object.(*unstructured.Unstructured)
	if !ok {
		return fmt.Errorf("watching: unexpected event %s with a %T", event.Type, event.Object)
	}
	s.watcher.mu.Lock()
	defer s.watcher.mu.Unlock()
	if !a.isCurrent() {
		return errRestarted
	}
	if version := obj.GetResourceVersion(); version != "" {
		s.version = version
	}
	items := s.items[obj.GetName()] // a bookmark has no name
	if len(items) == 0 {
		return nil
	}
	o := observations.Of(obj)
	o.Gone = event.Type == watch.Deleted
	for i := range items {
		i.enqueue(o)
	}
	return nil
}

// poll reads the objects that somebody waits for at intervals, until there are none left or
// a request fails. healthy is true if a read was successful.
func (a *attempt) poll(ctx context.Context) (healthy bool, err error) {
	for {
		names := a.stream.awaitedNames()
		if len(names) == 0 {
			return healthy, nil
		}
		readings, err := a.stream.reader.ReadPartially(ctx, names)
		if err != nil {
			return healthy, err
		}
		if !a.handleReads(readings) {
			return healthy, errRestarted
		}
		healthy = true
		if !clock.Sleep(ctx, pollInterval) {
			return healthy, ctx.Err()
		}
	}
}

// handleReads delivers to attached items what poll has read; the keys of readings are
// names. It returns false if the stream was restarted after the attempt began.
func (a *attempt) handleReads(readings map[string]objectreader.Result) bool {
	s := a.stream
	s.watcher.mu.Lock()
	defer s.watcher.mu.Unlock()
	if !a.markConnected(time.Now()) {
		return false
	}
	for name, one := range readings {
		for i := range s.items[name] {
			switch {
			case !i.attached:
			case one.Forbidden != nil:
				i.forbidden = s.connection.forbidden(i, one.Forbidden)
				i.group.notify(i)
			default:
				i.enqueue(observations.OfRead(one.Object, one.Version))
			}
		}
	}
	return true
}

// markOpened records that the watch of the attempt has been open since a time. It returns
// false if the stream was restarted after the attempt began.
func (a *attempt) markOpened(since time.Time) bool {
	a.stream.watcher.mu.Lock()
	defer a.stream.watcher.mu.Unlock()
	return a.markConnected(since)
}

// markConnected records that the attempt has been successful since a time. It returns false
// if the stream was restarted after the attempt began. The caller must have locked the
// watcher's mu.
func (a *attempt) markConnected(since time.Time) bool {
	if !a.isCurrent() {
		return false
	}
	a.stream.shortWatches = 0
	a.stream.connection.markRestored(since)
	return true
}
