// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"context"
	"sync"
	"time"
)

// failureWindow is the time to wait for more leaves to fail after the first failure, so
// that failures with the same cause are reported together.
const failureWindow = 500 * time.Millisecond

// leafWaits are the waits for leaves, the nodes without dependents. They run in the
// background while other nodes are deployed.
type leafWaits struct {
	running sync.WaitGroup
	// failed is closed when an object of a leaf has failed.
	failed   chan struct{}
	failOnce sync.Once
	// applied is closed when all nodes are applied.
	applied chan struct{}

	mu     sync.Mutex
	cancel []context.CancelCauseFunc
}

func newLeafWaits() *leafWaits {
	return &leafWaits{failed: make(chan struct{}), applied: make(chan struct{})}
}

// start calls wait in the background, with a context that stop cancels.
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

// stop stops all waits, and returns when they have ended.
func (l *leafWaits) stop(cause error) {
	l.mu.Lock()
	for _, cancel := range l.cancel {
		cancel(cause)
	}
	l.mu.Unlock()
	l.running.Wait()
}

// wait returns when all leaves are ready, or one has failed. It is called once, when all
// nodes are applied.
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
		l.stop(errOtherFailure)
		<-done
	}
}
