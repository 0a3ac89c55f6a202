// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"context"
	"sync"
	"time"

	"github.com/ordered-helm/helm/internal/waitlimit"
)

// failureWindow is how long the waits for the other leaves continue after the first leaf has
// failed, so that failures with the same cause are reported in one error.
const failureWindow = 500 * time.Millisecond

// leafWaits waits for leaves in the background while other nodes are deployed. Leaves are the
// nodes of the deployment graph that have no dependents. When one leaf fails, the waits for
// all others are stopped.
type leafWaits struct {
	running sync.WaitGroup
	// failed is closed when an object of a leaf has failed.
	failed   chan struct{}
	failOnce sync.Once
	// applied is closed when the objects of all nodes have been written.
	applied chan struct{}

	// mu guards cancel, the functions that cancel the contexts of the waits.
	mu     sync.Mutex
	cancel []context.CancelCauseFunc
}

func newLeafWaits() *leafWaits {
	return &leafWaits{failed: make(chan struct{}), applied: make(chan struct{})}
}

// start calls wait in a new goroutine, with a context that leafWaits.stop cancels.
func (l *leafWaits) start(ctx context.Context, wait func(context.Context)) {
	ctx, cancel := context.WithCancelCause(ctx)
	l.mu.Lock()
	l.cancel = append(l.cancel, cancel)
	l.mu.Unlock()
	l.running.Go(func() {
		defer cancel(nil)
		wait(ctx)
	})
}

// fail records that an object of a leaf has failed.
func (l *leafWaits) fail() { l.failOnce.Do(func() { close(l.failed) }) }

// hasFailed reports whether an object of a leaf has failed.
func (l *leafWaits) hasFailed() bool {
	select {
	case <-l.failed:
		return true
	default:
		return false
	}
}

// stop cancels the contexts of all waits with cause, and returns when all waits have ended.
func (l *leafWaits) stop(cause error) {
	l.mu.Lock()
	for _, cancel := range l.cancel {
		cancel(cause)
	}
	l.mu.Unlock()
	l.running.Wait()
}

// wait returns when all background waits have ended. If a leaf fails, wait stops the other
// waits after failureWindow. It must be called once, after all nodes have been applied.
func (l *leafWaits) wait() {
	close(l.applied)
	done := make(chan struct{})
	go func() { l.running.Wait(); close(done) }()
	select {
	case <-done:
		return
	case <-l.failed:
	}
	window := time.NewTimer(failureWindow)
	defer window.Stop()
	select {
	case <-done:
	case <-window.C:
		l.stop(waitlimit.ErrOtherFailure)
		<-done
	}
}
