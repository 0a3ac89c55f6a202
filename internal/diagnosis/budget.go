// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
)

// peekRequests is how many requests one Peek may send.
const peekRequests = 3

// errSpent says that a limit leaves no room for another request.
var errSpent = errors.New("no requests left")

// session is one call of Explain or Peek. It asks the server nothing twice.
type session struct {
	*Diagnoser
	left *atomic.Int64 // requests

	mu      sync.Mutex
	answers map[string]*answer
}

type answer struct {
	known chan struct{}
	value any
	err   error
}

func newSession(d *Diagnoser, left *atomic.Int64) *session {
	return &session{Diagnoser: d, left: left, answers: map[string]*answer{}}
}

// ask sends the request unless the question was asked before; then it waits for
// that answer. It returns when the context ends.
func ask[T any](ctx context.Context, s *session, question string, request func(context.Context) (T, error)) (T, error) {
	var none T
	s.mu.Lock()
	a, asked := s.answers[question]
	if !asked {
		a = &answer{known: make(chan struct{})}
		s.answers[question] = a
	}
	s.mu.Unlock()
	if !asked {
		a.value, a.err = send(ctx, s, request)
		close(a.known)
	}
	select {
	case <-a.known:
	case <-ctx.Done():
		return none, ctx.Err()
	}
	if a.err != nil {
		return none, a.err
	}
	value, _ := a.value.(T)
	return value, nil
}

// send sends a request within the limits.
func send[T any](ctx context.Context, s *session, request func(context.Context) (T, error)) (T, error) {
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
	if s.left.Add(-1) < 0 {
		return none, errSpent
	}
	return request(ctx)
}
