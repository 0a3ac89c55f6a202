// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package clusterreader sends the read requests of package diagnosis. It limits their number,
// and sends each request only once.
package clusterreader

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
)

// ErrLimitReached is returned instead of sending a request that would exceed the total of a
// Limit.
var ErrLimitReached = errors.New("no requests left")

// errNoClient is returned if the client for a request is nil in Clients.
var errNoClient = errors.New("no client")

// Clients has the clients that send the requests. Each of them can be nil: requests that
// need it fail then.
type Clients struct {
	// Dynamic reads pods, events and other objects.
	Dynamic dynamic.Interface
	// Metadata checks whether objects exist. It reads only metadata, so that the contents
	// of Secrets are never read.
	Metadata metadata.Interface
	// Clientset reads the logs of pods.
	Clientset kubernetes.Interface
}

// Limit limits how many requests several sessions send together, in total and in parallel.
type Limit struct {
	slots     chan struct{}
	remaining atomic.Int64
}

// NewLimit returns a Limit that allows a total number of requests, of which only some run
// in parallel.
func NewLimit(total, parallel int) *Limit {
	l := &Limit{slots: make(chan struct{}, parallel)}
	l.remaining.Store(int64(total))
	return l
}

// WithTotal returns a Limit with its own total. Its parallel requests count together with
// those of l.
func (l *Limit) WithTotal(total int) *Limit {
	other := &Limit{slots: l.slots}
	other.remaining.Store(int64(total))
	return other
}

// Session caches the responses to the requests of one diagnosis, so that it sends each
// request only once. It is safe for concurrent use.
type Session struct {
	clients Clients
	limit   *Limit

	mu        sync.Mutex
	responses map[string]*response
}

// response is the response to a request. done is closed when value and err are set.
type response struct {
	done  chan struct{}
	value any
	err   error
}

// NewSession returns a Session that has not sent a request yet.
func NewSession(clients Clients, limit *Limit) *Session {
	return &Session{clients: clients, limit: limit, responses: map[string]*response{}}
}

// cached returns the response to a request. question identifies the request: only the first
// call for a question calls request, and the others wait for the response. cached returns
// early when ctx is done.
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

// limited calls request when l allows it. It returns ErrLimitReached if the total is
// exceeded.
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
