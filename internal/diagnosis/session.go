// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
)

// maxBriefRequests limits the requests of a call of DiagnoseBriefly.
const maxBriefRequests = 3

// errLimitReached is returned when a limit allows no further request.
var errLimitReached = errors.New("no requests left")

// session is one call of Diagnose or DiagnoseBriefly. It sends each request only once.
type session struct {
	*Diagnoser
	remaining *atomic.Int64 // requests

	mu        sync.Mutex
	responses map[string]*response
}

type response struct {
	done  chan struct{}
	value any
	err   error
}

func newSession(d *Diagnoser, remaining *atomic.Int64) *session {
	return &session{Diagnoser: d, remaining: remaining, responses: map[string]*response{}}
}

// cachedRequest sends a request, unless an equal one was sent before. Then it waits for
// the response to that one. It returns when the context ends.
func cachedRequest[T any](ctx context.Context, s *session, question string, request func(context.Context) (T, error)) (T, error) {
	var none T
	s.mu.Lock()
	a, asked := s.responses[question]
	if !asked {
		a = &response{done: make(chan struct{})}
		s.responses[question] = a
	}
	s.mu.Unlock()
	if !asked {
		a.value, a.err = limitedRequest(ctx, s, request)
		close(a.done)
	}
	select {
	case <-a.done:
	case <-ctx.Done():
		return none, ctx.Err()
	}
	if a.err != nil {
		return none, a.err
	}
	value, _ := a.value.(T)
	return value, nil
}

// limitedRequest sends a request within the limits.
func limitedRequest[T any](ctx context.Context, s *session, request func(context.Context) (T, error)) (T, error) {
	var none T
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return none, ctx.Err()
	}
	if ctx.Err() != nil {
		return none, ctx.Err()
	}
	if s.remaining.Add(-1) < 0 {
		return none, errLimitReached
	}
	return request(ctx)
}
