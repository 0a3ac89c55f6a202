// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"context"
	"fmt"
	"time"

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
		readings, err := part.stream.readUntilResponse(ctx, part.names())
		if err != nil {
			return err
		}
		g.watcher.mu.Lock()
		for _, i := range part.objects {
			if result := readings[i.target.Name]; result.Forbidden != nil {
				i.forbidden = part.stream.reachability.forbidden(i, result.Forbidden)
			} else {
				i.setBaseline(observation.OfRead(result.Object, result.Version))
			}
		}
		g.watcher.mu.Unlock()
	}
	return nil
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
// server stops responding, record sends NoticeUnreachable, and when it responds again,
// NoticeReachable.
func (r *initialRead) record(err error) {
	r.reachability.watcher.mu.Lock()
	defer r.reachability.watcher.mu.Unlock()
	if err == nil {
		r.clear()
		r.reachability.notify(NoticeReachable, nil)
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
