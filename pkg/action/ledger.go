// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/ordered-helm/helm/internal/record"
)

// noteInterval is how often, at most, the release notes how far it came.
const noteInterval = time.Second

// ledger is the only writer of a stored release while an operation runs: it
// changes the release and stores it, one at a time. How far a deployment came is
// written beside the work, and never holds it up.
type ledger struct {
	cfg *Configuration

	mu  sync.Mutex
	rel *release.Release
	// bare is the release's chart without a record; rec is the record, nil where
	// the release has none.
	bare *chart.Chart
	rec  *record.Record

	// news are the nodes that were done since the last note. It has a lock of its
	// own: a write that takes its time must not hold up a node.
	newsMu sync.Mutex
	news   []string
	// stop ends the writer of notes; nil where there is none.
	stop  chan struct{}
	notes sync.WaitGroup
}

func newLedger(cfg *Configuration, rel *release.Release) *ledger {
	return &ledger{cfg: cfg, rel: rel}
}

// createRevision stores a new revision, which only one operation can, and makes
// room for it as Helm does. Not every driver says that this is why it could not.
func createRevision(cfg *Configuration, rel *release.Release) error {
	releases := *cfg.Releases
	releases.Driver = &driverBefore{Driver: releases.Driver, revision: rel.Version}
	err := releases.Create(rel)
	if err == nil {
		return nil
	}
	_, missing := cfg.Releases.Get(rel.Name, rel.Version)
	if errors.Is(err, driver.ErrReleaseExists) || missing == nil {
		return &overtakenError{name: rel.Name, revision: rel.Version}
	}
	return err
}

// driverBefore is a driver for an operation that creates a revision. Helm makes
// room for that first: it would delete the very revision that another operation
// has created meanwhile, and both would go on.
type driverBefore struct {
	driver.Driver
	revision int
}

// Query lists revisions, and refuses to where there are any that the operation
// cannot know of.
func (d *driverBefore) Query(labels map[string]string) ([]*release.Release, error) {
	list, err := d.Driver.Query(labels)
	if slices.ContainsFunc(list, func(rel *release.Release) bool { return rel.Version >= d.revision }) {
		return nil, driver.ErrReleaseExists
	}
	return list, err
}

// overtakenError says that another operation was faster.
type overtakenError struct {
	name     string
	revision int
}

func (e *overtakenError) Error() string {
	return fmt.Sprintf("another operation has made revision %d of release %s meanwhile: nothing of the release was changed, try again", e.revision, e.name)
}

// Unwrap makes it Helm's error for a release that exists.
func (e *overtakenError) Unwrap() error { return driver.ErrReleaseExists }

// keep has the release carry a record from its next write on.
func (l *ledger) keep(bare *chart.Chart, rec *record.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bare, l.rec = bare, rec
	return l.attach()
}

// attach puts the record, as it is now, into the release. The caller holds mu.
func (l *ledger) attach() error {
	if l.bare == nil {
		return nil
	}
	attached, err := record.Attach(l.bare, l.rec)
	if err != nil {
		return err
	}
	l.rel.Chart = attached
	return nil
}

// change changes the release without storing it.
func (l *ledger) change(change func(*release.Release)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(l.rel)
}

// store changes the release and stores it. A change of nil stores it as it is.
func (l *ledger) store(change func(*release.Release)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if change != nil {
		change(l.rel)
	}
	return l.cfg.Releases.Update(l.rel)
}

// try is store where a failure to store must not fail what was done, and is of no
// consequence for long.
func (l *ledger) try(change func(*release.Release)) {
	if err := l.store(change); err != nil {
		l.cfg.Log("warning: Failed to update release %s: %s", l.rel.Name, err)
	}
}

// note is store for what an operation came to. A failure to store does not fail
// what was done, but is said: the release is not what it is recorded as.
func (l *ledger) note(e *events, change func(*release.Release)) {
	err := l.store(change)
	if err == nil {
		return
	}
	l.cfg.Log("warning: Failed to update release %s: %s", l.rel.Name, err)
	e.warn(fmt.Sprintf("it could not be recorded that revision %d of release %s is %s now, and helm goes on taking it for what it was before: "+
		"roll the release back or uninstall it once it can be recorded: %v", l.rel.Version, l.rel.Name, l.rel.Info.Status, err))
}

// expect notes, from the next write on, that none of so many nodes is done.
func (l *ledger) expect(nodes int, removing bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rec == nil || !l.rec.Sequenced {
		return nil
	}
	l.rec.Progress = &record.Progress{Revision: l.rel.Version, Nodes: nodes, Removing: removing}
	return l.attach()
}

// begin begins to note which of the expected nodes are done.
func (l *ledger) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rec == nil || l.rec.Progress == nil {
		return
	}
	stop := make(chan struct{})
	l.stop = stop
	l.notes.Go(func() { l.writeNotes(stop) })
}

// done notes that a node is done.
func (l *ledger) done(node string) {
	l.newsMu.Lock()
	defer l.newsMu.Unlock()
	l.news = append(l.news, node)
}

// takeNews puts what was done into the record, and reports whether there was
// anything. The caller holds mu.
func (l *ledger) takeNews() bool {
	l.newsMu.Lock()
	news := l.news
	l.news = nil
	l.newsMu.Unlock()
	if l.rec == nil || l.rec.Progress == nil || len(news) == 0 {
		return false
	}
	done := slices.Concat(l.rec.Progress.Done, news)
	slices.Sort(done)
	l.rec.Progress.Done = slices.Compact(done)
	return true
}

// writeNotes stores what is done, at most once in an interval, the first time
// after one.
func (l *ledger) writeNotes(stop <-chan struct{}) {
	pause := time.NewTimer(noteInterval)
	defer pause.Stop()
	for {
		select {
		case <-pause.C:
			l.writeNote()
			pause.Reset(noteInterval)
		case <-stop:
			return
		}
	}
}

func (l *ledger) writeNote() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.takeNews() {
		return
	}
	if err := errors.Join(l.attach(), l.cfg.Releases.Update(l.rel)); err != nil {
		l.cfg.Log("warning: failed to note how far release %s came: %s", l.rel.Name, err)
	}
}

// end ends the notes. What was reached stays in the record, for the next write,
// unless all was: then there is nothing to remember.
func (l *ledger) end(complete bool) error {
	if l.stop != nil {
		close(l.stop)
		l.stop = nil
		l.notes.Wait()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rec == nil {
		return nil
	}
	l.takeNews()
	if complete {
		l.rec.Progress, l.rec.Earlier = nil, nil
		if !l.rec.Sequenced {
			l.rec = nil // it was there for what came before alone
		}
	}
	return l.attach()
}
