// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"errors"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	kubefake "helm.sh/helm/v3/pkg/kube/fake"
	"helm.sh/helm/v3/pkg/release"
	helmtime "helm.sh/helm/v3/pkg/time"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/httpretry"
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

// uninstalling is an uninstall of a stored release, whose next write is refused by a driver.
func uninstalling(t *testing.T, cfg *Configuration, refuses func(try int) error) (*uninstallation, *witness) {
	t.Helper()
	base, _, end := startOperation(t.Context(), cfg, nil, timeouts{}, true)
	t.Cleanup(end)
	f, err := (&inquiry{cfg: cfg, events: base.events, name: "rel", helm: noObjection}).run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	op := &uninstallation{Uninstall: NewUninstall(cfg), operation: base, found: f, rel: ownRelease(newest(f.history))}
	op.ledger = newLedger(cfg, op.rel)
	if err := op.ledger.keepOnly(nil); err != nil {
		t.Fatal(err)
	}
	w := &witness{Driver: cfg.Releases.Driver, before: refuses}
	cfg.Releases.Driver = w
	return op, w
}

// once returns an error at the first try alone.
func once(err error) func(int) error {
	return func(try int) error {
		if try == 1 {
			return err
		}
		return nil
	}
}

// TestUninstallThatCannotHold: an uninstall that must not record that it works on a release
// goes on, and leaves the status as it was.
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
			op, failing := uninstalling(t, cfg, once(apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "rel", nil)))
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

// TestUninstallThatDoesNotBegin: nothing is deleted where it is not known whether anybody
// else works on the release.
func TestUninstallThatDoesNotBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := func(int) error {
			time.Sleep(8 * time.Second)
			return &httpretry.RecordTimeoutError{Err: errors.New("no answer")}
		}
		damaged := charted(2, release.StatusDeployed)
		damaged.Hooks = []*release.Hook{nil}
		for name, tt := range map[string]struct {
			refuses func(try int) error
			next    *release.Release
			taken   bool
		}{
			"the storage is broken":        {refuses: once(errors.New("not now"))},
			"the storage is away":          {refuses: away},
			"others begin meanwhile":       {refuses: away, next: charted(2, release.StatusPendingUpgrade), taken: true},
			"the next revision is there":   {next: charted(2, release.StatusPendingUpgrade)},
			"the next revision is damaged": {next: damaged},
		} {
			cfg := storedWith(t, charted(1, release.StatusDeployed))
			op, failing := uninstalling(t, cfg, tt.refuses)
			if tt.next != nil {
				if err := cfg.Releases.Driver.Create("sh.helm.release.v1.rel.v2", tt.next); err != nil {
					t.Fatal(err)
				}
			}
			err := op.begin()
			var taken *TakenOverError
			if err == nil || errors.As(err, &taken) != tt.taken {
				t.Errorf("%s: got %v", name, err)
			}
			failing.before = nil
			rel, err := cfg.Releases.Get("rel", 1)
			if err != nil || rel.Info.Status != release.StatusDeployed || leaseOf(rel) != nil {
				t.Errorf("%s: it is stored as %+v, %v", name, rel.Info, err)
			}
		}
	})
}

// TestFirstWrite of a lease: what is stored until then is nobody's, whatever it takes.
func TestFirstWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := storedWith(t, charted(1, release.StatusDeployed))
		op, w := uninstalling(t, cfg, func(try int) error {
			time.Sleep(8 * time.Second)
			if try < 4 {
				return &httpretry.RecordTimeoutError{Err: errors.New("no answer")}
			}
			return nil
		})
		if err := op.begin(); err != nil || w.tries != 4 {
			t.Fatalf("got %v after %d tries", err, w.tries)
		}
		if lease := storedLease(t, cfg, 1); lease == nil || lease.ID != op.ledger.leaseID() {
			t.Errorf("the lease is %+v", lease)
		}
		stolen := charted(1, release.StatusDeployed) // as it was before, which is not ours any more
		if err := cfg.Releases.Update(stolen); err != nil {
			t.Fatal(err)
		}
		time.Sleep(leaseDuration)
		var taken *TakenOverError
		if err := op.ledger.mayChange(); !errors.As(err, &taken) {
			t.Errorf("got %v", err)
		}
	})
}

// TestHooksOfUninstallThatRan are not run again by the uninstall that carries on, unless it
// is not known whether they ran before the deletion or after it.
func TestHooksOfUninstallThatRan(t *testing.T) {
	began := time.Now()
	hook := func(name string, phase release.HookPhase, ago time.Duration, events ...release.HookEvent) *release.Hook {
		h := &release.Hook{Name: name, Events: events}
		h.LastRun.Phase, h.LastRun.StartedAt = phase, helmtime.Time{Time: began.Add(-ago)}
		return h
	}
	left := leased(t, 1, release.StatusUninstalling, dead(), time.Hour)
	left.Info.Deleted = helmtime.Time{Time: began.Add(-time.Minute)}
	left.Hooks = []*release.Hook{
		hook("ran", release.HookPhaseSucceeded, time.Second, release.HookPreDelete),
		hook("ran-before-as-well", release.HookPhaseSucceeded, time.Second, release.HookPreUpgrade, release.HookPreDelete),
		hook("failed", release.HookPhaseFailed, time.Second, release.HookPreDelete),
		hook("ran-long-ago", release.HookPhaseSucceeded, time.Hour, release.HookPreUpgrade, release.HookPreDelete),
		hook("before-or-after", release.HookPhaseSucceeded, time.Second, release.HookPreDelete, release.HookPostDelete),
	}
	cfg := storedWith(t, left)
	cfg.KubeClient = &kubefake.PrintingKubeClient{Out: io.Discard}
	op, _ := uninstalling(t, cfg, nil)
	if err := op.begin(); err != nil {
		t.Fatal(err)
	}
	var o hookOptions
	op.taken = nil // there is no cluster in which they could be
	if err := op.settleHooks(t.Context(), &o); err != nil {
		t.Fatal(err)
	}
	var again []string
	for _, h := range op.rel.Hooks {
		if o.picks(h) {
			again = append(again, h.Name)
		}
	}
	if want := []string{"failed", "ran-long-ago", "before-or-after"}; !slices.Equal(again, want) {
		t.Errorf("run again: %v, want %v", again, want)
	}
}

// TestSupersedingAfterUninstall leaves alone what others have made meanwhile.
func TestSupersedingAfterUninstall(t *testing.T) {
	cfg := storedWith(t, charted(1, release.StatusDeployed), charted(2, release.StatusFailed))
	op, _ := uninstalling(t, cfg, nil)
	if err := cfg.Releases.Create(charted(3, release.StatusDeployed)); err != nil {
		t.Fatal(err)
	}
	if err := op.supersede(); err != nil {
		t.Fatal(err)
	}
	for version, want := range map[int]release.Status{1: release.StatusSuperseded, 2: release.StatusFailed, 3: release.StatusDeployed} {
		if rel, err := cfg.Releases.Get("rel", version); err != nil || rel.Info.Status != want {
			t.Errorf("revision %d is %+v, %v", version, rel.Info, err)
		}
	}
}
