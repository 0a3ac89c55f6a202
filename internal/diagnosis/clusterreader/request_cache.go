// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package clusterreader sends the read requests of package diagnosis. It limits the number of
// requests, and sends each request only once.
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

// ErrLimitReached is returned for a request that is not sent because it would exceed the
// total of a RequestLimit.
var ErrLimitReached = errors.New("the limit of requests is reached")

// errNoClient is returned for a request whose client is nil in Clients.
var errNoClient = errors.New("there is no client for this request")

// Clients holds the clients that send the requests. Each of them can be nil; requests that
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

// RequestLimit limits how many requests are sent in total, and how many of them in parallel.
// Several caches can share a RequestLimit.
type RequestLimit struct {
	slots     chan struct{}
	remaining atomic.Int64
}

// NewRequestLimit returns a RequestLimit. total is the maximum number of requests in total,
// and parallel the maximum number of requests in parallel.
func NewRequestLimit(total, parallel int) *RequestLimit {
	l := &RequestLimit{slots: make(chan struct{}, parallel)}
	l.remaining.Store(int64(total))
	return l
}

// WithTotal returns a RequestLimit with another total that shares the limit of parallel
// requests with l.
func (l *RequestLimit) WithTotal(total int) *RequestLimit {
	other := &RequestLimit{slots: l.slots}
	other.remaining.Store(int64(total))
	return other
}

// RequestCache caches the responses to the requests of one diagnosis, so that it sends each
// request only once. It is safe for concurrent use.
type RequestCache struct {
	clients Clients
	limit   *RequestLimit

	mu        sync.Mutex
	responses map[string]*response
}

// response is the result of a request. done is closed when value and err are set.
type response struct {
	done  chan struct{}
	value any
	err   error
}

// NewRequestCache returns a RequestCache that has not sent a request yet.
func NewRequestCache(clients Clients, limit *RequestLimit) *RequestCache {
	return &RequestCache{clients: clients, limit: limit, responses: map[string]*response{}}
}

// cached returns the result of a request, which key identifies. Only the first call with a
// key calls request; all other calls wait for the same result. cached returns early if ctx is
// done.
func cached[T any](ctx context.Context, s *RequestCache, key string, request func(context.Context) (T, error)) (T, error) {
	var none T
	s.mu.Lock()
	r, sent := s.responses[key]
	if !sent {
		r = &response{done: make(chan struct{})}
		s.responses[key] = r
	}
	s.mu.Unlock()
	if !sent {
		r.value, r.err = limited(ctx, s.limit, request)
		close(r.done)
	}
	select {
	case <-r.done:
	case <-ctx.Done():
		return none, ctx.Err()
	}
	if r.err != nil {
		return none, r.err
	}
	value, _ := r.value.(T)
	return value, nil
}

// limited waits until l allows another parallel request, and calls request. It returns
// ErrLimitReached instead if the total of l is reached.
func limited[T any](ctx context.Context, l *RequestLimit, request func(context.Context) (T, error)) (T, error) {
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
