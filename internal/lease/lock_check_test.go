// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"

	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/history/historytest"
	"github.com/ordered-helm/helm/internal/processid"
)

// newCheck returns a check of the release in a storage.
func newLockCheck(t *testing.T, releases *storage.Storage) *LockCheck {
	return &LockCheck{Store: history.NewStore(releases, t.Logf), Events: event.NewSink(nil, nil), Release: historytest.ReleaseName}
}

// TestLockCheck checks the result of a LockCheck, and how long it watches the lock holder.
func TestLockCheck(t *testing.T) {
	self := processid.Current()
	if self.StartID == "" {
		t.Skip("the kernel does not identify processes")
	}
	const pending = release.StatusPendingUpgrade
	renew := func(t *testing.T, releases *storage.Storage) {
		t.Helper()
		if err := releases.Update(historytest.LeasedRevision(t, 2, pending, historytest.RemoteProcess(), 0)); err != nil {
			t.Fatal(err)
		}
	}
	finish := func(t *testing.T, releases *storage.Storage) {
		t.Helper()
		if err := releases.Update(historytest.RevisionWithChart(2, release.StatusDeployed)); err != nil {
			t.Fatal(err)
		}
	}
	remove := func(t *testing.T, releases *storage.Storage) {
		t.Helper()
		if _, err := releases.Delete(historytest.ReleaseName, 2); err != nil {
			t.Fatal(err)
		}
	}
	remote, dead := historytest.RemoteProcess(), historytest.DeadProcess()
	for _, tt := range []struct {
		name     string
		status   release.Status
		holder   *processid.Process // nil if there is no lease
		ago      time.Duration      // the age of its last heartbeat
		takeover Takeover
		dryRun   bool
		undo     *FailedOperation
		// meanwhile is called during the check, after the duration.
		meanwhile func(*testing.T, *storage.Storage)
		after     time.Duration
		// free and stale are the expected result. If both are false, the release is locked.
		// watched is the maximum duration of the check.
		free, stale bool
		watched     time.Duration
	}{
		{name: "no operation", status: release.StatusFailed, free: true},
		{name: "lease of a finished operation", status: release.StatusDeployed, holder: &remote, free: true},
		{name: "stock Helm", status: pending},
		{name: "stock Helm, never", status: pending, takeover: TakeoverNever},
		{name: "stock Helm, force", status: pending, takeover: TakeoverForce, stale: true},
		{name: "uninstall of stock Helm, force", status: release.StatusUninstalling, takeover: TakeoverForce, stale: true},
		{name: "dead on this machine", status: pending, holder: &dead, stale: true},
		{name: "dead on this machine, never", status: pending, holder: &dead, takeover: TakeoverNever},
		{name: "dead on this machine, dry run", status: pending, holder: &dead, dryRun: true, stale: true},
		{name: "the operation to undo", status: pending, holder: &remote, undo: &FailedOperation{Revision: 2, LeaseID: historytest.LeaseID}, stale: true},
		{name: "silent from now on", status: pending, holder: &remote, stale: true, watched: leaseDuration},
		{name: "silent for a while", status: pending, holder: &remote, ago: 20 * time.Second, stale: true, watched: leaseDuration - 20*time.Second},
		{name: "silent for long", status: pending, holder: &remote, ago: time.Hour, stale: true, watched: minWatchDuration},
		{name: "silent for long, dry run", status: pending, holder: &remote, ago: time.Hour, dryRun: true, stale: true},
		{name: "silent for a while, dry run", status: pending, holder: &remote, ago: time.Second, dryRun: true},
		{name: "with a clock that is ahead", status: pending, holder: &remote, ago: -time.Hour, stale: true, watched: leaseDuration},
		{name: "alive on this machine, but silent", status: pending, holder: &self, stale: true, watched: leaseDuration},
		{name: "alive, with a clock far behind", status: pending, holder: &remote, ago: time.Hour, meanwhile: renew, after: history.RenewInterval, watched: history.RenewInterval + heartbeatCheckInterval},
		{name: "alive, force", status: pending, holder: &remote, takeover: TakeoverForce, meanwhile: renew, after: history.RenewInterval, watched: history.RenewInterval + heartbeatCheckInterval},
		{name: "finishes meanwhile", status: pending, holder: &remote, meanwhile: finish, after: time.Second, free: true, watched: heartbeatCheckInterval},
		{name: "removed meanwhile", status: pending, holder: &remote, meanwhile: remove, after: time.Second, free: true, watched: heartbeatCheckInterval},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rel := historytest.RevisionWithChart(2, tt.status)
				if tt.holder != nil {
					rel = historytest.LeasedRevision(t, 2, tt.status, *tt.holder, tt.ago)
				}
				releases := historytest.MemoryStorage(t, historytest.RevisionWithChart(1, release.StatusSuperseded), rel)
				if tt.meanwhile != nil {
					time.AfterFunc(tt.after, func() { tt.meanwhile(t, releases) })
				}
				began := time.Now()
				c := newLockCheck(t, releases)
				c.Takeover, c.DryRun, c.Undo = tt.takeover, tt.dryRun, tt.undo
				s, err := c.Run(t.Context())
				if took := time.Since(began); took > tt.watched+heartbeatCheckInterval || took < tt.watched-heartbeatCheckInterval {
					t.Errorf("watched for %s, want %s", took, tt.watched)
				}
				var held *HeldError
				switch ok := tt.free || tt.stale; {
				case ok != (err == nil):
					t.Fatalf("got %v", err)
				case !ok && (!errors.As(err, &held) || held.Revision != 2 || (held.Holder == nil) != (tt.holder == nil)):
					t.Errorf("got %+v", err)
				case ok && (s.Stale != nil) != tt.stale:
					t.Errorf("stale: %v", s.Stale != nil)
				}
				if tt.stale {
					last := history.Newest(s.History)
					if last.Info.Status != release.StatusFailed || leaseOf(last) != nil || !strings.HasPrefix(last.Info.Description, "Interrupted: ") || s.Stale.Info.Status != tt.status {
						t.Errorf("the history shows it as %+v", last.Info)
					}
				}
			})
		})
	}
}

