// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/ordered-helm/helm/internal/releaserecord"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// witness is a driver that keeps all that was written, and can be held up or made
// to fail.
type witness struct {
	driver.Driver
	before func(write int) error

	mu     sync.Mutex
	writes []*release.Release
	tries  int
}

func (w *witness) Update(key string, rel *release.Release) error {
	w.mu.Lock()
	w.tries++
	try := w.tries
	w.mu.Unlock()
	if w.before != nil {
		if err := w.before(try); err != nil {
			return err
		}
	}
	w.mu.Lock()
	w.writes = append(w.writes, rel)
	w.mu.Unlock()
	return w.Driver.Update(key, rel)
}

// counts are how often what was written had been changed, write for write.
func (w *witness) counts() []int {
	w.mu.Lock()
	defer w.mu.Unlock()
	counts := make([]int, len(w.writes))
	for i, rel := range w.writes {
		counts[i] = rel.Version
	}
	return counts
}

func (w *witness) tried() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tries
}

// last is what was written last.
func (w *witness) last() *release.Release {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.writes[len(w.writes)-1]
}

// expecting returns a check of all that was written so far, inside a bubble.
func (w *witness) expecting(t *testing.T) func(what string, want ...int) {
	return func(what string, want ...int) {
		t.Helper()
		synctest.Wait()
		if got := w.counts(); !slices.Equal(got, want) {
			t.Errorf("%s: written were %v, want %v", what, got, want)
		}
	}
}

// witnessed is a ledger whose writes are seen. In these tests the changes count
// the version up, which the storage goes by no more.
func witnessed(t *testing.T) (*ledger, *witness) {
	t.Helper()
	rel := revision(0, release.StatusPendingUpgrade)
	releases := storage.Init(driver.NewMemory())
	if err := releases.Create(rel); err != nil {
		t.Fatal(err)
	}
	w := &witness{Driver: &pinned{releases.Driver}}
	releases.Driver = w
	return newLedger(&Configuration{Releases: releases, Log: t.Logf}, ownRelease(rel)), w
}

// pinned takes every write for one of revision 0.
type pinned struct{ driver.Driver }

func (p *pinned) Update(_ string, rel *release.Release) error {
	return p.Driver.Update("sh.helm.release.v1.rel.v0", rel)
}

func countUp(rel *release.Release) { rel.Version++ }

// TestStoreSoon: what is to be stored soon is stored at once, and what comes soon
// after it with the next note, all of it together. Nobody waits for it.
func TestStoreSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, w := witnessed(t)
		proceed := make(chan struct{})
		w.before = func(write int) error {
			if write == 1 {
				<-proceed
			}
			return nil
		}
		expect := w.expecting(t)
		l.begin()
		for range 3 { // the second and the third find the first still being written
			l.storeSoon(countUp)
			synctest.Wait()
		}
		close(proceed)
		expect("asked for", 1)
		l.storeSoon(countUp)
		time.Sleep(noteInterval - time.Millisecond)
		expect("not so soon again", 1)
		time.Sleep(time.Millisecond)
		expect("with the next note", 1, 4)
		time.Sleep(10 * time.Second)
		expect("nothing changed", 1, 4)
		l.storeSoon(countUp)
		expect("at once, after a pause", 1, 4, 5)
		l.storeSoon(countUp)
		l.pause()
		if err := l.store(nil); err != nil {
			t.Error(err)
		}
		expect("what was left", 1, 4, 5, 6)
	})
}

// TestWritesAreInOrder: each write has all of the one before, and the last one all
// there is; what was written does not change afterwards.
func TestWritesAreInOrder(t *testing.T) {
	const many = 100
	l, w := witnessed(t)
	var all sync.WaitGroup
	var mu sync.Mutex
	var early []int // writes that did not have a change when its store returned
	l.begin()
	defer l.pause()
	for i := range many {
		all.Go(func() {
			number := 0
			change := func(rel *release.Release) {
				countUp(rel)
				number = rel.Version
			}
			if i%2 == 1 {
				l.storeSoon(change)
				return
			}
			if err := l.store(change); err != nil {
				t.Error(err)
			}
			counts := w.counts()
			mu.Lock()
			defer mu.Unlock()
			if counts[len(counts)-1] < number {
				early = append(early, number)
			}
		})
	}
	all.Wait()
	if err := l.store(nil); err != nil {
		t.Error(err)
	}
	got := w.counts()
	if !slices.IsSorted(got) || got[len(got)-1] != many || len(early) > 0 {
		t.Errorf("written were %v; not written when it should be: %v", got, early)
	}
	if writes := len(got); writes < many/2 || writes > many/2+3 {
		t.Errorf("%d writes", writes)
	}
}

// TestStoreThatFails leaves what was changed to the next write.
func TestStoreThatFails(t *testing.T) {
	l, w := witnessed(t)
	refused := errors.New("you may not")
	w.before = func(write int) error {
		if write <= 2 {
			return refused
		}
		return nil
	}
	for range 2 {
		if err := l.store(countUp); !errors.Is(err, refused) {
			t.Errorf("got %v", err)
		}
	}
	if err := l.store(countUp); err != nil {
		t.Error(err)
	}
	if got := w.counts(); !slices.Equal(got, []int{3}) {
		t.Errorf("written were %v", got)
	}
}

