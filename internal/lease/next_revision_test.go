// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/history/historytest"
)

// TestCreateDeletesOldestAsHelm creates a revision after one that is taken over, and checks
// that the same revisions remain in the history as with Helm.
func TestCreateDeletesOldestAsHelm(t *testing.T) {
	for limit := range 6 {
		var left [2][]int
		for i := range left {
			releases := historytest.MemoryStorage(t,
				historytest.Revision(1, release.StatusSuperseded), historytest.Revision(2, release.StatusDeployed),
				historytest.Revision(3, release.StatusFailed), historytest.Revision(4, release.StatusPendingRollback))
			releases.MaxHistory = limit
			rel := historytest.Revision(5, release.StatusPendingUpgrade)
			var err error
			if i == 0 {
				_, err = Create(history.NewStore(releases, t.Logf), rel, historytest.Revision(4, release.StatusPendingRollback))
			} else {
				err = releases.Create(rel)
			}
			if err != nil {
				t.Fatal(err)
			}
			left[i] = historytest.Versions(t, releases)
		}
		if !slices.Equal(left[0], left[1]) || !slices.Contains(left[0], 5) {
			t.Errorf("limit %d: left %v, Helm leaves %v", limit, left[0], left[1])
		}
	}
}

// TestCreateKeepsHeldRevision checks that the history limit does not delete the previous
// revision if another operation is running on it, even if that operation starts during the
// deletion.
func TestCreateKeepsHeldRevision(t *testing.T) {
	held := historytest.Revision(2, release.StatusUninstalling)
	for name, duringDelete := range map[string]bool{"before": false, "during the deletion": true} {
		t.Run(name, func(t *testing.T) {
			previous := held
			if duringDelete {
				previous = historytest.Revision(2, release.StatusFailed)
			}
			releases := historytest.MemoryStorage(t, historytest.Revision(1, release.StatusSuperseded), previous)
			releases.MaxHistory = 1
			if duringDelete {
				releases.Driver = &changedBeforeDeleteDriver{Driver: releases.Driver, changed: held}
			}
			_, err := Create(history.NewStore(releases, t.Logf), historytest.Revision(3, release.StatusPendingUpgrade), nil)
			var refused *HeldError
			if !errors.As(err, &refused) || refused.Revision != 2 || refused.Status != release.StatusUninstalling {
				t.Errorf("got %v", err)
			}
			if got := historytest.Versions(t, releases); !slices.Contains(got, 2) || slices.Contains(got, 3) {
				t.Errorf("left %v", got)
			}
		})
	}
}

// changedBeforeDeleteDriver is a storage driver in which another operation changes a
// revision just before Delete deletes it.
type changedBeforeDeleteDriver struct {
	driver.Driver
	changed *release.Release
}

func (d *changedBeforeDeleteDriver) Delete(key string) (*release.Release, error) {
	rel, err := d.Driver.Delete(key)
	if err == nil && rel.Version == d.changed.Version {
		rel = d.changed
	}
	return rel, err
}

// TestCreateNext checks that a new revision is deleted again if another operation is
// running on the previous revision or has uninstalled it, but not if the previous revision
// was deleted because of the history limit. A revision that is taken over is recorded as
// failed.
func TestCreateNext(t *testing.T) {
	const pending = release.StatusPendingUpgrade
	leased := func(ago time.Duration) *release.Release {
		return historytest.LeasedRevision(t, 2, pending, historytest.DeadProcess(), ago)
	}
	dead := leased(time.Minute)
	deployed := func() *release.Release { return historytest.RevisionWithChart(2, release.StatusDeployed) }
	failed := func() *release.Release { return historytest.RevisionWithChart(2, release.StatusFailed) }
	uninstalling := func() *release.Release { return historytest.RevisionWithChart(2, release.StatusUninstalling) }
	tests := []struct {
		name string
		// last is the last revision as the check found it. now is the same revision as it
		// is stored now; nil if it no longer exists.
		last, now  *release.Release
		stale      bool
		maxHistory int
		fails      bool
		want       []int
		// status is the expected status of the last revision.
		status release.Status
	}{
		{name: "unchanged", last: deployed(), now: deployed(), want: []int{1, 2, 3}, status: release.StatusDeployed},
		{name: "failed meanwhile", last: deployed(), now: failed(), want: []int{1, 2, 3}, status: release.StatusFailed},
		{name: "being uninstalled", last: deployed(), now: uninstalling(), fails: true, want: []int{1, 2}, status: release.StatusUninstalling},
		{name: "being uninstalled, only one revision is kept", last: deployed(), now: uninstalling(), maxHistory: 1, fails: true, want: []int{1, 2}, status: release.StatusUninstalling},
		{name: "uninstalled", last: deployed(), fails: true, want: []int{1}},
		{name: "uninstalled, only one revision is kept", last: deployed(), maxHistory: 1, fails: true},
		{name: "deleted because only one revision is kept", last: failed(), now: failed(), maxHistory: 1, want: []int{3}},
		{name: "taken over", last: dead, now: dead, stale: true, want: []int{1, 2, 3}, status: release.StatusFailed},
		{name: "taken over and deleted because only one revision is kept", last: dead, now: dead, stale: true, maxHistory: 1, want: []int{3}},
		{name: "stale, and alive after all", last: dead, now: leased(0), stale: true, fails: true, want: []int{1, 2}, status: pending},
		{name: "stale, and finished after all", last: dead, now: deployed(), stale: true, fails: true, want: []int{1, 2}, status: release.StatusDeployed},
		{name: "stale, and failed after all", last: dead, now: failed(), stale: true, want: []int{1, 2, 3}, status: release.StatusFailed},
		{name: "stale, and being uninstalled by others", last: dead, now: uninstalling(), stale: true, fails: true, want: []int{1, 2}, status: release.StatusUninstalling},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			releases := historytest.MemoryStorage(t, historytest.RevisionWithChart(1, release.StatusSuperseded))
			if tt.now != nil {
				if err := releases.Create(history.Copy(tt.now)); err != nil {
					t.Fatal(err)
				}
			}
			releases.MaxHistory = tt.maxHistory
			s := &LockCheckResult{Last: tt.last}
			if tt.stale {
				s.Stale = tt.last
			}
			interrupted, err := CreateNext(history.NewStore(releases, t.Logf), event.NewSink(nil, nil), historytest.RevisionWithChart(3, pending), s)
			var held *HeldError
			if (err != nil) != tt.fails || err != nil && !errors.As(err, &held) {
				t.Fatalf("got %v", err)
			}
			if (len(interrupted) > 0) != (tt.stale && !tt.fails) || len(interrupted) > 0 && interrupted[0].Status != pending {
				t.Errorf("interrupted: %+v", interrupted)
			}
			if tt.want == nil {
				if _, err := releases.History(historytest.ReleaseName); !errors.Is(err, driver.ErrReleaseNotFound) {
					t.Errorf("something is left: %v", err)
				}
			} else if got := historytest.Versions(t, releases); !slices.Equal(got, tt.want) {
				t.Errorf("left %v, want %v", got, tt.want)
			}
			rel, err := releases.Get(historytest.ReleaseName, 2)
			if tt.status != "" && (err != nil || rel.Info.Status != tt.status || len(interrupted) > 0 && leaseOf(rel) != nil) {
				t.Errorf("revision 2 is %v, %v", rel, err)
			}
		})
	}
}

