// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"sync"
	"time"

	"helm.sh/helm/v3/pkg/release"
)

const (
	// progressInterval is the minimum time between two writes of the progress.
	progressInterval = time.Second
	// RenewInterval is the time between two renewals of the lease of a release.
	RenewInterval = 10 * time.Second
)

// BackgroundWriter stores the progress and other changes of a release while an operation
// runs, and renews the lease of the release. The operation does not wait for these writes,
// and does not fail if they fail: errors are only logged.
type BackgroundWriter struct {
	current  *workingCopy
	updater  *updater
	progress *Progress
	log      func(string, ...any)
	// requests wakes up run, which then writes.
	requests chan struct{}
	// stop is closed to end the background writes; it is nil if there are none.
	stop    chan struct{}
	running sync.WaitGroup
}

// Start starts the background writes. The caller must call Stop.
func (b *BackgroundWriter) Start() {
	stop := make(chan struct{})
	b.stop = stop
	b.running.Go(func() { b.run(stop) })
}

// Stop stops the background writes, and waits for a write that is in progress.
func (b *BackgroundWriter) Stop() {
	if b.stop != nil {
		close(b.stop)
		b.stop = nil
		b.running.Wait()
	}
}

// WriteSoon calls change with the release, and stores the release in the background:
// immediately, or with the next write if the last one was less than progressInterval ago. It
// must only be called between Start and Stop.
func (b *BackgroundWriter) WriteSoon(change func(*release.Release)) {
	b.current.change(change)
	b.current.requestWrite()
	select {
	case b.requests <- struct{}{}:
	default: // a write is already requested
	}
}

// run writes at most once in progressInterval, until stop is closed. Without a request, the
// first write is after one progressInterval.
func (b *BackgroundWriter) run(stop <-chan struct{}) {
	pause := time.NewTimer(progressInterval)
	defer pause.Stop()
	renewal := time.NewTicker(RenewInterval)
	defer renewal.Stop()
	for requests := b.requests; ; {
		select {
		case <-stop: // checked first, because the select below chooses a ready case at random
			return
		default:
		}
		select {
		case <-renewal.C:
			b.renew()
			continue
		case <-requests:
			requests = nil
		case <-pause.C:
			requests = b.requests
		case <-stop:
			return
		}
		b.Flush()
		pause.Reset(progressInterval)
	}
}

// Flush stores the progress and the changes that are not stored yet, and returns when they
// are stored.
func (b *BackgroundWriter) Flush() {
	err := b.updater.withLock(func() error {
		if progressed := b.progress.moveToRecord(); !progressed && !b.current.hasUnstoredChanges() {
			return nil
		}
		return b.updater.write()
	})
	if err != nil {
		b.log("warning: failed to record the progress of release %s: %s", b.current.rel.Name, err)
	}
}

// renew checks that the operation still has the lock, and stores the release with a new
// heartbeat. It does nothing if the release is not locked.
func (b *BackgroundWriter) renew() {
	err := b.updater.withLock(func() error {
		guard := b.current.currentGuard()
		if guard == nil {
			return nil
		}
		if err := guard.Confirm(); err != nil {
			return err
		}
		return b.updater.write()
	})
	if err != nil {
		b.log("warning: failed to renew the lease of release %s: %s", b.current.rel.Name, err)
	}
}
