// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"errors"
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
			if (taken != nil) != (tt.stale && !tt.fails) || taken != nil && taken.status != pending {
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
			if tt.status != "" && (err != nil || rel.Info.Status != tt.status || taken != nil && leaseOf(rel) != nil) {
				t.Errorf("revision 2 is %v, %v", rel, err)
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