// TestInterruptedRevisions checks that the interrupted revisions are those since the last
// deployed one with hooks that may still be running.
func TestInterruptedRevisions(t *testing.T) {
	withHooks := func(rel *release.Release, phase release.HookPhase, events ...release.HookEvent) *release.Release {
		h := &release.Hook{Name: "migrate", Events: events}
		h.LastRun.Phase = phase
		rel.Hooks = []*release.Hook{{Name: "other", Events: events}, h}
		return rel
	}
	revision := historytest.RevisionWithChart
	leased := func(version int, status release.Status) *release.Release {
		return historytest.LeasedRevision(t, version, status, historytest.DeadProcess(), time.Hour)
	}
	const failed, running = release.StatusFailed, release.HookPhaseRunning
	revisions := []*release.Release{
		withHooks(revision(1, failed), running, release.HookPreInstall),
		revision(2, release.StatusDeployed),
		withHooks(revision(3, failed), running, release.HookPreUpgrade, release.HookPreInstall),
		withHooks(revision(4, failed), release.HookPhaseFailed, release.HookPreUpgrade),
		withHooks(revision(5, failed), running, release.HookTest),
		withHooks(revision(6, release.StatusSuperseded), running, release.HookPreUpgrade),
		withHooks(leased(7, release.StatusPendingRollback), release.HookPhaseUnknown, release.HookPreRollback),
		withHooks(revision(8, release.StatusPendingUpgrade), running, release.HookPreUpgrade),
		withHooks(leased(9, release.StatusUninstalling), running, release.HookPostUpgrade),
		withHooks(revision(10, failed), running, release.HookPostUpgrade),
	}
	revisions[8].Hooks[0].Events = []release.HookEvent{release.HookPreDelete}
	for _, tt := range []struct {
		name  string
		stale bool
		want  string
	}{
		{name: "the last revision is not taken over", want: "3 failed pre-upgrade: migrate; 10 failed post-upgrade: migrate; "},
		{name: "the last revision is taken over", stale: true, want: "3 failed pre-upgrade: migrate; 7 pending-rollback pre-rollback: other migrate; 9 uninstalling post-upgrade: migrate pre-delete: other; "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &LockCheckResult{History: revisions, Last: history.Newest(revisions)}
			if tt.stale {
				s.Stale = s.Last
			}
			got := ""
			for _, i := range s.interrupted(history.NewStore(historytest.MemoryStorage(t), t.Logf)) {
				got += fmt.Sprintf("%d %s", i.Writer.Release().Version, i.Status)
				for _, set := range i.Hooks() {
					got += fmt.Sprintf(" %s:", set.Event)
					for _, h := range set.Hooks {
						got += " " + h.Name
					}
				}
				got += "; "
			}
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// TestStoreOlderAsFailed checks that revisions that a terminated operation had taken over are
// recorded as failed, and that revisions of stock Helm are not changed.
func TestStoreOlderAsFailed(t *testing.T) {
	const pending = release.StatusPendingUpgrade
	dead := historytest.DeadProcess()
	releases := historytest.MemoryStorage(t, historytest.RevisionWithChart(1, pending),
		historytest.LeasedRevision(t, 2, pending, dead, time.Hour), historytest.LeasedRevision(t, 3, pending, dead, time.Minute))
	c := newLockCheck(t, releases)
	s, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := CreateNext(c.Store, c.Events, historytest.RevisionWithChart(4, pending), s); err != nil {
		t.Fatal(err)
	}
	for version, want := range map[int]release.Status{1: pending, 2: release.StatusFailed, 3: release.StatusFailed, 4: pending} {
		if rel := historytest.Get(t, releases, version); rel.Info.Status != want {
			t.Errorf("revision %d is %+v", version, rel.Info)
		}
	}
}
