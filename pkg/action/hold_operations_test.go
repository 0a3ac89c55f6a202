// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"errors"
	"testing"
	"testing/synctest"

	"helm.sh/helm/v3/pkg/release"
)

// TestInstallThatIsConcluded has an installation come to its end: that it could not be
// recorded does not fail it, as in Helm, but that others have taken the release over does.
func TestInstallThatIsConcluded(t *testing.T) {
	for _, tt := range []struct {
		name  string
		next  release.Status // of a newer revision; empty if there is none
		err   error          // of the storage
		taken bool
		said  int
		want  release.Status
	}{
		{name: "recorded", want: release.StatusDeployed},
		{name: "not recorded", err: errors.New("you may not"), said: 1, want: release.StatusPendingInstall},
		{name: "rolled back by stock Helm", next: release.StatusDeployed, taken: true, want: release.StatusFailed},
		{name: "taken over", next: release.StatusPendingUpgrade, taken: true, want: release.StatusFailed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := storedWith(t)
				l, _ := holding(t, cfg, charted(1, release.StatusPendingInstall))
				if tt.next != "" {
					if err := cfg.Releases.Create(charted(2, tt.next)); err != nil {
						t.Fatal(err)
					}
				}
				if tt.err != nil {
					cfg.Releases.Driver = &refusing{Driver: cfg.Releases.Driver, err: tt.err}
				}
				said := 0
				base := &operation{cfg: cfg, events: newEvents(func(Event) { said++ })}
				op := &installation{Install: NewInstall(cfg), operation: base, rel: l.rel, deployment: &deployment{operation: base, ledger: l}}
				err := op.conclude()
				var taken *TakenOverError
				if errors.As(err, &taken) != tt.taken || err != nil && !tt.taken || said != tt.said {
					t.Errorf("got %v, said %d things", err, said)
				}
				if rel, err := cfg.Releases.Get("rel", 1); err != nil || rel.Info.Status != tt.want {
					t.Errorf("it is stored as %+v, %v", rel.Info, err)
				}
			})
		})
	}
}

// TestUninstallThatCannotHold leaves the release what it was, as far as it can record
// anything: nobody could tell when it has died.
func TestUninstallThatCannotHold(t *testing.T) {
	for _, tt := range []struct {
		name string
		rel  *release.Release
		want release.Status
	}{
		{name: "which was good", rel: charted(1, release.StatusDeployed), want: release.StatusDeployed},
		{name: "which was left", rel: leased(t, 1, release.StatusPendingInstall, dead(), 0), want: release.StatusFailed},
		{name: "which has no chart", rel: revision(1, release.StatusDeployed), want: release.StatusDeployed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := storedWith(t, tt.rel)
			base := &operation{cfg: cfg, events: newEvents(nil)}
			f, err := (&inquiry{cfg: cfg, events: base.events, name: "rel", helm: noObjection}).run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			op := &uninstallation{Uninstall: NewUninstall(cfg), operation: base, found: f, rel: ownRelease(newest(f.history))}
			op.ledger = newLedger(cfg, op.rel)
			if err := op.ledger.keepOnly(nil); err != nil {
				t.Fatal(err)
			}
			failing := &witness{Driver: cfg.Releases.Driver, before: func(try int) error {
				if try == 1 {
					return errors.New("not now")
				}
				return nil
			}}
			cfg.Releases.Driver = failing
			if err := op.begin(); err != nil {
				t.Fatal(err)
			}
			op.ledger.change(func(*release.Release) {}) // as by a hook that is begun
			op.ledger.writeNote()
			if rel, err := cfg.Releases.Get("rel", 1); err != nil || rel.Info.Status != tt.want && len(failing.writes) > 0 {
				t.Errorf("it is stored as %+v, %v", rel.Info, err)
			}
		})
	}
}
