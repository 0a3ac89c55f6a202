// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package requests reads objects for a diagnosis. It limits the number of requests, and
// sends each request only once.
package requests

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
)

// ErrLimitReached is returned when the limit allows no further request.
var ErrLimitReached = errors.New("no requests left")

// errNoClient is returned if Clients has no client for a request.
var errNoClient = errors.New("no client")

// Clients sends the requests. Everything that needs a client that is nil fails.
type Clients struct {
	// Dynamic reads pods, events and other objects.
	Dynamic dynamic.Interface
	// Metadata checks whether objects exist. It reads only metadata, so that the contents
	// of Secrets are never read.
	Metadata metadata.Interface
	// Clientset reads the logs of pods.
	Clientset kubernetes.Interface
}

// Limit limits requests, in total and in parallel.
type Limit struct {
	slots     chan struct{}
	remaining atomic.Int64
}

// NewLimit returns a limit for the requests in total and in parallel.
func NewLimit(total, parallel int) *Limit {
	l := &Limit{slots: make(chan struct{}, parallel)}
	l.remaining.Store(int64(total))
	return l
}

// WithTotal returns a limit with another total that shares the limit of parallel requests.
func (l *Limit) WithTotal(total int) *Limit {
	other := &Limit{slots: l.slots}
	other.remaining.Store(int64(total))
	return other
}

// Session sends each request only once. It is safe for concurrent use.
type Session struct {
	clients Clients
	limit   *Limit

	mu        sync.Mutex
	responses map[string]*response
}

type response struct {
	done  chan struct{}
	value any
	err   error
}

// NewSession returns a session without responses.
func NewSession(clients Clients, limit *Limit) *Session {
	return &Session{clients: clients, limit: limit, responses: map[string]*response{}}
}

// cached sends a request, unless an equal one was sent before. In that case it waits for
// the response to the earlier request. It returns when the context ends.
func cached[T any](ctx context.Context, s *Session, question string, request func(context.Context) (T, error)) (T, error) {
	var none T
	s.mu.Lock()
	a, asked := s.responses[question]
	if !asked {
		a = &response{done: make(chan struct{})}
		s.responses[question] = a
	}
	s.mu.Unlock()
	if !asked {
		a.value, a.err = limited(ctx, s.limit, request)
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

// limited sends a request within the limit.
func limited[T any](ctx context.Context, l *Limit, request func(context.Context) (T, error)) (T, error) {
	var none T
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
	case <-ctx.Done():
		return none, ctx.Err()
	}
	if ctx.Err() != nil {
		return none, ctx.Err()
	}
	if l.remaining.Add(-1) < 0 {
		return none, ErrLimitReached
	}
	return request(ctx)
}
