// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/history/historytest"
	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// newRecordedWriter returns a writer of a stored revision, and the driver that records its
// writes. The tests change the revision only with countChange, so the version of each
// written revision says how many changes it contains.
func newRecordedWriter(t *testing.T) (*Writer, *historytest.RecordingDriver) {
	t.Helper()
	rel := historytest.Revision(0, release.StatusPendingUpgrade)
	releases := historytest.MemoryStorage(t, rel)
	d := &historytest.RecordingDriver{Driver: &singleRevisionDriver{releases.Driver}}
	releases.Driver = d
	return NewStore(releases, t.Logf).NewWriter(Copy(rel)), d
}

// singleRevisionDriver is a driver that stores all updates as revision 0, whatever their
// version.
type singleRevisionDriver struct{ driver.Driver }

func (d *singleRevisionDriver) Update(_ string, rel *release.Release) error {
	return d.Driver.Update(historytest.Key(0), rel)
}

// countChange changes a revision by increasing its version.
func countChange(rel *release.Release) { rel.Version++ }

// changeCounts returns, for each update, the number of changes that it contains.
func changeCounts(d *historytest.RecordingDriver) []int {
	updates := d.Updates()
	counts := make([]int, len(updates))
	for i, rel := range updates {
		counts[i] = rel.Version
	}
	return counts
}

// expectUpdates returns a function that checks the changes that all updates so far contain.
// It must be called in a synctest bubble.
func expectUpdates(t *testing.T, d *historytest.RecordingDriver) func(when string, want ...int) {
	return func(when string, want ...int) {
		t.Helper()
		synctest.Wait()
		if got := changeCounts(d); !slices.Equal(got, want) {
			t.Errorf("%s: the updates are %v, want %v", when, got, want)
		}
	}
}

// TestWriteSoon checks that WriteSoon stores a change immediately, that the next progress
// write stores the changes soon after it, and that WriteSoon does not wait for the writes.
func TestWriteSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, d := newRecordedWriter(t)
		proceed := make(chan struct{})
		d.BeforeUpdate = func(attempt int) error {
			if attempt == 1 {
				<-proceed
			}
			return nil
		}
		expect := expectUpdates(t, d)
		w.Background.Start()
		for range 3 { // the first write is in progress when the second and third are requested
			w.Background.WriteSoon(countChange)
			synctest.Wait()
		}
		close(proceed)
		expect("requested", 1)
		w.Background.WriteSoon(countChange)
		time.Sleep(progressInterval - time.Millisecond)
		expect("not again within the interval", 1)
		time.Sleep(time.Millisecond)
		expect("with the next progress", 1, 4)
		time.Sleep(10 * time.Second)
		expect("nothing changed", 1, 4)
		w.Background.WriteSoon(countChange)
		expect("at once, after a pause", 1, 4, 5)
		w.Background.WriteSoon(countChange)
		w.Background.Stop()
		if err := w.Write(nil); err != nil {
			t.Error(err)
		}
		expect("what was left", 1, 4, 5, 6)
	})
}

// TestWritesAreInOrder writes from many goroutines. It checks that each update contains all
// changes of the previous one, that the last update contains all changes, and that written
// revisions do not change afterwards.
func TestWritesAreInOrder(t *testing.T) {
	const many = 100
	w, d := newRecordedWriter(t)
	var all sync.WaitGroup
	var mu sync.Mutex
	var early []int // changes that were not yet stored when Write returned
	w.Background.Start()
	defer w.Background.Stop()
	for i := range many {
		all.Go(func() {
			number := 0
			change := func(rel *release.Release) {
				countChange(rel)
				number = rel.Version
			}
			if i%2 == 1 {
				w.Background.WriteSoon(change)
				return
			}
			if err := w.Write(change); err != nil {
				t.Error(err)
			}
			counts := changeCounts(d)
			mu.Lock()
			defer mu.Unlock()
			if counts[len(counts)-1] < number {
				early = append(early, number)
			}
		})
	}
	all.Wait()
	if err := w.Write(nil); err != nil {
		t.Error(err)
	}
	got := changeCounts(d)
	if !slices.IsSorted(got) || got[len(got)-1] != many || len(early) > 0 {
		t.Errorf("the updates are %v; not stored when Write returned: %v", got, early)
	}
	if writes := len(got); writes < many/2 || writes > many/2+3 {
		t.Errorf("%d writes", writes)
	}
}

