// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"slices"
	"sync"
	"time"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/orderrecord"
)

const (
	// progressInterval is the minimum interval between writes of the progress.
	progressInterval = time.Second
	// RenewInterval is the interval at which the lease of a release is renewed.
	RenewInterval = 10 * time.Second
)

// progress collects the nodes that were started and finished since the release record was
// last updated. It has its own mutex, so that a slow write does not delay a node.
type progress struct {
	mu            sync.Mutex
	started, done []string
}

// NodeStarted records that the node with the given ID was started. The next write in the
// background stores it.
func (w *Writer) NodeStarted(node string) {
	w.progress.mu.Lock()
	defer w.progress.mu.Unlock()
	w.progress.started = append(w.progress.started, node)
}

// NodeDone records that the node with the given ID is finished. The next write in the
// background stores it.
func (w *Writer) NodeDone(node string) {
	w.progress.mu.Lock()
	defer w.progress.mu.Unlock()
	w.progress.done = append(w.progress.done, node)
}

// snapshot returns the collected nodes, and clears them.
func (p *progress) snapshot() (started, done []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	started, done = p.started, p.done
	p.started, p.done = nil, nil
	return started, done
}

// ExpectNodes resets the progress in the record: none of the given number of nodes is
// finished yet. removing says whether the nodes are deleted instead of deployed. The next
// write stores it.
func (w *Writer) ExpectNodes(nodes int, removing bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.rec == nil || !w.rec.Ordered {
		return nil
	}
	w.rec.Progress = &orderrecord.Progress{Revision: w.rel.Version, TotalNodes: nodes, Uninstalling: removing}
	return w.attach()
}

// updateRecord moves the collected progress into the record, and reports whether there was
// any. The caller must have locked mu.
func (w *Writer) updateRecord() bool {
	started, done := w.progress.snapshot()
	if w.rec == nil || w.rec.Progress == nil || len(started)+len(done) == 0 {
		return false
	}
	p := w.rec.Progress
	p.DoneNodes = union(p.DoneNodes, done)
	p.RunningNodes = slices.DeleteFunc(union(p.RunningNodes, started), func(node string) bool {
		_, done := slices.BinarySearch(p.DoneNodes, node)
		return done
	})
	return true
}

// union returns the elements of both lists, sorted and without duplicates.
func union(a, b []string) []string {
	both := slices.Concat(a, b)
	slices.Sort(both)
	return slices.Compact(both)
}

// FinishProgress is called when no more nodes will be deployed. If complete is true, all
// nodes are deployed, and FinishProgress removes the progress and the data about earlier
// revisions from the record. The next write stores the record.
func (w *Writer) FinishProgress(complete bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.rec == nil {
		return nil
	}
	w.updateRecord()
	if complete {
		w.rec.Progress, w.rec.Earlier = nil, nil
		if !w.rec.Ordered && !RunsHooksInParallel(w.rec.Charts) {
			w.rec = nil // the record was only needed for earlier revisions
		}
	}
	return w.attach()
}

// flusher stores progress and renews the lease in the background.
type flusher struct {
	// requests triggers a write. Closing stop ends the flusher; stop is nil if the flusher
	// is not running.
	requests chan struct{}
	stop     chan struct{}
	running  sync.WaitGroup
}

// Start begins to store progress and other changes in the background, until Stop.
func (w *Writer) Start() {
	stop := make(chan struct{})
	w.flusher.stop = stop
	w.flusher.running.Go(func() { w.flush(stop) })
}

// Stop stops the background writes. It returns when no write is in progress.
func (w *Writer) Stop() {
	if w.flusher.stop != nil {
		close(w.flusher.stop)
		w.flusher.stop = nil
		w.flusher.running.Wait()
	}
}

// WriteSoon calls change with the release, and stores the release in the background:
// immediately, or together with other changes within progressInterval. It is for changes
// that soon become obsolete, and must only be called between Start and Stop.
func (w *Writer) WriteSoon(change func(*release.Release)) {
	w.mu.Lock()
	change(w.rel)
	w.changes++
	w.writeRequested = true
	w.mu.Unlock()
	select {
	case w.flusher.requests <- struct{}{}:
	default: // a write is already requested
	}
}

// flush stores changes at most once in progressInterval, until stop is closed. The first
// write is after one interval, unless a write is requested earlier.
func (w *Writer) flush(stop <-chan struct{}) {
	pause := time.NewTimer(progressInterval)
	defer pause.Stop()
	var renewal <-chan time.Time
	if w.guard != nil {
		ticker := time.NewTicker(RenewInterval)
		defer ticker.Stop()
		renewal = ticker.C
	}
	for requests := w.flusher.requests; ; {
		select {
		case <-stop: // the select below may choose another case
			return
		default:
		}
		select {
		case <-renewal:
			w.renew()
			continue
		case <-requests:
			requests = nil
		case <-pause.C:
			requests = w.flusher.requests
		case <-stop:
			return
		}
		w.WriteProgress()
		pause.Reset(progressInterval)
	}
}

// WriteProgress stores the progress and the changes that are not stored yet. It only logs
// an error.
func (w *Writer) WriteProgress() {
	w.writing.Lock()
	defer w.writing.Unlock()
	w.mu.Lock()
	news := w.updateRecord()
	idle := !news && (w.changes == w.written || !w.writeRequested) // changes alone are not stored before the first requested write
	w.mu.Unlock()
	if idle {
		return
	}
	if err := w.write(); err != nil {
		w.store.log("warning: failed to record the progress of release %s: %s", w.rel.Name, err)
	}
}

// renew stores the release with a new heartbeat in its lease, if the operation still has
// the lock.
func (w *Writer) renew() {
	w.writing.Lock()
	defer w.writing.Unlock()
	err := w.guard.Confirm()
	if err == nil {
		err = w.write()
	}
	if err != nil {
		w.store.log("warning: failed to renew the lease of release %s: %s", w.rel.Name, err)
	}
}
