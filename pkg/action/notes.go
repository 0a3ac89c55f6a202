// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"slices"
	"time"

	"github.com/ordered-helm/helm/internal/releaserecord"
)

// noteInterval is how often, at most, the release notes how far it came.
const noteInterval = time.Second

// expect notes, from the next write on, that none of so many nodes is done.
func (l *ledger) expect(nodes int, removing bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rec == nil || !l.rec.Ordered {
		return nil
	}
	l.rec.Progress = &releaserecord.Progress{Revision: l.rel.Version, TotalNodes: nodes, Uninstalling: removing}
	return l.attach()
}

// begin begins to store, now and then, what was done and what was changed, until
// pause.
func (l *ledger) begin() {
	stop := make(chan struct{})
	l.stop = stop
	l.notes.Go(func() { l.writeNotes(stop) })
}

// pause ends what begin has begun.
func (l *ledger) pause() {
	if l.stop != nil {
		close(l.stop)
		l.stop = nil
		l.notes.Wait()
	}
}

// done notes that a node is done.
func (l *ledger) done(node string) {
	l.newsMu.Lock()
	defer l.newsMu.Unlock()
	l.news = append(l.news, node)
}

// at notes that a node is begun.
func (l *ledger) at(node string) {
	l.newsMu.Lock()
	defer l.newsMu.Unlock()
	l.begun = append(l.begun, node)
}

// takeNews puts what was begun and done into the record, and reports whether there was
// anything. The caller holds mu.
func (l *ledger) takeNews() bool {
	l.newsMu.Lock()
	news, begun := l.news, l.begun
	l.news, l.begun = nil, nil
	l.newsMu.Unlock()
	if l.rec == nil || l.rec.Progress == nil || len(news)+len(begun) == 0 {
		return false
	}
	p := l.rec.Progress
	p.DoneNodes = union(p.DoneNodes, news)
	p.RunningNodes = slices.DeleteFunc(union(p.RunningNodes, begun), func(node string) bool {
		_, done := slices.BinarySearch(p.DoneNodes, node)
		return done
	})
	return true
}

// union sorts what either list has.
func union(a, b []string) []string {
	both := slices.Concat(a, b)
	slices.Sort(both)
	return slices.Compact(both)
}

// writeNotes stores what is done, at most once in an interval: the first time after
// one, unless it is asked for sooner.
func (l *ledger) writeNotes(stop <-chan struct{}) {
	pause := time.NewTimer(noteInterval)
	defer pause.Stop()
	var renewal <-chan time.Time
	if l.held != nil {
		ticker := time.NewTicker(renewInterval)
		defer ticker.Stop()
		renewal = ticker.C
	}
	for soon := l.soon; ; {
		select {
		case <-stop: // which may wait while others are ready
			return
		default:
		}
		select {
		case <-renewal:
			l.renew()
			continue
		case <-soon:
			soon = nil
		case <-pause.C:
			soon = l.soon
		case <-stop:
			return
		}
		l.writeNote()
		pause.Reset(noteInterval)
	}
}

func (l *ledger) writeNote() {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	news := l.takeNews()
	idle := !news && (l.changes == l.written || !l.stored) // what was never stored waits for who says so
	l.mu.Unlock()
	if idle {
		return
	}
	if err := l.write(); err != nil {
		l.cfg.Log("warning: failed to note how far release %s came: %s", l.rel.Name, err)
	}
}

// end notes that the work is over. What was reached stays in the record, for the next write,
// unless all was: then there is nothing to remember.
func (l *ledger) end(complete bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rec == nil {
		return nil
	}
	l.takeNews()
	if complete {
		l.rec.Progress, l.rec.Earlier = nil, nil
		if !l.rec.Ordered && !runsHooksInParallel(l.rec.Charts) {
			l.rec = nil // it was there for what came before alone
		}
	}
	return l.attach()
}
