// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"context"
	"fmt"
	"time"

	"github.com/ordered-helm/helm/internal/watcher/objectreader"
	"github.com/ordered-helm/helm/internal/watcher/observations"
)

// readWithoutBaseline reads the targets for which Applied was not called, for example
// objects that the operation does not write. Later observations are compared with the
// version that it read, as they are with the version that was written for other targets.
func (g *Group) readWithoutBaseline(ctx context.Context) error {
	g.watcher.mu.Lock()
	parts := g.byStream(func(i *item) bool { return !i.queue.HasBaseline() })
	g.watcher.mu.Unlock()
	for _, part := range parts {
		readings, err := part.stream.readUntilAnswered(ctx, part.names())
		if err != nil {
			return err
		}
		g.watcher.mu.Lock()
		for _, i := range part.items {
			if one := readings[i.target.Name]; one.Forbidden != nil {
				i.forbidden = part.stream.connection.forbidden(i, one.Forbidden)
			} else {
				i.setBaseline(observations.OfRead(one.Object, one.Version))
			}
		}
		g.watcher.mu.Unlock()
	}
	return nil
}

// readUntilAnswered reads objects, and retries until the API server responds, ctx is done,
// or the Watcher is closed.
func (s *stream) readUntilAnswered(ctx context.Context, names []string) (map[string]objectreader.Result, error) {
	pause := retryBackoff()
	state := initialRead{connection: &s.connection}
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

// initialRead records for one call of readUntilAnswered whether the API server does not
// respond. While failing is true, the connection counts the call in failingReads, and so
// counts as unreachable.
type initialRead struct {
	connection *connection
	failing    bool
}

// record records the result of one attempt to read: err is nil if the server responded. It
// sends NoticeUnreachable and NoticeReachable.
func (r *initialRead) record(err error) {
	r.connection.watcher.mu.Lock()
	defer r.connection.watcher.mu.Unlock()
	if err == nil {
		r.clear()
		r.connection.notify(NoticeReachable, nil)
		return
	}
	r.connection.notifyUnreachable(err)
	if !r.failing {
		r.failing = true
		r.connection.failingReads++
	}
}

// end must be called when no further attempt follows.
func (r *initialRead) end() {
	r.connection.watcher.mu.Lock()
	defer r.connection.watcher.mu.Unlock()
	r.clear()
}

func (r *initialRead) clear() {
	if r.failing {
		r.failing = false
		r.connection.failingReads--
	}
}
