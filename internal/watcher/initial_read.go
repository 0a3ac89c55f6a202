// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/ordered-helm/helm/internal/watcher/notice"
	"github.com/ordered-helm/helm/internal/watcher/objectreader"
	"github.com/ordered-helm/helm/internal/watcher/observation"
)

// readWithoutBaseline reads the targets for which Applied was not called, such as objects
// that are deleted. The version that it reads becomes the baseline: as with the written
// version of other targets, only newer observations count.
func (g *TargetGroup) readWithoutBaseline(ctx context.Context) error {
	g.watcher.mu.Lock()
	parts := g.byStream(func(i *watchedObject) bool { return !i.queue.HasBaseline() })
	g.watcher.mu.Unlock()
	for _, part := range parts {
		from := ""
		if g.unwritten {
			from = part.stream.coverReads(part.objects)
		}
		readings, err := part.stream.readUntilResponse(ctx, part.names())
		if err != nil {
			return err
		}
		g.watcher.mu.Lock()
		for _, i := range part.objects {
			switch result := readings[i.target.Name]; {
			case result.Forbidden != nil:
				i.forbidden = part.stream.reachability.forbidden(i, result.Forbidden)
			case g.unwritten && result.Object == nil:
				i.setMissing(cmp.Or(result.Version, from))
			default:
				i.setBaseline(observation.OfRead(result.Object, result.Version))
			}
		}
		g.watcher.mu.Unlock()
	}
	return nil
}

// coverReads records that the stream, if it is watching, delivers all changes of the given objects
// after a read that has not begun yet. It returns a resource version that is not newer than the
// result of such a read, or "" if none is known.
func (s *stream) coverReads(objects []*watchedObject) (from string) {
	s.watcher.mu.Lock()
	defer s.watcher.mu.Unlock()
	if !s.running || s.polling {
		return ""
	}
	for _, i := range objects {
		i.coverage = s.coverage
	}
	return s.version
}

// setMissing sets the baseline of an object that a read did not find. version is the resource
// version of the read, or an older one. If it is empty, the first observation that the stream has
// delivered since the object was registered is the baseline, if there is one: it is not older than
// the read by more than the duration of the read, and later changes follow it. The caller must
// have locked the watcher's mu.
func (i *watchedObject) setMissing(version string) {
	if version == "" && i.queue.Len() > 0 {
		i.queue.StartWithQueued()
		i.group.notify(i)
		return
	}
	i.setBaseline(observation.OfRead(nil, version))
}

// readUntilResponse reads objects, and retries until the API server responds, ctx is done,
// or the Watcher is closed.
func (s *stream) readUntilResponse(ctx context.Context, names []string) (map[string]objectreader.Result, error) {
	pause := retryBackoff()
	state := initialRead{reachability: &s.reachability}
	defer state.end()
	for {
		readings, err := s.reader.Read(ctx, names)
		if ctx.Err() == nil {
			state.record(err)
		}
		if err == nil {
			return readings, nil
		}
		select {
		case <-time.After(pause.Step()):
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-s.watcher.done:
			return nil, s.watcher.stopCause(ctx)
		}
	}
}

// initialRead records for one call of readUntilResponse whether its last request failed.
// While failing is true, the call is included in reachability.failingReads.
type initialRead struct {
	reachability *reachability
	failing      bool
}

// record records the result of one request. err is nil if the server responded. When the
// server stops responding, record sends notice.Unreachable, and when it responds again,
// notice.Reachable.
func (r *initialRead) record(err error) {
	r.reachability.watcher.mu.Lock()
	defer r.reachability.watcher.mu.Unlock()
	if err == nil {
		r.clear()
		r.reachability.notify(notice.Reachable, nil)
		return
	}
	r.reachability.notifyUnreachable(err)
	if !r.failing {
		r.failing = true
		r.reachability.failingReads++
	}
}

// end makes the call no longer count in reachability.failingReads. It must be called after the
// last request.
func (r *initialRead) end() {
	r.reachability.watcher.mu.Lock()
	defer r.reachability.watcher.mu.Unlock()
	r.clear()
}

func (r *initialRead) clear() {
	if r.failing {
		r.failing = false
		r.reachability.failingReads--
	}
}
