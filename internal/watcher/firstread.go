// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"context"
	"fmt"
	"time"
)

// read gives every target that no write named a first observation.
func (g *Group) read(ctx context.Context) error {
	g.tracker.mu.Lock()
	parts := g.byStream(func(i *item) bool { return !i.known })
	g.tracker.mu.Unlock()
	for _, part := range parts {
		readings, err := part.stream.readUntilAnswered(ctx, part.names())
		if err != nil {
			return err
		}
		g.tracker.mu.Lock()
		for _, i := range part.items {
			if one := readings[i.target.Name]; one.denied != nil {
				i.denied = part.stream.forbidden(i, "get", one.denied)
			} else {
				i.begin(one.observation())
			}
		}
		g.tracker.mu.Unlock()
	}
	return nil
}

// readUntilAnswered tries until the API answers or nobody waits any more.
func (s *stream) readUntilAnswered(ctx context.Context, names []string) (map[string]reading, error) {
	pause := retryPause()
	var trouble firstRead
	defer func() { trouble.end(s) }()
	for {
		readings, err := s.reader.read(ctx, names)
		if ctx.Err() == nil {
			trouble.note(s, err)
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
		case <-s.tracker.done:
			retry.Stop()
			return nil, s.tracker.end(ctx)
		}
	}
}

// firstRead is whether a first reading counts as trouble of its stream.
type firstRead struct{ failing bool }

// note takes the outcome of an attempt.
func (f *firstRead) note(s *stream, err error) {
	s.tracker.mu.Lock()
	defer s.tracker.mu.Unlock()
	if err == nil {
		f.clear(s)
		s.tracker.notify(s.notice(NoticeReachable, nil))
		return
	}
	isFirst := !s.tracker.isLost()
	if !f.failing {
		f.failing = true
		s.firstReads++
	}
	if isFirst {
		s.tracker.notify(s.notice(NoticeUnreachable, err))
	}
}

// end is for when nobody reads any more.
func (f *firstRead) end(s *stream) {
	s.tracker.mu.Lock()
	defer s.tracker.mu.Unlock()
	f.clear(s)
}

func (f *firstRead) clear(s *stream) {
	if f.failing {
		f.failing = false
		s.firstReads--
	}
}