// TestLockCheckEndsWithContext checks that LockCheck stops watching a lock holder when the
// context ends.
func TestLockCheckEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timeout := errors.New("timeout")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 5*time.Second, timeout)
		defer cancel()
		releases := historytest.MemoryStorage(t, historytest.LeasedRevision(t, 1, release.StatusPendingInstall, historytest.RemoteProcess(), 0))
		if _, err := newLockCheck(t, releases).Run(ctx); !errors.Is(err, timeout) {
			t.Errorf("got %v", err)
		}
	})
}

// TestLockCheckWithUnavailableStorage checks that a check fails if the storage stays
// unavailable.
func TestLockCheckWithUnavailableStorage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		unavailable := errors.New("the storage is unavailable")
		releases := historytest.MemoryStorage(t, historytest.LeasedRevision(t, 1, release.StatusPendingInstall, historytest.RemoteProcess(), 0))
		releases.Driver = &historytest.GetErrorDriver{Driver: releases.Driver, Err: unavailable}
		if _, err := newLockCheck(t, releases).Run(t.Context()); !errors.Is(err, unavailable) {
			t.Errorf("got %v", err)
		}
	})
}

// TestLockCheckOfDamagedRevision checks a stored revision that Helm would not have stored.
func TestLockCheckOfDamagedRevision(t *testing.T) {
	for name, corrupt := range map[string]func(*release.Release){
		"no status":     func(rel *release.Release) { rel.Info = nil },
		"an empty hook": func(rel *release.Release) { rel.Hooks = []*release.Hook{nil} },
		"another name":  func(rel *release.Release) { rel.Name = "other" },
	} {
		t.Run(name, func(t *testing.T) {
			releases := historytest.MemoryStorage(t,
				historytest.RevisionWithChart(1, release.StatusSuperseded), historytest.RevisionWithChart(2, release.StatusDeployed))
			releases.Driver = &historytest.CorruptingDriver{Driver: releases.Driver, Corrupt: corrupt}
			s, err := newLockCheck(t, releases).Run(t.Context())
			if err == nil {
				err = s.Err
			}
			var damaged *history.DamagedError
			if !errors.As(err, &damaged) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestCheckFailedOperation checks that a failed operation can be rolled back or uninstalled only
// if no other operation has started on the release since.
func TestCheckFailedOperation(t *testing.T) {
	for _, tt := range []struct {
		name    string
		last    *release.Release
		leaseID string
		ok      bool
	}{
		{name: "failure recorded", last: historytest.RevisionWithChart(2, release.StatusFailed), leaseID: historytest.LeaseID, ok: true},
		{name: "failure not recorded", last: historytest.LeasedRevision(t, 2, release.StatusPendingUpgrade, historytest.RemoteProcess(), 0), leaseID: historytest.LeaseID, ok: true},
		{name: "upgraded by others", last: historytest.RevisionWithChart(3, release.StatusDeployed), leaseID: historytest.LeaseID},
		{name: "being upgraded by others", last: historytest.LeasedRevision(t, 3, release.StatusPendingUpgrade, historytest.RemoteProcess(), 0), leaseID: historytest.LeaseID},
		{name: "uninstalled by others", last: historytest.RevisionWithChart(2, release.StatusUninstalled), leaseID: historytest.LeaseID},
		{name: "being uninstalled by others", last: historytest.LeasedRevision(t, 2, release.StatusUninstalling, historytest.RemoteProcess(), 0), leaseID: "another"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newLockCheck(t, historytest.MemoryStorage(t, tt.last))
			c.Undo = &FailedOperation{Revision: 2, LeaseID: tt.leaseID}
			_, err := c.Run(t.Context())
			var lost *LostError
			if tt.ok != (err == nil) || err != nil && !errors.As(err, &lost) {
				t.Errorf("got %v", err)
			}
		})
	}
}
