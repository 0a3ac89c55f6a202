// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package externalwait waits for external dependencies (package externalneed): objects and releases
// outside of a release that must be ready before parts of it are deployed (docs/reference.md,
// "External dependencies"). It only reads from the cluster.
//
// One Waiter serves a whole operation. Objects are watched with package watcher, with one watch for
// each API resource and namespace, which all waits share. Kinds that the cluster does not serve yet,
// and the status of releases, are read at intervals, also for all waits together.
package externalwait

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/externalneed"
	"github.com/ordered-helm/helm/internal/redact"
	"github.com/ordered-helm/helm/internal/releasestatus"
	"github.com/ordered-helm/helm/internal/watcher"
	"github.com/ordered-helm/helm/internal/watcher/notice"
)

// ErrClosed is the cause of an UnmetError if the Waiter was closed during the wait.
var ErrClosed = errors.New("the wait for external dependencies was ended")

// Releases reads the status of releases.
type Releases interface {
	// Newest returns the newest revision of a release, or a zero Revision if the release does not
	// exist.
	Newest(ctx context.Context, namespace, name string) (releasestatus.Revision, error)
	// Permission returns the permission that Newest needs in the namespace of the release.
	Permission() releasestatus.Permission
}

// Config holds the parameters of New.
type Config struct {
	// Cluster is the connection of the operation. If it is nil, because there is no cluster, all
	// objects count as ready.
	Cluster  *cluster.Connection
	Releases Releases
	// Namespace is the namespace of the release.
	Namespace string
	// Report, if not nil, is called when the status of a need has changed, by one goroutine at a
	// time. It must return quickly.
	Report func(Status)
	// Notify, if not nil, is called with the notices of the watcher. See watcher.Config.
	Notify func(notice.Notice)
	// Redactor, if not nil, returns what removes the contents of Secrets from causes.
	Redactor func() *redact.Redactor
	// WithoutTimeout, if not nil, calls its argument with a context that ends when the operation
	// is canceled, but not when it times out. It is used to find the causes of failures.
	WithoutTimeout func(func(context.Context))
}

// Waiter waits for the external dependencies of one operation. It is safe for concurrent use.
type Waiter struct {
	config   Config
	kinds    *kinds
	releases *releasePoll
	outages  *outages
	reports  sync.Mutex // held while Config.Report is called
	done     chan struct{}
	close    func()

	// mu guards the fields below. sharedWatcher creates the watcher.
	mu      sync.Mutex
	watcher *watcher.Watcher
	closed  bool
}

// New returns a Waiter. It sends no requests. The caller must call Close.
func New(c Config) *Waiter {
	done := make(chan struct{})
	w := &Waiter{config: c, outages: newOutages(), done: done, close: sync.OnceFunc(func() { close(done) })}
	w.releases = newReleasePoll(c.Releases)
	if c.Cluster != nil {
		w.kinds = newKinds(c.Cluster)
	}
	return w
}

// Close ends the watches. Waits that are still running fail with the cause ErrClosed. Close can be
// called more than once.
func (w *Waiter) Close() {
	w.close()
	w.mu.Lock()
	w.closed = true
	shared := w.watcher
	w.mu.Unlock()
	if shared != nil {
		shared.Close()
	}
}

// sharedWatcher returns the Watcher for all waits. The first call creates it. It does not end with
// ctx.
func (w *Waiter) sharedWatcher(ctx context.Context) (*watcher.Watcher, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, ErrClosed
	}
	if w.watcher == nil {
		client, err := w.config.Cluster.DynamicNoRetry()
		if err != nil {
			return nil, err
		}
		w.watcher = watcher.New(context.WithoutCancel(ctx), watcher.Config{Client: client, Notify: w.notice})
	}
	return w.watcher, nil
}

// notice records outages that the Watcher notices, and passes the notice on.
func (w *Waiter) notice(n notice.Notice) {
	switch n.Kind {
	case notice.Unreachable:
		w.outages.set(w, true)
	case notice.Reachable:
		w.outages.set(w, false)
	case notice.Polling:
	}
	if w.config.Notify != nil {
		w.config.Notify(n)
	}
}

// namespaceOf returns the namespace of a need, unless it is a cluster-scoped object.
func (w *Waiter) namespaceOf(n externalneed.Need) string {
	if n.Namespace != "" {
		return n.Namespace
	}
	return w.config.Namespace
}

// unique returns needs without duplicates, in the same order.
func unique(needs []externalneed.Need) []externalneed.Need {
	var list []externalneed.Need
	for _, n := range needs {
		if !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	return list
}
