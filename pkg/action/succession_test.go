// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
)

// TestSucceed makes a new revision, and gives it up where others work on the one before
// or have removed it, but not where that was only forgotten. What is taken over is
// recorded as failed.
func TestSucceed(t *testing.T) {
	const pending = release.StatusPendingUpgrade
	stale := func(ago time.Duration) *release.Release { return leased(t, 2, pending, dead(), ago) }
	left := stale(time.Minute)
	tests := []struct {
		name string
		// last is the last revision as it was found, and before as it is by now: nil if it
		// is gone.
		last, before *release.Release
		stale        bool
		maxHistory   int
		fails        bool
		want         []int
		// status is what the last revision is in the end.
		status release.Status
	}{
		{name: "as it was", last: charted(2, release.StatusDeployed), before: charted(2, release.StatusDeployed), want: []int{1, 2, 3}, status: release.StatusDeployed},
		{name: "failed meanwhile", last: charted(2, release.StatusDeployed), before: charted(2, release.StatusFailed), want: []int{1, 2, 3}, status: release.StatusFailed},
		{name: "being removed", last: charted(2, release.StatusDeployed), before: charted(2, release.StatusUninstalling), fails: true, want: []int{1, 2}, status: release.StatusUninstalling},
		{name: "being removed, where only one is kept", last: charted(2, release.StatusDeployed), before: charted(2, release.StatusUninstalling), maxHistory: 1, fails: true, want: []int{1, 2}, status: release.StatusUninstalling},
		{name: "removed", last: charted(2, release.StatusDeployed), fails: true, want: []int{1}},
		{name: "removed, where only one is kept", last: charted(2, release.StatusDeployed), maxHistory: 1, fails: true},
		{name: "forgotten", last: charted(2, release.StatusFailed), before: charted(2, release.StatusFailed), maxHistory: 1, want: []int{3}},
		{name: "taken over", last: left, before: left, stale: true, want: []int{1, 2, 3}, status: release.StatusFailed},
		{name: "taken over and forgotten", last: left, before: left, stale: true, maxHistory: 1, want: []int{3}},
		{name: "alive after all", last: left, before: stale(0), stale: true, fails: true, want: []int{1, 2}, status: pending},
		{name: "at its end after all", last: left, before: charted(2, release.StatusDeployed), stale: true, fails: true, want: []int{1, 2}, status: release.StatusDeployed},
		{name: "failed after all", last: left, before: charted(2, release.StatusFailed), stale: true, want: []int{1, 2, 3}, status: release.StatusFailed},
		{name: "uninstalled by others", last: left, before: charted(2, release.StatusUninstalling), stale: true, fails: true, want: []int{1, 2}, status: release.StatusUninstalling},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := storedWith(t, charted(1, release.StatusSuperseded))
			if tt.before != nil {
				if err := cfg.Releases.Create(ownRelease(tt.before)); err != nil {
					t.Fatal(err)
				}
			}
			cfg.Releases.MaxHistory = tt.maxHistory
			f := &found{last: tt.last}
			if tt.stale {
				f.stale = tt.last
			}
			op := &operation{cfg: cfg, events: newEvents(nil)}
			taken, err := op.succeed(charted(3, pending), f)
			var held *HeldError
			if (err != nil) != tt.fails || err != nil && !errors.As(err, &held) {
				t.Fatalf("got %v", err)
			}
			if (len(taken) > 0) != (tt.stale && !tt.fails) || len(taken) > 0 && taken[0].status != pending {
				t.Errorf("taken over: %+v", taken)
			}
			if tt.want == nil {
				if _, err := cfg.Releases.History("rel"); !errors.Is(err, driver.ErrReleaseNotFound) {
					t.Errorf("something is left: %v", err)
				}
			} else if got := stored(t, cfg.Releases); !slices.Equal(got, tt.want) {
				t.Errorf("left %v, want %v", got, tt.want)
			}
			rel, err := cfg.Releases.Get("rel", 2)
			if tt.status != "" && (err != nil || rel.Info.Status != tt.status || len(taken) > 0 && leaseOf(rel) != nil) {
				t.Errorf("revision 2 is %v, %v", rel, err)
			}
		})
	}
}

// TestUnsettled are the revisions since the one that was deployed last whose hooks may run.
func TestUnsettled(t *testing.T) {
	with := func(rel *release.Release, phase release.HookPhase, events ...release.HookEvent) *release.Release {
		h := &release.Hook{Name: "migrate", Events: events}
		h.LastRun.Phase = phase
		rel.Hooks = []*release.Hook{{Name: "other", Events: events}, h}
		return rel
	}
	const failed, running = release.StatusFailed, release.HookPhaseRunning
	history := []*release.Release{
		with(charted(1, failed), running, release.HookPreInstall),
		charted(2, release.StatusDeployed),
		with(charted(3, failed), running, release.HookPreUpgrade, release.HookPreInstall),
		with(charted(4, failed), release.HookPhaseFailed, release.HookPreUpgrade),
		with(charted(5, failed), running, release.HookTest),
		with(charted(6, release.StatusSuperseded), running, release.HookPreUpgrade),
		with(leased(t, 7, release.StatusPendingRollback, dead(), time.Hour), release.HookPhaseUnknown, release.HookPreRollback),
		with(charted(8, release.StatusPendingUpgrade), running, release.HookPreUpgrade),
		with(leased(t, 9, release.StatusUninstalling, dead(), time.Hour), running, release.HookPostUpgrade),
		with(charted(10, failed), running, release.HookPostUpgrade),
	}
	history[8].Hooks[0].Events = []release.HookEvent{release.HookPreDelete}
	for _, tt := range []struct {
		name  string
		stale bool
		want  string
	}{
		{name: "where nothing is taken over", want: "3 failed pre-upgrade: migrate; 10 failed post-upgrade: migrate; "},
		{name: "of an operation that had taken over", stale: true, want: "3 failed pre-upgrade: migrate; 7 pending-rollback pre-rollback: other migrate; 9 uninstalling post-upgrade: migrate pre-delete: other; "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := &found{history: history, last: newest(history)}
			if tt.stale {
				f.stale = f.last
			}
			got := ""
			for _, u := range (&operation{cfg: storedWith(t)}).unsettled(f) {
				got += fmt.Sprintf("%d %s", u.ledger.rel.Version, u.status)
				for _, set := range u.hooks() {
					got += fmt.Sprintf(" %s:", set.event)
					for _, h := range set.hooks {
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

// TestEndOlder ends what a dead operation has taken over and could not end, and leaves
// alone what stock Helm has left.
func TestEndOlder(t *testing.T) {
	const pending = release.StatusPendingUpgrade
	older, left := leased(t, 2, pending, dead(), time.Hour), leased(t, 3, pending, dead(), time.Minute)
	cfg := storedWith(t, charted(1, pending), older, left)
	op := &operation{cfg: cfg, events: newEvents(nil)}
	f, err := (&inquiry{cfg: cfg, events: op.events, name: "rel", helm: noObjection}).run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := op.succeed(charted(4, pending), f); err != nil {
		t.Fatal(err)
	}
	for version, want := range map[int]release.Status{1: pending, 2: release.StatusFailed, 3: release.StatusFailed, 4: pending} {
		if rel, err := cfg.Releases.Get("rel", version); err != nil || rel.Info.Status != want {
			t.Errorf("revision %d is %+v, %v", version, rel.Info, err)
		}
	}
}