// TestNotes are written within a second of a change, and not without one, once the
// operation has stored the release.
func TestNotes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, w := witnessed(t)
		var refuses atomic.Bool
		w.before = func(int) error {
			if refuses.Load() {
				return errors.New("you may not")
			}
			return nil
		}
		expect := w.expecting(t)
		l.begin()
		l.change(countUp)
		time.Sleep(10 * time.Second)
		expect("nobody has stored it")
		if err := l.store(nil); err != nil {
			t.Error(err)
		}
		time.Sleep(10 * time.Second)
		expect("nothing changed", 1)
		time.Sleep(noteInterval / 2)
		l.change(countUp)
		l.change(countUp)
		expect("just changed", 1)
		time.Sleep(noteInterval)
		expect("changed", 1, 3)
		time.Sleep(10 * time.Second)
		expect("no more", 1, 3)
		if err := l.store(countUp); err != nil {
			t.Error(err)
		}
		time.Sleep(10 * time.Second)
		expect("it was stored already", 1, 3, 4)
		l.done("a") // of a release without a record
		time.Sleep(10 * time.Second)
		expect("there is nowhere to note it", 1, 3, 4)
		l.change(countUp)
		l.pause()
		time.Sleep(10 * time.Second)
		expect("ended", 1, 3, 4)
		l.pause()
		l.begin()
		time.Sleep(noteInterval)
		expect("begun again", 1, 3, 4, 5)
		tries := w.tried()
		refuses.Store(true)
		l.change(countUp)
		time.Sleep(3 * noteInterval)
		synctest.Wait()
		if got := w.tried() - tries; got != 3 {
			t.Errorf("tried %d times in three seconds", got)
		}
		refuses.Store(false)
		time.Sleep(10 * time.Second)
		expect("it can be stored again", 1, 3, 4, 5, 6)
		l.pause()
	})
}

// TestPauseWaits for a note that is being written.
func TestPauseWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, w := witnessed(t)
		w.before = func(int) error {
			time.Sleep(5 * time.Second)
			return nil
		}
		if err := l.store(nil); err != nil {
			t.Error(err)
		}
		l.begin()
		l.change(countUp)
		time.Sleep(noteInterval + time.Second)
		began := time.Now()
		l.pause()
		if took := time.Since(began); took != 4*time.Second || !slices.Equal(w.counts(), []int{0, 1}) {
			t.Errorf("it took %s, and written were %v", took, w.counts())
		}
	})
}

// TestNotesOfWhatIsDone are in the record, sorted, each once.
func TestNotesOfWhatIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, w := witnessed(t)
		l.rel.Version = 1
		bare := &chart.Chart{Metadata: &chart.Metadata{Name: "shop"}}
		if err := l.keep(bare, &releaserecord.Record{Ordered: true, Charts: &sequencer.Chart{Name: "shop"}}); err != nil {
			t.Fatal(err)
		}
		if err := l.expect(3, false); err != nil {
			t.Fatal(err)
		}
		l.begin()
		defer l.pause()
		for i, done := range [][]string{{"b", "a"}, {"b"}, {"c"}} {
			for _, node := range done {
				l.done(node)
			}
			time.Sleep(noteInterval)
			synctest.Wait()
			rec, err := releaserecord.Read(w.last())
			want := [][]string{{"a", "b"}, {"a", "b"}, {"a", "b", "c"}}[i]
			if err != nil || !slices.Equal(rec.Progress.DoneNodes, want) || rec.Progress.TotalNodes != 3 || w.tried() != i+1 {
				t.Errorf("%d writes, progress %+v, %v, want %v", w.tried(), rec.Progress, err, want)
			}
		}
	})
}

// TestEndOfTheLedger forgets how far it came when all was reached, and the record
// itself where it tells nothing else.
func TestEndOfTheLedger(t *testing.T) {
	parallel := &sequencer.Chart{Name: "shop", Subcharts: []*sequencer.Chart{{Name: "db", HookMode: "true"}}}
	for _, c := range []struct {
		name      string
		rec       *releaserecord.Record
		complete  bool
		stays     bool
		progress  bool
		isEarlier bool
	}{
		{name: "in order", rec: &releaserecord.Record{Ordered: true}, complete: true, stays: true},
		{name: "in order, incomplete", rec: &releaserecord.Record{Ordered: true}, stays: true, progress: true, isEarlier: true},
		{name: "there for what came before", rec: &releaserecord.Record{}, complete: true},
		{name: "there for what came before, incomplete", rec: &releaserecord.Record{}, stays: true, progress: true, isEarlier: true},
		{name: "there for hooks, too", rec: &releaserecord.Record{Charts: parallel}, complete: true, stays: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, w := witnessed(t)
			l.rel.Version = 1
			if c.rec.Charts == nil {
				c.rec.Charts = &sequencer.Chart{Name: "shop"}
			}
			c.rec.Earlier, c.rec.Progress = &releaserecord.EarlierRevisions{Revision: 1, UninstallStarted: true}, &releaserecord.Progress{Revision: 1, TotalNodes: 2}
			if err := l.keep(&chart.Chart{Metadata: &chart.Metadata{Name: "shop"}}, c.rec); err != nil {
				t.Fatal(err)
			}
			l.done("a")
			if err := errors.Join(l.end(c.complete), l.store(nil)); err != nil {
				t.Fatal(err)
			}
			rec, err := releaserecord.Read(w.last())
			if err != nil || (rec != nil) != c.stays {
				t.Fatalf("got %+v, %v", rec, err)
			}
			if rec != nil && ((rec.Progress != nil) != c.progress || (rec.Earlier != nil) != c.isEarlier) {
				t.Errorf("got %+v", rec)
			}
		})
	}
}
