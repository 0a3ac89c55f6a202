// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"sync"
	"time"

	"helm.sh/helm/v3/pkg/release"
)

const (
	// progressInterval is the minimum interval between writes of the progress.
	progressInterval = time.Second
	// RenewInterval is the interval at which the lease of a release is renewed.
	RenewInterval = 10 * time.Second
)

// BackgroundWriter stores the progress and other changes of a release while an operation
// runs, and renews its lease. The operation does not wait for these writes, and they do not
// fail it: errors are only logged.
type BackgroundWriter struct {
	current  *workingCopy
	updater  *updater
	progress *Progress
	log      func(string, ...any)
	// requests triggers a write.
	requests chan struct{}
	// Closing stop ends the background writes; stop is nil if there are none.
	stop    chan struct{}
	running sync.WaitGroup
}

// Start begins to store progress and other changes in the background, until Stop.
func (b *BackgroundWriter) Start() {
	stop := make(chan struct{})
	b.stop = stop
	b.running.Go(func() { b.run(stop) })
}

// Stop stops the background writes. It returns when no write is in progress.
func (b *BackgroundWriter) Stop() {
	if b.stop != nil {
		close(b.stop)
		b.stop = nil
		b.running.Wait()
	}
}

// WriteSoon calls change with the release, and stores the release in the background:
// immediately, or together with other changes within progressInterval. It is for changes
// that soon become obsolete, and must only be called between Start and Stop.
func (b *BackgroundWriter) WriteSoon(change func(*release.Release)) {
	b.current.change(change)
	b.current.requestWrite()
	select {
	case b.requests <- struct{}{}:
	default: // a write is already requested
	}
}

// run stores changes at most once in progressInterval, until stop is closed. The first
// write is after one interval, unless a write is requested earlier.
func (b *BackgroundWriter) run(stop <-chan struct{}) {
	pause := time.NewTimer(progressInterval)
	defer pause.Stop()
	renewal := time.NewTicker(RenewInterval)
	defer renewal.Stop()
	for requests := b.requests; ; {
		select {
		case <-stop: // the select below may choose another case
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

// Flush stores the progress and the changes that are not stored yet. It returns when they
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

// renew stores the release with a new heartbeat in its lease, if the operation still has
// the lock. It does nothing for a release that is not locked.
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
