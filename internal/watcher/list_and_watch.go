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

	"github.com/ordered-helm/helm/internal/timing"
	"github.com/ordered-helm/helm/internal/watcher/objectreader"
	"github.com/ordered-helm/helm/internal/watcher/observation"
)

const (
	// responseTimeout limits the time until the API server responds to a watch request. It
	// also limits reads that check whether the API server responds.
	responseTimeout = 5 * time.Second
	// maxSilence is how long an open watch can deliver no events before its objects are
	// read in addition. Some proxies delay the events of a watch.
	maxSilence = 15 * time.Second
)

// watchAttempt is one attempt of a stream to observe its objects. It lists them if necessary,
// and then watches or polls them until an error occurs or the stream cancels the attempt.
// epoch, version and polling are copies of the stream's fields at the start of the attempt.
type watchAttempt struct {
	stream  *stream
	epoch   int
	version string
	polling bool

	// These fields are set at the end. err says why the attempt ended. healthy is true if
	// the attempt was successful for a while, so that the next one can start without delay.
	err     error
	healthy bool
	endedAt time.Time
}

// run performs the attempt, and sets the fields err, healthy and endedAt.
func (a *watchAttempt) run(ctx context.Context) {
	a.healthy, a.err = a.observe(ctx)
	a.endedAt = time.Now()
}

// observe polls the objects, or lists them if necessary and watches them. It returns the
// values of the fields healthy and err.
func (a *watchAttempt) observe(ctx context.Context) (healthy bool, err error) {
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

// isCurrent reports whether this is still the stream's latest attempt. If the stream was
// restarted, the results are dropped. The caller must have locked the watcher's mu.
func (a *watchAttempt) isCurrent() bool { return a.epoch == a.stream.epoch }

// list lists the objects of the stream, delivers the results, and returns the resource
// version from which to watch.
func (a *watchAttempt) list(ctx context.Context) (version string, err error) {
	s := a.stream
	listed, version, err := s.reader.List(ctx)
	if err != nil && !apierrors.IsNotFound(err) {
		return "", err
	}
	// NotFound means that the API server does not serve the resource: no object exists.
	s.watcher.mu.Lock()
	defer s.watcher.mu.Unlock()
	if !a.isCurrent() {
		return "", errRestarted
	}
	for name, objects := range s.objects {
		o := observation.OfRead(listed[name], version)
		for i := range objects {
			if err == nil || i.awaited {
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
// if the watch delivered an event or lasted for at least healthyWatchDuration.
func (a *watchAttempt) watch(ctx context.Context, version string) (healthy bool, err error) {
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
			if !a.markWatchOpened(since) {
				return healthy, errRestarted
			}
		case <-silent.C:
			a.stream.readNow(ctx, a.stream.awaitedNames())
			silent.Reset(maxSilence)
		case event, open := <-w.ResultChan():
			if !open {
				return healthy || time.Since(since) >= healthyWatchDuration, errStreamEnded
			}
			if event.Type != watch.Error && !healthy && !a.markWatchOpened(since) {
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

// open opens a watch from version. It fails if the API server does not respond within
// responseTimeout. The caller must call the returned function to close the watch.
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
		for range w.ResultChan() { // it is closed when the goroutine of the watch has ended
		}
	}
	switch {
	case !inTime:
		end()
		return nil, nil, errNoResponse
	case err != nil:
		end()
		return nil, nil, err
	}
	return w, end, nil
}

// handleEvent delivers an event of a watch to all groups that wait for the object. It returns
// an error if the watch must end.
func (a *watchAttempt) handleEvent(event watch.Event) error {
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
	objects := s.objects[obj.GetName()] // a bookmark has no name
	if len(objects) == 0 {
		return nil
	}
	o := observation.Of(obj)
	o.Gone = event.Type == watch.Deleted
	for i := range objects {
		i.enqueue(o)
	}
	return nil
}

// poll reads the objects for which a group waits at intervals, until there are none left or a
// request fails. healthy is true if a request was successful.
func (a *watchAttempt) poll(ctx context.Context) (healthy bool, err error) {
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
		if !timing.Sleep(ctx, pollInterval) {
			return healthy, ctx.Err()
		}
	}
}

// handleReads delivers what poll has read; readings contains the results by object name. It
// returns false if the stream was restarted after the attempt began.
func (a *watchAttempt) handleReads(readings map[string]objectreader.Result) bool {
	s := a.stream
	s.watcher.mu.Lock()
	defer s.watcher.mu.Unlock()
	if !a.markConnected(time.Now()) {
		return false
	}
	for name, result := range readings {
		for i := range s.objects[name] {
			switch {
			case !i.awaited:
			case result.Forbidden != nil:
				i.forbidden = s.reachability.forbidden(i, result.Forbidden)
				i.group.notify(i)
			default:
				i.enqueue(observation.OfRead(result.Object, result.Version))
			}
		}
	}
	return true
}

// markWatchOpened records that the watch was opened at the time since. It returns false if the
// stream was restarted after the attempt began.
func (a *watchAttempt) markWatchOpened(since time.Time) bool {
	a.stream.watcher.mu.Lock()
	defer a.stream.watcher.mu.Unlock()
	return a.markConnected(since)
}

// markConnected records that the attempt has been successful from the time since. It returns
// false if the stream was restarted after the attempt began. The caller must have locked the
// watcher's mu.
func (a *watchAttempt) markConnected(since time.Time) bool {
	if !a.isCurrent() {
		return false
	}
	a.stream.shortWatches = 0
	a.stream.reachability.markRestored(since)
	return true
}
