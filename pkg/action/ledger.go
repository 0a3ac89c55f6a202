// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/httpretry"
	"github.com/ordered-helm/helm/internal/releaserecord"
)

// ledger is the only writer of a stored release while an operation runs: it
// changes the release and stores it, one at a time. How far a deployment came is
// written beside the work, and never holds it up.
type ledger struct {
	cfg *Configuration

	// writing is held while the release is written, one write after the other.
	writing sync.Mutex
	// mu guards the release and what goes into it. It is not held during a write:
	// what is written is a copy.
	mu  sync.Mutex
	rel *release.Release
	// changes counts the changes of the release, and written those that are stored;
	// stored is whether any write was asked for.
	changes, written int
	stored           bool
	// hooksAlone stores what became of hooks, and nothing else that others may have
	// changed meanwhile.
	hooksAlone bool
	// bare is the release's chart without a record; rec is the record, nil where
	// the release has none.
	bare *chart.Chart
	rec  *releaserecord.Record
	// held is how this operation holds the release; nil where it does not.
	held *hold

	// news are the nodes that were done since the last note, and begun those that were
	// begun. They have a lock of their own: a write that takes its time must not hold up
	// a node.
	newsMu      sync.Mutex
	news, begun []string
	// stop ends the writer of notes; nil where there is none. soon asks it for one.
	stop, soon chan struct{}
	notes      sync.WaitGroup
}

func newLedger(cfg *Configuration, rel *release.Release) *ledger {
	return &ledger{cfg: cfg, rel: rel, soon: make(chan struct{}, 1)}
}

// keep has the release carry a record from its next write on.
func (l *ledger) keep(bare *chart.Chart, rec *releaserecord.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if rec != nil {
		rec.Lease = nil // of who had it before
	}
	l.bare, l.rec = bare, rec
	return l.attach()
}

// keepOnly is keep for a stored release, whose chart may carry a record.
func (l *ledger) keepOnly(rec *releaserecord.Record) error {
	if l.rel.Chart == nil {
		return nil
	}
	bare, err := releaserecord.WithRecord(l.rel.Chart, nil)
	if err != nil {
		return err
	}
	return l.keep(bare, rec)
}

// attach puts the record, as it is now, into the release. The caller holds mu, and nobody
// else reads the release meanwhile: it is not for the writer of notes.
func (l *ledger) attach() error {
	attached, err := l.attached()
	if err == nil {
		l.rel.Chart = attached
	}
	return err
}

// attached is the release's chart with the record, as it is now. The caller holds mu.
func (l *ledger) attached() (*chart.Chart, error) {
	if l.bare == nil {
		return l.rel.Chart, nil
	}
	return releaserecord.WithRecord(l.bare, l.heldRecord())
}

// change changes the release without storing it.
func (l *ledger) change(change func(*release.Release)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(l.rel)
	l.changes++
}

// store changes the release and stores it. A change of nil stores it as it is.
func (l *ledger) store(change func(*release.Release)) error {
	if change != nil {
		l.change(change)
	}
	l.mu.Lock()
	err := l.attach()
	l.mu.Unlock()
	if err != nil {
		return err
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	return l.write()
}

// storeSoon changes the release and has it stored beside the work: at once, or
// together with what else changes until the next note. It is for what is of no
// consequence for long, between begin and pause.
func (l *ledger) storeSoon(change func(*release.Release)) {
	l.mu.Lock()
	change(l.rel)
	l.changes++
	l.stored = true
	l.mu.Unlock()
	select {
	case l.soon <- struct{}{}:
	default: // it is asked for already
	}
}

// writePatience is for how long it is tried to store a release.
const writePatience = 45 * time.Second

// write stores the release as it is now. While the server does not answer it tries again,
// as long as others cannot have taken the release over. The caller holds writing.
func (l *ledger) write() error {
	for began := time.Now(); ; {
		if err := l.makeSure(); err != nil {
			return err
		}
		if l.hasEnded() {
			return nil
		}
		err := l.writeSoon()
		var late *httpretry.RecordTimeoutError
		if !errors.As(err, &late) || elapsed(began) > writePatience {
			return err
		}
	}
}

// writeSoon stores the release as it is now, or gives up within the time for which the
// holder of a release is sure of it. The caller holds writing.
func (l *ledger) writeSoon() error {
	l.mu.Lock()
	attached, err := l.attached() // with a new sign of life
	rel, changes, asked := ownRelease(l.rel), l.changes, time.Now()
	rel.Chart = attached
	l.stored = true
	if l.held != nil && !isHeld(rel.Info.Status) {
		l.held.ends = append(l.held.ends, *rel.Info)
	}
	l.mu.Unlock()
	if err != nil {
		return err
	}
	if l.hooksAlone {
		current, err := readRevision(l.cfg.Releases, rel.Name, rel.Version)
		if err != nil {
			return err
		}
		rel = withRuns(current, rel.Hooks)
	}
	if err := l.cfg.Releases.Update(rel); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.written = changes
	if l.held != nil {
		l.held.confirmed, l.held.before = asked, nil
	}
	return nil
}

// hasEnded reports whether the release is stored as what it came to, though the answer to
// that was lost. The caller holds writing.
func (l *ledger) hasEnded() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held != nil && l.held.ended != nil && isSameState(l.held.ended, l.rel.Info)
}

// try is for a failure to store that must not fail what was done, and is of no
// consequence for long.
func (l *ledger) try(err error) {
	if err != nil {
		l.cfg.Log("warning: Failed to update release %s: %s", l.rel.Name, err)
	}
}

// note is store for what an operation came to. A failure to store does not fail
// what was done, but is said: the release is not what it is recorded as.
func (l *ledger) note(e *events, change func(*release.Release)) {
	err := l.store(change)
	if err == nil || l.lostTo() != nil {
		return
	}
	l.cfg.Log("warning: Failed to update release %s: %s", l.rel.Name, err)
	e.warn(fmt.Sprintf("it could not be recorded that revision %d of release %s is %s now, and helm goes on taking it for what it was before: "+
		"roll the release back or uninstall it once it can be recorded: %v", l.rel.Version, l.rel.Name, l.rel.Info.Status, err))
}
