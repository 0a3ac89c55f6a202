// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"context"
	"fmt"
	"time"
)

// readWithoutBaseline reads the targets for which Applied was not called, for example
// objects that the operation does not write. Later observations are compared with the
// version that it read, as they are with the version that was written for other targets.
func (g *Group) readWithoutBaseline(ctx context.Context) error {
	g.watcher.mu.Lock()
	parts := g.byStream(func(i *item) bool { return !i.hasBaseline })
	g.watcher.mu.Unlock()
	for _, part := range parts {
		readings, err := part.stream.readUntilAnswered(ctx, part.names())
		if err != nil {
			return err
		}
		g.watcher.mu.Lock()
		for _, i := range part.items {
			if one := readings[i.target.Name]; one.forbidden != nil {
				i.forbidden = part.stream.forbidden(i, "get", one.forbidden)
			} else {
				i.setBaseline(one.observation())
			}
		}
		g.watcher.mu.Unlock()
	}
	return nil
}

// readUntilAnswered reads objects, and retries until the API server responds, ctx is done,
// or the Watcher is closed.
func (s *stream) readUntilAnswered(ctx context.Context, names []string) (map[string]readResult, error) {
	pause := retryBackoff()
	var state initialRead
	defer func() { state.end(s) }()
	for {
		readings, err := s.reader.read(ctx, names)
		if ctx.Err() == nil {
			state.record(s, err)
		}
		if err == nil {
			return readings, nil
		}
		retry := time.NewTimer(pause.Step())
		select {
		case <-retry.C:
		case <-ctx.Done():
			retry.Stop()
			return nil, fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-s.watcher.done:
			retry.Stop()
			return nil, s.watcher.stopCause(ctx)
		}
	}
}

// initialRead records for one call of readUntilAnswered whether the API server does not
// respond. While failing is true, the stream counts the call in failingReads, and so counts
// as unreachable.
type initialRead struct{ failing bool }

// record records the result of one attempt to read: err is nil if the server responded. It
// emits NoticeUnreachable and NoticeReachable.
func (f *initialRead) record(s *stream, err error) {
	s.watcher.mu.Lock()
	defer s.watcher.mu.Unlock()
	if err == nil {
		f.clear(s)
		s.watcher.notify(s.notice(NoticeReachable, nil))
		return
	}
	isFirst := !s.watcher.hasUnreachableStream()
	if !f.failing {
		f.failing = true
		s.failingReads++
	}
	if isFirst {
		s.watcher.notify(s.notice(NoticeUnreachable, err))
	}
}

// end must be called when no further attempt follows.
func (f *initialRead) end(s *stream) {
	s.watcher.mu.Lock()
	defer s.watcher.mu.Unlock()
	f.clear(s)
}

func (f *initialRead) clear(s *stream) {
	if f.failing {
		f.failing = false
		s.failingReads--
	}
}