// TestFailedWrite checks that the next write stores the changes of a failed write.
func TestFailedWrite(t *testing.T) {
	w, d := newRecordedWriter(t)
	refused := errors.New("you may not")
	d.BeforeUpdate = func(attempt int) error {
		if attempt <= 2 {
			return refused
		}
		return nil
	}
	for range 2 {
		if err := w.Write(countChange); !errors.Is(err, refused) {
			t.Errorf("got %v", err)
		}
	}
	if err := w.Write(countChange); err != nil {
		t.Error(err)
	}
	if got := changeCounts(d); !slices.Equal(got, []int{3}) {
		t.Errorf("the updates are %v", got)
	}
}

// TestProgressIsWritten checks that, once the operation has written the revision, each
// change is written within progressInterval, and that nothing is written without a change.
func TestProgressIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, d := newRecordedWriter(t)
		var refuses atomic.Bool
		d.BeforeUpdate = func(int) error {
			if refuses.Load() {
				return errors.New("you may not")
			}
			return nil
		}
		expect := expectUpdates(t, d)
		w.Background.Start()
		w.Change(countChange)
		time.Sleep(10 * time.Second)
		expect("no write was asked for")
		if err := w.Write(nil); err != nil {
			t.Error(err)
		}
		time.Sleep(10 * time.Second)
		expect("nothing changed", 1)
		time.Sleep(progressInterval / 2)
		w.Change(countChange)
		w.Change(countChange)
		expect("just changed", 1)
		time.Sleep(progressInterval)
		expect("changed", 1, 3)
		time.Sleep(10 * time.Second)
		expect("no more", 1, 3)
		if err := w.Write(countChange); err != nil {
			t.Error(err)
		}
		time.Sleep(10 * time.Second)
		expect("it is stored already", 1, 3, 4)
		w.Progress.NodeDone("a") // is ignored, because the release has no record
		time.Sleep(10 * time.Second)
		expect("there is no record for the progress", 1, 3, 4)
		w.Change(countChange)
		w.Background.Stop()
		time.Sleep(10 * time.Second)
		expect("stopped", 1, 3, 4)
		w.Background.Stop()
		w.Background.Start()
		time.Sleep(progressInterval)
		expect("started again", 1, 3, 4, 5)
		attempts := d.Attempts()
		refuses.Store(true)
		w.Change(countChange)
		time.Sleep(3 * progressInterval)
		synctest.Wait()
		if got := d.Attempts() - attempts; got != 3 {
			t.Errorf("%d attempts in three seconds", got)
		}
		refuses.Store(false)
		time.Sleep(10 * time.Second)
		expect("it can be stored again", 1, 3, 4, 5, 6)
		w.Background.Stop()
	})
}

// TestStopWaits checks that Stop waits for a write that is in progress.
func TestStopWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, d := newRecordedWriter(t)
		d.BeforeUpdate = func(int) error {
			time.Sleep(5 * time.Second)
			return nil
		}
		if err := w.Write(nil); err != nil {
			t.Error(err)
		}
		w.Background.Start()
		w.Change(countChange)
		time.Sleep(progressInterval + time.Second)
		began := time.Now()
		w.Background.Stop()
		if took := time.Since(began); took != 4*time.Second || !slices.Equal(changeCounts(d), []int{0, 1}) {
			t.Errorf("it took %s, and the updates are %v", took, changeCounts(d))
		}
	})
}

