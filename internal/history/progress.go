// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"slices"
	"sync"
	"time"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/releaserecord"
)

const (
	// progressInterval is how often, at most, the release records its progress.
	progressInterval = time.Second
	// RenewInterval is how often the lease of a release is renewed.
	RenewInterval = 10 * time.Second
)

// progress collects the nodes that were started and finished since they were last
// recorded. It has a lock of its own: a write that takes its time must not delay a node.
type progress struct {
	mu            sync.Mutex
	started, done []string
}

// NodeStarted records, with the next write of the progress, that a node was started.
func (w *Writer) NodeStarted(node string) {
	w.progress.mu.Lock()
	defer w.progress.mu.Unlock()
	w.progress.started = append(w.progress.started, node)
}

// NodeDone records, with the next write of the progress, that a node is done.
func (w *Writer) NodeDone(node string) {
	w.progress.mu.Lock()
	defer w.progress.mu.Unlock()
	w.progress.done = append(w.progress.done, node)
}

// snapshot returns what was collected, and begins anew.
func (p *progress) snapshot() (started, done []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	started, done = p.started, p.done
	p.started, p.done = nil, nil
	return started, done
}

// ExpectNodes records, from the next write on, that none of so many nodes is done.
func (w *Writer) ExpectNodes(nodes int, removing bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.rec == nil || !w.rec.Ordered {
		return nil
	}
	w.rec.Progress = &releaserecord.Progress{Revision: w.rel.Version, TotalNodes: nodes, Uninstalling: removing}
	return w.attach()
}

// updateRecord puts the collected progress into the record, and reports whether there was
// any. The caller holds mu.
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

// union sorts the elements of both lists.
func union(a, b []string) []string {
	both := slices.Concat(a, b)
	slices.Sort(both)
	return slices.Compact(both)
}

// FinishProgress notes that all nodes are deployed, or that no more will be. The progress
// stays in the record, for the next write, unless it is complete: then there is nothing
// to remember.
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
			w.rec = nil // it was needed for earlier revisions only
		}
	}
	return w.attach()
}

// flusher writes progress and renews the lease in the background.
type flusher struct {
	// requests asks for a write; stop ends the flusher, and is nil while there is none.
	requests chan struct{}
	stop     chan struct{}
	running  sync.WaitGroup
}

// Start begins to store progress and changes in the background, until Stop.
func (w *Writer) Start() {
	stop := make(chan struct{})
	w.flusher.stop = stop
	w.flusher.running.Go(func() { w.flush(stop) })
}

// Stop ends what Start has begun. It returns when no write is under way.
func (w *Writer) Stop() {
	if w.flusher.stop != nil {
		close(w.flusher.stop)
		w.flusher.stop = nil
		w.flusher.running.Wait()
	}
}

// WriteSoon changes the release and has it stored in the background: at once, or together
// with other changes within the interval of progress. It is for changes that are soon of
// no consequence, between Start and Stop.
func (w *Writer) WriteSoon(change func(*release.Release)) {
	w.mu.Lock()
	change(w.rel)
	w.changes++
	w.writeRequested = true
	w.mu.Unlock()
	select {
	case w.flusher.requests <- struct{}{}:
	default: // a write is requested already
	}
}

// flush stores changes, at most once in an interval: the first time after an interval,
// unless it is requested sooner.
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
		case <-stop: // the select below may prefer others
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

// WriteProgress stores the progress and the changes that are not stored yet.
func (w *Writer) WriteProgress() {
	w.writing.Lock()
	defer w.writing.Unlock()
	w.mu.Lock()
	news := w.updateRecord()
	idle := !news && (w.changes == w.written || !w.writeRequested) // the first write is for Write to ask for
	w.mu.Unlock()
	if idle {
		return
	}
	if err := w.write(); err != nil {
		w.store.log("warning: failed to record the progress of release %s: %s", w.rel.Name, err)
	}
}

// renew stores the release with a renewed lease, if the operation still holds it.
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