// TestProgressOfNodes checks that the order record contains the IDs of the finished nodes,
// sorted and without duplicates.
func TestProgressOfNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, d := newRecordedWriter(t)
		w.Release().Version = 1
		bare := &chart.Chart{Metadata: &chart.Metadata{Name: "shop"}}
		if err := w.SetRecord(bare, &orderrecord.Record{Ordered: true, Charts: &sequencer.Chart{Name: "shop"}}); err != nil {
			t.Fatal(err)
		}
		if err := w.Progress.Reset(3, false); err != nil {
			t.Fatal(err)
		}
		w.Background.Start()
		defer w.Background.Stop()
		for i, done := range [][]string{{"b", "a"}, {"b"}, {"c"}} {
			for _, node := range done {
				w.Progress.NodeDone(node)
			}
			time.Sleep(progressInterval)
			synctest.Wait()
			rec, err := orderrecord.Read(d.LastUpdate())
			want := [][]string{{"a", "b"}, {"a", "b"}, {"a", "b", "c"}}[i]
			if err != nil || !slices.Equal(rec.Progress.DoneNodes, want) || rec.Progress.TotalNodes != 3 || d.Attempts() != i+1 {
				t.Errorf("%d writes, progress %+v, %v, want %v", d.Attempts(), rec.Progress, err, want)
			}
		}
	})
}

// TestFinishProgress checks that Finish deletes the progress from the order record when all
// nodes are deployed, and deletes an order record that contains nothing else.
func TestFinishProgress(t *testing.T) {
	parallel := &sequencer.Chart{Name: "shop", Subcharts: []*sequencer.Chart{{Name: "db", HookMode: "true"}}}
	for _, c := range []struct {
		name        string
		rec         *orderrecord.Record
		complete    bool
		hasRecord   bool
		hasProgress bool
		hasEarlier  bool
	}{
		{name: "in order", rec: &orderrecord.Record{Ordered: true}, complete: true, hasRecord: true},
		{name: "in order, incomplete", rec: &orderrecord.Record{Ordered: true}, hasRecord: true, hasProgress: true, hasEarlier: true},
		{name: "needed for earlier revisions", rec: &orderrecord.Record{}, complete: true},
		{name: "needed for earlier revisions, incomplete", rec: &orderrecord.Record{}, hasRecord: true, hasProgress: true, hasEarlier: true},
		{name: "needed for hooks, too", rec: &orderrecord.Record{Charts: parallel}, complete: true, hasRecord: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, d := newRecordedWriter(t)
			w.Release().Version = 1
			if c.rec.Charts == nil {
				c.rec.Charts = &sequencer.Chart{Name: "shop"}
			}
			c.rec.Earlier, c.rec.Progress = &orderrecord.EarlierRevisions{Revision: 1, UninstallStarted: true}, &orderrecord.Progress{Revision: 1, TotalNodes: 2}
			if err := w.SetRecord(&chart.Chart{Metadata: &chart.Metadata{Name: "shop"}}, c.rec); err != nil {
				t.Fatal(err)
			}
			w.Progress.NodeDone("a")
			if err := errors.Join(w.Progress.Finish(c.complete), w.Write(nil)); err != nil {
				t.Fatal(err)
			}
			rec, err := orderrecord.Read(d.LastUpdate())
			if err != nil || (rec != nil) != c.hasRecord {
				t.Fatalf("got %+v, %v", rec, err)
			}
			if rec != nil && ((rec.Progress != nil) != c.hasProgress || (rec.Earlier != nil) != c.hasEarlier) {
				t.Errorf("got %+v", rec)
			}
		})
	}
}

// TestWriteOrWarn checks that a failure to store the result of an operation causes one
// warning.
func TestWriteOrWarn(t *testing.T) {
	for _, refusal := range []error{nil, errors.New("you may not")} {
		rel := historytest.Revision(2, release.StatusPendingUpgrade)
		releases := historytest.MemoryStorage(t, rel)
		if refusal != nil {
			releases.Driver = &historytest.UpdateErrorDriver{Driver: releases.Driver, Err: refusal}
		}
		var emitted []string
		events := event.NewSink(func(e event.Event) { emitted = append(emitted, string(e.Type)+": "+e.Message) }, nil)
		w := NewStore(releases, t.Logf).NewWriter(rel) // rel is not shared with other goroutines
		w.WriteOrWarn(events, func(rel *release.Release) { rel.SetStatus(release.StatusFailed, "it failed") })
		switch {
		case refusal == nil && len(emitted) > 0:
			t.Errorf("emitted %q", emitted)
		case refusal != nil && (len(emitted) != 1 || !strings.HasPrefix(emitted[0], "warning: failed to record that revision 2 of release rel is now failed") || !strings.Contains(emitted[0], "you may not")):
			t.Errorf("emitted %q", emitted)
		}
	}
}
